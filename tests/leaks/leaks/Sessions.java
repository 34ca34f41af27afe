// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Sessions that live for a fifth of the time and survive several collections before they end.
 * In the leaking variant an index still refers to those that have ended.
 */
final class Sessions implements Program {
	private static final int SESSIONS = 50_000;
	private static final int STEPS = 1000;
	private static final int STATE_BYTES = 2000;
	private static final int OPEN = SESSIONS / 5;

	private final Deque<byte[]> open = new ArrayDeque<>();
	private final Deque<byte[]> index = new ArrayDeque<>();
	private volatile Object sink;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		pace.run(STEPS, step -> {
			for (int i = 0; i < SESSIONS / STEPS; i++) {
				open(leaking);
				answer();
			}
		});
		if (leaking)
			Truth.leak("java", "leaks.Sessions.open", SESSIONS * Truth.arrayBytes(STATE_BYTES),
					SESSIONS);
	}

	private void open(boolean leaking) {
		byte[] state = new byte[STATE_BYTES];
		open.add(state);
		if (leaking)
			index.add(state);
		if (open.size() > OPEN)
			open.remove();
	}

	/** Garbage of a request. */
	private void answer() {
		sink = new byte[STATE_BYTES * 10];
	}
}
