// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.util.ArrayDeque;
import java.util.Deque;

/** Of a hundred blocks from the same line, one is not freed, as on an error path. */
final class JniRare implements Program {
	private static final int BLOCKS = 1_000_000;
	private static final int STEPS = 1000;
	private static final int BLOCK_BYTES = 4096;
	private static final int LOSE_EVERY = 100;
	private static final int HELD = 500;

	private final Deque<Long> held = new ArrayDeque<>(HELD + 1);
	private int count;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		pace.run(STEPS, step -> {
			for (int i = 0; i < BLOCKS / STEPS; i++)
				handle(leaking);
		});
		if (leaking)
			Truth.leak("native", "leaks.JniRare.handle",
					(long) BLOCKS / LOSE_EVERY * BLOCK_BYTES, BLOCKS / LOSE_EVERY);
	}

	private void handle(boolean leaking) {
		long block = Native.allocate(BLOCK_BYTES);
		if (leaking && ++count % LOSE_EVERY == 0)
			return;
		held.add(block);
		if (held.size() > HELD)
			Native.free(held.remove());
	}
}
