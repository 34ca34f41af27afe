// SPDX-License-Identifier: Apache-2.0
package leaks;

/** 200,000 arrays allocated at the start and kept: much memory, but no leak. */
final class Plateau implements Program {
	private static final int ARRAYS = 200_000;
	private static final int LENGTH = 1024;
	private static final int STEPS = 500;
	private static final int GARBAGE_PER_STEP = 50;

	private final byte[][] arrays = new byte[ARRAYS][];
	private volatile Object sink;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		for (int i = 0; i < ARRAYS; i++)
			arrays[i] = create();
		System.gc();
		pace.run(STEPS, step -> {
			for (int i = 0; i < GARBAGE_PER_STEP; i++)
				sink = new byte[LENGTH * 8];
		});
	}

	private static byte[] create() {
		return new byte[LENGTH];
	}
}
