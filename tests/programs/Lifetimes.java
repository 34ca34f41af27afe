// SPDX-License-Identifier: Apache-2.0

import java.lang.reflect.Field;

import sun.misc.Unsafe;

/**
 * Allocates blocks in C at one line, frees each at once, but one in PERIOD never.  Prints the bytes of
 * all and of those.
 *
 * <pre>Lifetimes SECONDS</pre>
 */
public final class Lifetimes {
	private static final int BYTES = 20_000;
	private static final int PERIOD = 100;
	/** Blocks before a pause of a millisecond. */
	private static final int BATCH = 100;

	private Lifetimes() {
	}

	private static long make(Unsafe unsafe) {
		return unsafe.allocateMemory(BYTES);
	}

	public static void main(String[] arguments) throws Exception {
		Field field = Unsafe.class.getDeclaredField("theUnsafe");
		field.setAccessible(true);
		Unsafe unsafe = (Unsafe) field.get(null);
		long end = System.nanoTime() + (long) (Double.parseDouble(arguments[0]) * 1e9);
		long made = 0;
		long kept = 0;

		while (System.nanoTime() < end) {
			for (int i = 0; i < BATCH; i++) {
				long block = make(unsafe);

				if (++made % PERIOD == 0)
					kept++;
				else
					unsafe.freeMemory(block);
			}
			Thread.sleep(1);
		}
		System.out.println("{\"allocated\": " + made * BYTES + ", \"live\": " + kept * BYTES
			+ "}");
	}
}
