// SPDX-License-Identifier: Apache-2.0

/**
 * Allocates arrays in one method, five calls below the two that differ: one in PERIOD comes from
 * rare().  To be run without inlining.  Prints the number of arrays of each.
 *
 * <pre>RarePath SECONDS</pre>
 */
public final class RarePath {
	private static final int BYTES = 1000;
	private static final int PERIOD = 200;
	private static final int BATCH = 100;

	private static volatile byte[] sink;

	private RarePath() {
	}

	private static void first() {
		sink = new byte[BYTES];
	}

	private static void second() {
		first();
	}

	private static void third() {
		second();
	}

	private static void fourth() {
		third();
	}

	private static void fifth() {
		fourth();
	}

	private static void frequent() {
		fifth();
	}

	private static void rare() {
		fifth();
	}

	public static void main(String[] arguments) {
		long end = System.nanoTime() + (long) (Double.parseDouble(arguments[0]) * 1e9);
		long count = 0;

		while (System.nanoTime() < end) {
			for (int i = 0; i < BATCH * PERIOD; i++) {
				if (i % PERIOD == 0)
					rare();
				else
					frequent();
			}
			count += BATCH;
		}
		System.out.println("{\"rare\": " + count + ", \"frequent\": " + count * (PERIOD - 1)
			+ "}");
	}
}
