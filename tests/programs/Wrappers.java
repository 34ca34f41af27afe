// SPDX-License-Identifier: Apache-2.0

import java.util.zip.Deflater;

/**
 * Wrappers WAY SECONDS: makes a Deflater each ten milliseconds.  They are dropped without being closed
 * (drop), kept in a list (keep), or closed (close).
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

	public static void main(String[] arguments) throws InterruptedException {
		long end = System.nanoTime() + Long.parseLong(arguments[1]) * 1_000_000_000L;

		while (System.nanoTime() < end) {
			send(arguments[0], new byte[200]);
			Thread.sleep(10);
		}
		System.out.println(KEPT.size());
	}
}
