// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

/**
 * A static map that remembers sessions, or, if clean, a cache of which the oldest expire.  Beside it garbage, enough for young collections only.
 * Then the program ends in the given way: main returns, another thread ends after main, or several
 * at once, System.exit() is called, the same with a shutdown hook that clears the map or after
 * System.gc(), SIGTERM, or Runtime.halt().  "impostor": main returns, and a thread with the name of the one that destroys
 * the VM goes on alone until it calls Runtime.halt().
 *
 * <pre>Sessions return|thread|threads|exit|hook|gc|signal|halt|impostor leak|clean SECONDS</pre>
 */
public final class Sessions {
	private static final int BYTES = 2048;
	private static final int PER_STEP = 30;
	/** Above the detection limit of a few seconds, also of a busy machine. */
	private static final int LEAKED_PER_STEP = 4 * PER_STEP;
	private static final int STEP_MS = 100;
	private static final int CACHED = 4 * PER_STEP;
	private static final int GARBAGE = 10000;
	private static final int THREADS = 8;

	private static final Map<Integer, byte[]> SESSIONS = new HashMap<>();
	private static final ArrayDeque<byte[]> CACHE = new ArrayDeque<>();
	private static final CountDownLatch DONE = new CountDownLatch(1);
	private static volatile byte[] sink;

	private Sessions() {
	}

	private static void remember(int number) {
		SESSIONS.put(number, new byte[BYTES]);
	}

	private static void cache() {
		CACHE.add(new byte[BYTES]);
		if (CACHE.size() > CACHED)
			CACHE.remove();
	}

	private static void work(boolean leaks, double seconds) {
		long end = System.nanoTime() + (long) (seconds * 1e9);

		try {
			for (int number = 0; System.nanoTime() < end; Thread.sleep(STEP_MS)) {
				for (int i = 0; i < (leaks ? LEAKED_PER_STEP : PER_STEP); i++, number++) {
					if (leaks)
						remember(number);
					else
						cache();
				}
				for (int i = 0; i < GARBAGE; i++)
					sink = new byte[BYTES / 2];
			}
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
	}

	private static void await() {
		try {
			DONE.await();
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
	}

	/** Well after the VM would have ended without this thread. */
	private static void haltAfter(Thread main) {
		try {
			main.join();
			Thread.sleep(300);
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
		Runtime.getRuntime().halt(0);
	}

	/** Ends with status 1 if a thread of the library is visible. */
	private static void clear() {
		for (Thread thread : Thread.getAllStackTraces().keySet())
			if (thread.getName().startsWith("twinheap"))
				Runtime.getRuntime().halt(1);
		SESSIONS.clear();
	}

	private static void end(String way) throws IOException, InterruptedException {
		if (way.equals("gc"))
			System.gc();
		if (way.equals("exit") || way.equals("hook") || way.equals("gc"))
			System.exit(0);
		if (way.equals("halt"))
			Runtime.getRuntime().halt(0);
		if (way.equals("signal")) {
			String self = Long.toString(ProcessHandle.current().pid());

			new ProcessBuilder("kill", "-TERM", self).start();
			Thread.sleep(60000);
		}
	}

	public static void main(String[] arguments) throws IOException, InterruptedException {
		String way = arguments[0];
		boolean leaks = arguments[1].equals("leak");
		double seconds = Double.parseDouble(arguments[2]);

		if (way.equals("hook"))
			Runtime.getRuntime().addShutdownHook(new Thread(Sessions::clear));
		if (way.equals("threads")) {
			for (int i = 1; i < THREADS; i++)
				new Thread(Sessions::await).start();
		}
		if (way.equals("impostor")) {
			Thread main = Thread.currentThread();

			new Thread(() -> haltAfter(main), "DestroyJavaVM").start();
			work(leaks, seconds);
			return;
		}
		if (way.startsWith("thread")) {
			new Thread(() -> {
				work(leaks, seconds);
				DONE.countDown();
			}).start();
			return;
		}
		work(leaks, seconds);
		end(way);
	}
}
