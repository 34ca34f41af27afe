// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;

/** An executor of one thread for each job, which is kept and not shut down; the clean twin does that. */
final class Executors implements Program {
	private static final int JOBS = 200;

	private final List<ExecutorService> executors = new ArrayList<>();

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		pace.run(JOBS, step -> {
			ExecutorService executor = submit();
			executors.add(executor);
			if (!leaking)
				executor.shutdown();
		});
		if (leaking)
			Truth.leak("threads", "leaks.Executors.submit", Truth.UNKNOWN, JOBS);
	}

	private static ExecutorService submit() throws Exception {
		ExecutorService executor = java.util.concurrent.Executors.newSingleThreadExecutor(job -> {
			Thread thread = new Thread(job);
			thread.setDaemon(true);
			return thread;
		});
		executor.submit(() -> { }).get();
		return executor;
	}
}
