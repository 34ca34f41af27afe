// SPDX-License-Identifier: Apache-2.0
package services;

import java.nio.charset.StandardCharsets;
import java.util.Random;

/** Texts that compress like real ones. */
public final class Texts {
	private static final int VOCABULARY = 2000;
	private static final int STOCK_BYTES = 1 << 20;
	private static final int PAGE_BYTES = 400 << 10;
	private static final byte[] STOCK = stock();

	private Texts() {
	}

	private static byte[] stock() {
		Random random = new Random(1);
		StringBuilder text = new StringBuilder(STOCK_BYTES + 16);
		while (text.length() < STOCK_BYTES)
			text.append("word").append((int) Math.abs(random.nextGaussian() * VOCABULARY / 3))
					.append(' ');
		return text.toString().getBytes(StandardCharsets.ISO_8859_1);
	}

	/** A piece of text that depends on the seed. */
	public static byte[] bytes(long seed, int length) {
		byte[] bytes = new byte[length];
		System.arraycopy(STOCK, start(seed, length), bytes, 0, length);
		return bytes;
	}

	public static String text(long seed, int length) {
		return new String(STOCK, start(seed, length), length, StandardCharsets.ISO_8859_1);
	}

	/** Builds a page of 400 KiB as a server does, of text and bytes that are garbage at once. */
	static void renderPage(int number) {
		if (text(number, PAGE_BYTES).replace('w', 'W').getBytes().length != PAGE_BYTES)
			throw new IllegalStateException("another page");
	}

	private static int start(long seed, int length) {
		return (int) ((seed * 0x9E3779B97F4A7C15L >>> 16) % (STOCK_BYTES - length));
	}
}
