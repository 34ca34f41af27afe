// SPDX-License-Identifier: Apache-2.0
package leaks;

/**
 * Spreads a fixed amount of work evenly over a fixed time: what a program allocates does not
 * depend on the machine, and a leak grows as it does in a server, a little with every request.
 */
public final class Pace {
	/** Steps are due together within this, so that short ones do not sleep each by itself. */
	private static final long TICK_NANOS = 5_000_000;
	/** A step that is later than this moves those behind it. */
	private static final long LATE_NANOS = 20_000_000;

	private final double seconds;
	/* By System.nanoTime(); end is 0 before the first step. */
	private long begin;
	private long end;
	private long longestDelay;
	private long slowestQuarter;

	public interface Step {
		void run(int number) throws Exception;
	}

	Pace(double seconds) {
		this.seconds = seconds;
	}

	/** So many steps, numbered from 0, over the whole time. */
	public void run(int steps, Step step) throws Exception {
		run(steps, 1, step);
	}

	/** So many steps over a share of the time. */
	public void run(int steps, double share, Step step) throws Exception {
		double nanosPerStep = seconds * share * 1e9 / steps;
		long start = System.nanoTime();
		long quarterStart = start;
		long runStart = start;
		long slowest = 0;
		if (end == 0)
			begin = start;
		for (int i = 0; i < steps; i++) {
			Ledger.enter();
			step.run(i);
			Ledger.leave();
			long due = start + (long) (nanosPerStep * (i + 1));
			sleepUntil(due);
			end = System.nanoTime();
			/* What a busy machine held up is not made good in a burst. */
			long delay = Math.max(end - due - LATE_NANOS, 0);
			longestDelay = Math.max(longestDelay, delay);
			start += delay;
			if ((i + 1) * 4L / steps != i * 4L / steps) {
				slowest = Math.max(slowest, end - quarterStart);
				quarterStart = end;
			}
		}
		slowestQuarter = Math.max(slowestQuarter, slowest - (end - runStart) / 4);
	}

	/**
	 * Says when the steps were, how long one of them was held up, and by how much a quarter of them
	 * took longer than a quarter of the time, in nanoseconds.
	 */
	void tell() {
		if (end != 0)
			System.out.printf("{\"verdict\": \"paced\", \"from\": %d, \"to\": %d,"
					+ " \"longest_delay\": %d, \"slowest_quarter\": %d}%n", begin, end,
					longestDelay, slowestQuarter);
	}

	private static void sleepUntil(long due) throws InterruptedException {
		long left = due - System.nanoTime();
		if (left >= TICK_NANOS)
			Thread.sleep(left / 1_000_000, (int) (left % 1_000_000));
	}
}
