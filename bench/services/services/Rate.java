// SPDX-License-Identifier: Apache-2.0
package services;

/**
 * Allocates at a rate that is known, all of it garbage, and computes: what recording costs is
 * compared between programs that differ in nothing but the rate.
 */
final class Rate implements Service {
	private static final int THREADS = 2;
	/** Of each thread. */
	private static final double STEPS_PER_SECOND = 500;
	private static final int BLOCK = 1024;
	private static final int HEADER = 16;
	/** Stacks of so many depths. */
	private static final int DEPTHS = 32;
	/** About 0.2 ms: without it, the start of the VM would be most of the CPU time. */
	private static final int ROOTS = 30_000;

	private static volatile Object sink;
	private static volatile double result;

	private final int blocksPerStep;

	Rate(double bytesPerSecond) {
		blocksPerStep = (int) (bytesPerSecond / THREADS / STEPS_PER_SECOND / BLOCK);
	}

	@Override
	public void start(Load load, Leaks leaks) {
		load.begin();
		for (int i = 0; i < THREADS; i++)
			load.run("rate-" + i, STEPS_PER_SECOND, this::step);
	}

	private void step(int number) {
		compute(number);
		descend(number % DEPTHS);
	}

	private static void compute(int number) {
		double sum = number;
		for (int i = 1; i < ROOTS; i++)
			sum += Math.sqrt(i + sum);
		result = sum;
	}

	private void descend(int depth) {
		if (depth > 0) {
			descend(depth - 1);
			return;
		}
		for (int i = 0; i < blocksPerStep; i++)
			sink = new byte[BLOCK - HEADER];
	}

	@Override
	public void close() {
	}
}
