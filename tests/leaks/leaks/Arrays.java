// SPDX-License-Identifier: Apache-2.0
package leaks;

/**
 * 200,000 arrays that are kept, and as many that are dropped: checks live figures when all
 * garbage is known.
 */
final class Arrays implements Program {
	private static final int ARRAYS = 200_000;
	private static final int LENGTH = 1024;

	private final byte[][] arrays = new byte[ARRAYS][];
	private volatile Object sink;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		for (int i = 0; i < ARRAYS; i++) {
			arrays[i] = keep();
			sink = new byte[LENGTH];
		}
		sink = null;
		Truth.settle();
		Truth.live("java", "leaks.Arrays.keep", ARRAYS * Truth.arrayBytes(LENGTH), ARRAYS);
	}

	private static byte[] keep() {
		return new byte[LENGTH];
	}
}
