// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.util.concurrent.CountDownLatch;

/** Starting and ending threads: first a pool that stays, then a series of short threads. */
final class Threads implements Program {
	private static final int POOLED = 64;
	private static final int SHORT = 600;
	private static final int BYTES = 50_000;

	private volatile Object sink;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		CountDownLatch end = new CountDownLatch(1);
		pace.run(POOLED, 0.4, step -> start(end, "pooled-" + step));
		pace.run(SHORT, 0.6, step -> {
			CountDownLatch now = new CountDownLatch(0);
			start(now, "short-" + step).join();
		});
		end.countDown();
	}

	/** A thread that holds memory in both heaps until it ends. */
	private Thread start(CountDownLatch end, String name) {
		Thread thread = new Thread(() -> {
			long block = Native.allocate(BYTES);
			byte[] array = new byte[BYTES];
			try {
				end.await();
			} catch (InterruptedException error) {
				Thread.currentThread().interrupt();
			}
			sink = array;
			Native.free(block);
		}, name);
		thread.start();
		return thread;
	}
}
