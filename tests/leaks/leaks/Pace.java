// SPDX-License-Identifier: Apache-2.0
package leaks;

/**
 * Spreads a fixed amount of work evenly over a fixed time: the allocations do not depend on the
 * machine, and a leak grows as in a server, a little with every request.
 */
public final class Pace {
	/**
	 * Steps within this time are run together, so that short ones do not sleep
	 * individually.
	 */
	private static final long TICK_NANOS = 5_000_000;
	/** A step that is later than this delays those after it. */
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

	/** Runs `steps` steps, numbered from 0, over the whole time. */
	public void run(int steps, Step step) throws Exception {
		run(steps, 1, step);
	}

	/** Runs `steps` steps over a share of the time. */
	public void run(int steps, double share, Step step) throws Exception {
		/* Loads the classes for it: the program must end soon after the last step. */
		text();
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
			/* Delays by a busy machine are not made up for in a burst. */
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
	 * Prints when the steps ran, the longest delay of one, and by how much the slowest
	 * quarter of them exceeded a quarter of the time, in nanoseconds.
	 */
	void tell() {
		if (end != 0)
			System.out.print(text());
	}

	private String text() {
		return String.format("{\"verdict\": \"paced\", \"from\": %d, \"to\": %d,"
				+ " \"longest_delay\": %d, \"slowest_quarter\": %d}%n", begin, end,
				longestDelay, slowestQuarter);
	}

	private static void sleepUntil(long due) throws InterruptedException {
		long left = due - System.nanoTime();
		if (left >= TICK_NANOS)
			Thread.sleep(left / 1_000_000, (int) (left % 1_000_000));
	}
}
