// SPDX-License-Identifier: Apache-2.0
package servers;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * Requests at fixed times, whatever the server does, in turns.  Latencies count from these times,
 * so that a server that stalls delays all requests that were due meanwhile.
 */
final class OpenLoop {
	private static final long POLL_NANOS = 1_000_000;
	/** How long answers are waited for after a turn. */
	private static final long PATIENCE_NANOS = 10_000_000_000L;
	private static final long LATE_NANOS = 1_000_000_000;

	private final double interval;
	private final Clients clients;
	private final List<Turn> measured = new ArrayList<>();
	private volatile Turn turn;

	/** What sends the requests. */
	interface Clients {
		/** The number of threads that send, in turn. */
		int senders();

		/** Returns whether the request has been answered; called by one thread for each sender. */
		boolean send(int sender, int number) throws Exception;
	}

	OpenLoop(double perSecond, Clients clients) {
		interval = 1e9 / perSecond;
		this.clients = clients;
		turn = new Turn(0, 0);
	}

	/** Requests without a pause. */
	private final class Turn {
		/** The number of the first request, which is due at the beginning. */
		final int first;
		final long begin = System.nanoTime();
		/** In ns; 0: not answered yet.  Each is written once. */
		final long[] latencies;

		Turn(int first, int count) {
			this.first = first;
			latencies = new long[count];
		}

		long due(int index) {
			return begin + (long) (index * interval);
		}

		void send(int sender) throws Exception {
			for (int i = sender; i < latencies.length; i += clients.senders()) {
				waitUntil(due(i));
				if (clients.send(sender, first + i))
					answered(first + i);
			}
		}

		void answered(int number) {
			int index = number - first;
			/* Others are late answers of an earlier turn. */
			if (index >= 0 && index < latencies.length)
				latencies[index] = Math.max(1, System.nanoTime() - due(index));
		}

		long unanswered() {
			return Arrays.stream(latencies).filter(latency -> latency == 0).count();
		}
	}

	private static void waitUntil(long time) {
		for (long left = time - System.nanoTime(); left > 0; left = time - System.nanoTime())
			LockSupport.parkNanos(left);
	}

	void answered(int number) {
		turn.answered(number);
	}

	/** Sends requests for so long, then waits for the last answers. */
	void run(double seconds, boolean isMeasured) {
		Turn now = new Turn(turn.first + turn.latencies.length, (int) (seconds * 1e9 / interval));
		turn = now;
		for (int i = 0; i < clients.senders(); i++) {
			int sender = i;
			Load.start("sender" + i, () -> now.send(sender));
		}
		long end = now.due(now.latencies.length);
		waitUntil(end);
		while (now.unanswered() > 0 && System.nanoTime() - end < PATIENCE_NANOS)
			LockSupport.parkNanos(POLL_NANOS);
		if (isMeasured)
			measured.add(now);
	}

	/** Describes the requests of the measured turns; those that are not answered took longest. */
	String tell() {
		long[] sorted = measured.stream().flatMapToLong(one -> Arrays.stream(one.latencies))
				.map(latency -> latency > 0 ? latency : PATIENCE_NANOS).sorted().toArray();
		return String.format("{\"due\": %d, \"in_time\": %d, \"p50\": %d, \"p99\": %d,"
				+ " \"max\": %d}", sorted.length,
				Arrays.stream(sorted).filter(latency -> latency < LATE_NANOS).count(),
				percentile(sorted, 50), percentile(sorted, 99), sorted[sorted.length - 1]);
	}

	private static long percentile(long[] sorted, int percent) {
		return sorted[(int) ((long) (sorted.length - 1) * percent / 100)];
	}
}
