// SPDX-License-Identifier: Apache-2.0
package services;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * The load of a service: steps at constant rates for a fixed time, each kind in a thread of its
 * own.  The work does not depend on the speed of the machine, unless it cannot keep up: steps
 * that are too late are left out, and counted.
 */
final class Load {
	/** Steps that are due within this time run without a sleep in between. */
	private static final long TICK_NANOS = 2_000_000;
	/** A step that is later than this delays those after it. */
	private static final long LATE_NANOS = 200_000_000;
	private static final long POLL_MILLIS = 50;

	private final long nanos;
	private final List<Thread> threads = new ArrayList<>();
	private final List<Steps> kinds = new ArrayList<>();
	private volatile long begin = System.nanoTime();
	private volatile Throwable failure;
	private volatile boolean isStopped;

	interface Step {
		void run(int number) throws Exception;
	}

	/**
	 * The steps of one kind, of one thread: how long each took from the time at which it was due, or
	 * began if that was earlier.
	 */
	private static final class Steps {
		final double due;
		final long[] nanos;
		int done;

		Steps(double due) {
			this.due = due;
			nanos = new long[(int) due + 2];
		}
	}

	Load(double seconds) {
		nanos = (long) (seconds * 1e9);
	}

	/** The time starts now, not while the service started. */
	void begin() {
		begin = System.nanoTime();
	}

	/** The share of the time that has passed, at most 1. */
	double share() {
		return Math.min(1, (double) (System.nanoTime() - begin) / nanos);
	}

	/** Runs a step so often a second until the time is over; begin() was called before. */
	void run(String name, double perSecond, Step step) {
		Steps steps = new Steps(perSecond * nanos / 1e9);
		Thread thread = new Thread(() -> {
			try {
				repeat(1e9 / perSecond, step, steps);
			} catch (Exception | LinkageError error) {
				failure = error;
			}
		}, name);
		kinds.add(steps);
		threads.add(thread);
		thread.start();
	}

	private boolean isWanted() {
		return System.nanoTime() - begin < nanos && failure == null && !isStopped;
	}

	private void repeat(double interval, Step step, Steps steps) throws Exception {
		long start = begin;
		long sinceStart = 0;
		long due = start;
		while (isWanted()) {
			long from = Math.min(due, System.nanoTime());
			step.run(steps.done);
			steps.nanos[steps.done++] = System.nanoTime() - from;
			sinceStart++;
			due = start + (long) (interval * sinceStart);
			long left = due - System.nanoTime();
			if (left >= TICK_NANOS) {
				Thread.sleep(left / 1_000_000, (int) (left % 1_000_000));
			} else if (-left > LATE_NANOS) {
				due = start = System.nanoTime();
				sinceStart = 0;
			}
		}
	}

	/** Waits until all steps are done; {@code atShare} runs at each of that many equal times. */
	void await(int times, Runnable atTime) throws Exception {
		for (int i = 1; i <= times; i++) {
			while (share() < (double) i / times && failure == null)
				Thread.sleep(POLL_MILLIS);
			atTime.run();
		}
		join();
		if (failure instanceof LinkageError)
			throw (LinkageError) failure;
		if (failure != null)
			throw new IllegalStateException("a step failed", failure);
	}

	/** Ends the load before its time, as a signal does; returns after the last step. */
	void stop() throws InterruptedException {
		isStopped = true;
		join();
	}

	private void join() throws InterruptedException {
		for (Thread thread : threads)
			thread.join();
	}

	/** Steps done, steps that were due, and of all that were done the times in milliseconds. */
	String tell() {
		double due = kinds.stream().mapToDouble(steps -> steps.due).sum();
		long[] times = kinds.stream()
				.flatMapToLong(steps -> Arrays.stream(steps.nanos, 0, steps.done)).sorted().toArray();
		return String.format(Locale.ROOT, "{\"kind\": \"work\", \"steps\": %d, \"due\": %.0f,"
				+ " \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"max_ms\": %.3f}", times.length, due,
				quantile(times, 0.5), quantile(times, 0.99), quantile(times, 1));
	}

	private static double quantile(long[] sorted, double share) {
		int index = (int) Math.ceil(share * sorted.length) - 1;
		return sorted[Math.max(0, index)] / 1e6;
	}
}
