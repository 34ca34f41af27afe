// SPDX-License-Identifier: Apache-2.0
package servers;

import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;

/**
 * Requests at fixed times, whatever the server does.  Latencies count from these times, so that a
 * server that stalls delays all requests that were due meanwhile.
 */
final class OpenLoop {
	private static final long POLL_NANOS = 10_000_000;
	/** How long answers are waited for after the end. */
	private static final long PATIENCE_NANOS = 10_000_000_000L;

	private final double interval;
	private final int first;
	/** By the number of the request, in ns; 0: not answered yet.  Each is written once. */
	private final long[] latencies;
	private long begin;

	interface Request {
		void send(int number) throws Exception;
	}

	OpenLoop(double perSecond, double warmUpSeconds, double seconds) {
		interval = 1e9 / perSecond;
		first = (int) (warmUpSeconds * perSecond);
		latencies = new long[first + (int) (seconds * perSecond)];
	}

	/** The first request is due now.  Called before the threads that send are started. */
	void begin() {
		begin = System.nanoTime();
	}

	private long due(int number) {
		return begin + (long) (number * interval);
	}

	private void waitFor(int number) {
		for (long left = due(number) - System.nanoTime(); left > 0;
				left = due(number) - System.nanoTime())
			LockSupport.parkNanos(left);
	}

	/** Sends every step-th request from one on, each when it is due or, if that is over, at once. */
	void send(int from, int step, Request request) throws Exception {
		for (int number = from; number < latencies.length; number += step) {
			waitFor(number);
			request.send(number);
		}
	}

	void answered(int number) {
		latencies[number] = Math.max(1, System.nanoTime() - due(number));
	}

	/** Waits for the end of the warm-up. */
	void awaitWarm() {
		waitFor(first);
	}

	/** Waits for the end of the time in which requests are due. */
	void awaitEnd() {
		waitFor(latencies.length);
	}

	/** Waits for the last answers, at most so long; then describes the requests after the warm-up. */
	String tell() {
		long end = due(latencies.length);
		while (unanswered() > 0 && System.nanoTime() - end < PATIENCE_NANOS)
			LockSupport.parkNanos(POLL_NANOS);
		long[] sorted = Arrays.stream(latencies).skip(first).map(
				latency -> latency > 0 ? latency : PATIENCE_NANOS).sorted().toArray();
		return String.format("{\"due\": %d, \"answered\": %d, \"p50\": %d, \"p99\": %d,"
				+ " \"max\": %d}", sorted.length, answeredBetween(due(first), end),
				percentile(sorted, 50), percentile(sorted, 99), sorted[sorted.length - 1]);
	}

	private long unanswered() {
		return Arrays.stream(latencies).filter(latency -> latency == 0).count();
	}

	private int answeredBetween(long from, long to) {
		int count = 0;
		for (int number = 0; number < latencies.length; number++) {
			long time = due(number) + latencies[number];
			if (latencies[number] > 0 && time >= from && time < to)
				count++;
		}
		return count;
	}

	private static long percentile(long[] sorted, int percent) {
		return sorted[(int) ((long) (sorted.length - 1) * percent / 100)];
	}
}
