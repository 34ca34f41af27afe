// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * A thread-local per request, set on pool threads and not removed.  Its value refers to it, so
 * the thread's map, whose keys are weak, never drops either.
 */
final class ThreadLocals implements Program {
	private static final int REQUESTS = 4000;
	private static final int THREADS = 2;
	private static final int BUFFER_BYTES = 16_000;

	/** Its threads live as long as the process: what they hold is not dropped at the end. */
	private final ExecutorService pool = Executors.newFixedThreadPool(THREADS, task -> {
		Thread thread = new Thread(task);
		thread.setDaemon(true);
		return thread;
	});
	private volatile Object sink;

	private static final class Context {
		final ThreadLocal<Context> place = new ThreadLocal<>();
		final byte[] buffer = new byte[BUFFER_BYTES];
	}

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		pace.run(REQUESTS, step -> pool.submit(() -> handle(leaking)).get());
		if (leaking)
			Truth.leak("java", "leaks.ThreadLocals.handle", Truth.UNKNOWN, Truth.UNKNOWN);
	}

	private void handle(boolean leaking) {
		Context context = new Context();
		context.place.set(context);
		answer();
		if (!leaking)
			context.place.remove();
	}

	/** Garbage of a request. */
	private void answer() {
		sink = new byte[4 * BUFFER_BYTES];
	}
}
