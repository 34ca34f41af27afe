// SPDX-License-Identifier: Apache-2.0
package leaks;

/** Only garbage, in a heap so large that no collection ever identifies it as garbage. */
final class Garbage implements Program {
	private static final int ARRAYS = 200_000;
	private static final int STEPS = 1000;
	private static final int LENGTH = 2000;

	private volatile Object sink;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		pace.run(STEPS, step -> {
			for (int i = 0; i < ARRAYS / STEPS; i++)
				sink = new byte[LENGTH];
		});
	}
}
