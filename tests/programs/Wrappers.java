// SPDX-License-Identifier: Apache-2.0

import java.lang.ref.WeakReference;
import java.util.zip.Deflater;

/**
 * Wrappers WAY SECONDS: makes a Deflater each ten milliseconds.  They are dropped without being closed
 * (drop; with a GC each two seconds: collect), kept in a list (keep), or closed (close).  With `poll`, each one in five has a thread instead,
 * which looks every 1.5 seconds whether its wrapper is alive, as that of JDK 17's HTTP client does every 3.
 */
public final class Wrappers {
	private static final byte[] OUTPUT = new byte[1000];
	private static final java.util.List<Deflater> KEPT = new java.util.ArrayList<>();

	private Wrappers() {
	}

	private static void send(String way, byte[] message) {
		Deflater deflater = new Deflater();

		deflater.setInput(message);
		deflater.finish();
		deflater.deflate(OUTPUT);
		if (way.equals("keep"))
			KEPT.add(deflater);
		else if (way.equals("close"))
			deflater.end();
	}

	private static void poll(WeakReference<Object> wrapper) {
		try {
			while (wrapper.get() != null)
				Thread.sleep(1500);
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
		}
	}

	private static void startPoll() {
		WeakReference<Object> wrapper = new WeakReference<>(new Object());
		Thread thread = new Thread(() -> poll(wrapper));

		thread.setDaemon(true);
		thread.start();
	}

	public static void main(String[] arguments) throws InterruptedException {
		long end = System.nanoTime() + Long.parseLong(arguments[1]) * 1_000_000_000L;

		for (int i = 1; System.nanoTime() < end; i++) {
			if (arguments[0].equals("collect") && i % 200 == 0)
				System.gc();
			if (arguments[0].equals("poll"))
				startPoll();
			else
				send(arguments[0], new byte[200]);
			Thread.sleep(arguments[0].equals("poll") ? 50 : 10);
		}
		System.out.println(KEPT.size());
	}
}
