// SPDX-License-Identifier: Apache-2.0
package leaks;

/**
 * Four threads that allocate and free blocks of 200 KB; the leaking variant loses 1,000 of them
 * per thread, at a separate call site.
 */
final class JniThreads implements Program {
	private static final int THREADS = 4;
	private static final int LOST_EACH = 1000;
	private static final int FREED_PER_LOST = 8;
	private static final int BLOCK_BYTES = 200_000;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		Thread[] threads = new Thread[THREADS];
		for (int i = 0; i < THREADS; i++) {
			threads[i] = new Thread(() -> work(pace, leaking), "worker-" + (i + 1));
			threads[i].start();
		}
		for (Thread thread : threads)
			thread.join();
		if (leaking)
			Truth.leak("native", "leaks.JniThreads.lose",
					(long) THREADS * LOST_EACH * BLOCK_BYTES, THREADS * LOST_EACH);
	}

	private static void work(Pace pace, boolean leaking) {
		try {
			pace.run(LOST_EACH, step -> {
				for (int i = 0; i < FREED_PER_LOST; i++)
					use();
				if (leaking)
					lose();
			});
		} catch (Exception error) {
			throw new IllegalStateException(error);
		}
	}

	private static void use() {
		Native.free(Native.allocate(BLOCK_BYTES));
	}

	private static void lose() {
		Native.allocate(BLOCK_BYTES);
	}
}
