// SPDX-License-Identifier: Apache-2.0

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.zip.Deflater;
import sun.misc.Unsafe;

/**
 * <pre>LongService SECONDS WAY [LEAK]</pre>
 *
 * A service of little work and much garbage: two handlers, one request every 10 ms each, allocate
 * together 0.5 GB/s of Java arrays and 0.5 GB/s of the C heap, in large blocks that are dropped at
 * once.  A cache replaces 500 entries per second at random, so the old generation has garbage, and
 * each second a thread serves one request and ends.  It leaks twice, slowly: LEAK times 102,400 bytes
 * of Java arrays per second (default: 1), and a deflater (270 KB of the C heap) every two seconds.
 *
 * Prints the bytes of the Java churn, the C churn and the Java leak, and the number of deflaters,
 * and ends by WAY: exit or kill.
 */
public final class LongService {
	private static final long TURN_NS = 10_000_000;
	private static final int HANDLERS = 2;
	private static final int JAVA_BLOCK = 32 << 10;
	private static final int JAVA_BLOCKS = 76; // in a turn: 2.5 MB
	private static final int NATIVE_BLOCK = 64 << 10;
	private static final int NATIVE_BLOCKS = 38;
	private static final int ENTRIES = 32 << 10;
	private static final int ENTRY_BYTES = 2 << 10;
	private static final int REPLACED = 5; // in a turn
	private static final int SESSION_BYTES = 1 << 10;
	private static final int SESSIONS_PER_SECOND = 100;
	private static final int ARRAY_HEADER = 16;

	private static final List<byte[]> sessions = new ArrayList<>();
	private static final List<Deflater> deflaters = new ArrayList<>();
	private static final Unsafe unsafe = unsafe();
	private static volatile Object sink;

	private LongService() {
	}

	private static Unsafe unsafe() {
		try {
			Field field = Unsafe.class.getDeclaredField("theUnsafe");
			field.setAccessible(true);
			return (Unsafe) field.get(null);
		} catch (ReflectiveOperationException e) {
			throw new AssertionError(e);
		}
	}

	private static void render() {
		sink = new byte[JAVA_BLOCK - ARRAY_HEADER];
	}

	private static void encode() {
		unsafe.freeMemory(unsafe.allocateMemory(NATIVE_BLOCK));
	}

	private static void openSession() {
		sessions.add(new byte[SESSION_BYTES - ARRAY_HEADER]);
	}

	private static void openStream() {
		deflaters.add(new Deflater());
	}

	private static byte[] entry() {
		return new byte[ENTRY_BYTES - ARRAY_HEADER];
	}

	private static long serve(long requests) {
		for (long i = 0; i < requests; i++) {
			for (int k = 0; k < JAVA_BLOCKS; k++)
				render();
			for (int k = 0; k < NATIVE_BLOCKS; k++)
				encode();
		}
		return requests;
	}

	/** One handler: as many requests as are due, and what only the first one does. */
	private static final class Handler extends Thread {
		private final boolean isFirst;
		private final long start;
		private final long turns;
		private final int leak;
		private final byte[][] cache;
		private final Random random = new Random(1);
		private long extra; // requests of threads that ended

		Handler(boolean isFirst, long start, long turns, int leak) {
			super(isFirst ? "handler-first" : "handler");
			this.isFirst = isFirst;
			this.start = start;
			this.turns = turns;
			this.leak = leak;
			this.cache = new byte[isFirst ? ENTRIES : 0][];
		}

		private void visit() throws InterruptedException {
			Thread visitor = new Thread(() -> serve(1), "visitor");
			visitor.start();
			visitor.join();
			extra++;
		}

		private void others(long turn) throws InterruptedException {
			long second = 1_000_000_000 / TURN_NS;
			for (int i = 0; i < REPLACED; i++)
				cache[random.nextInt(ENTRIES)] = entry();
			for (int i = 0; i < leak * SESSIONS_PER_SECOND / second; i++)
				openSession();
			if (turn % (2 * second) == 0)
				openStream();
			if (turn % second == 0)
				visit();
		}

		@Override
		public void run() {
			try {
				for (long turn = 0; turn < turns; turn++) {
					long wait = start + turn * TURN_NS - System.nanoTime();
					if (wait > 0)
						Thread.sleep(wait / 1_000_000, (int) (wait % 1_000_000));
					serve(1);
					if (isFirst)
						others(turn);
				}
			} catch (InterruptedException e) {
				throw new AssertionError(e);
			}
		}
	}

	public static void main(String[] arguments) throws Exception {
		long turns = (long) (Double.parseDouble(arguments[0]) * 1e9 / TURN_NS);
		int leak = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 1;
		List<Handler> handlers = new ArrayList<>();
		long requests = 0;

		for (int i = 0; i < HANDLERS; i++)
			handlers.add(new Handler(i == 0, System.nanoTime(), turns, leak));
		for (Handler handler : handlers)
			handler.start();
		for (Handler handler : handlers) {
			handler.join();
			requests += turns + handler.extra;
		}
		Thread.sleep(3000); // the last counts are written
		System.out.println(requests * JAVA_BLOCKS * JAVA_BLOCK + " "
			+ requests * NATIVE_BLOCKS * NATIVE_BLOCK + " "
			+ (long) sessions.size() * SESSION_BYTES + " " + deflaters.size());
		System.out.flush();
		if (arguments[1].equals("kill")) {
			new ProcessBuilder("kill", "-9", Long.toString(ProcessHandle.current().pid())).start();
			Thread.sleep(60000);
		}
	}
}
