// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.util.Arrays;

/** Compressible data. */
public final class Texts {
	private Texts() {
	}

	/** Bytes that compress about as well as text; always the same. */
	public static byte[] bytes(int length) {
		byte[] bytes = new byte[length];
		long state = 1;
		for (int i = 0; i < length; i++) {
			state = state * 6364136223846793005L + 1442695040888963407L;
			bytes[i] = (byte) ('a' + (state >>> 60));
		}
		return bytes;
	}

	/** Fails the program if a round trip has changed anything. */
	public static void check(byte[] found, byte[] expected) {
		if (!Arrays.equals(found, expected))
			throw new IllegalStateException("a round trip changed the bytes");
	}
}
