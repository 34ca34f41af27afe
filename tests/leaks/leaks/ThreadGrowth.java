// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.util.concurrent.CountDownLatch;

/**
 * Threads that wait for an event that never comes, a few with every step.  The clean twin starts
 * as many, which end before the next step, beside a pool that stays.
 */
final class ThreadGrowth implements Program {
	private static final int STEPS = 100;
	private static final int PER_STEP = 4;
	private static final int POOLED = 50;
	/** Small, so that the test does not depend on limits of address space. */
	private static final long STACK_BYTES = 256 * 1024;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		CountDownLatch never = new CountDownLatch(1);
		CountDownLatch end = leaking ? never : new CountDownLatch(0);
		if (!leaking)
			pool(never);
		pace.run(STEPS, step -> {
			for (int i = 0; i < PER_STEP; i++)
				grow(end);
		});
		if (leaking)
			Truth.leak("threads", "leaks.ThreadGrowth.grow", Truth.UNKNOWN, STEPS * PER_STEP);
	}

	private static void pool(CountDownLatch end) {
		for (int i = 0; i < POOLED; i++)
			start(end);
	}

	private static void grow(CountDownLatch end) {
		start(end);
	}

	private static void start(CountDownLatch end) {
		Thread thread = new Thread(null, () -> {
			try {
				end.await();
			} catch (InterruptedException error) {
				Thread.currentThread().interrupt();
			}
		}, "waits", STACK_BYTES);
		thread.setDaemon(true);
		thread.start();
	}
}
