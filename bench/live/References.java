// SPDX-License-Identifier: Apache-2.0
package live;

/**
 * A heap of 1 GiB in arrays of 1 KiB, all alive, plus garbage, so that young collections run;
 * then some full ones.  At an interval of N bytes 2^30 / N of the arrays are sampled and
 * followed.  The additional duration of collections is the cost of the weak references.
 */
public final class References {
	private static final int ARRAYS = 1 << 20;
	private static final int LENGTH = 1008;
	private static final long GARBAGE = 32L << 30;
	private static final int FULL = 4;

	private static final byte[][] KEPT = new byte[ARRAYS][];
	private static volatile Object sink;

	private References() {
	}

	public static void main(String[] arguments) {
		for (int i = 0; i < ARRAYS; i++)
			KEPT[i] = new byte[LENGTH];
		/* Everything allocated so far is in the old generation from here on. */
		System.gc();
		System.out.println("start " + System.nanoTime());
		for (long i = 0; i < GARBAGE / LENGTH; i++)
			sink = new byte[LENGTH];
		System.out.println("end " + System.nanoTime());
		for (int i = 0; i < FULL; i++)
			System.gc();
	}
}
