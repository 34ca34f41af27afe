// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * 160 MB in blocks of 200 bytes that are never freed.  In the clean variant each is freed a
 * little later.
 */
final class JniBlocks implements Program {
	private static final int BLOCKS = 838_860;
	private static final int BLOCK_BYTES = 200;
	private static final int STEPS = 1000;
	private static final int HELD = 20_000;

	private final Deque<Long> held = new ArrayDeque<>(HELD + 1);

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		pace.run(STEPS, step -> {
			for (int i = 0; i < BLOCKS / STEPS; i++)
				request(leaking);
		});
		if (leaking)
			Truth.leak("native", "leaks.JniBlocks.request",
					(long) BLOCKS / STEPS * STEPS * BLOCK_BYTES, BLOCKS / STEPS * STEPS);
	}

	private void request(boolean leaking) {
		long block = Native.allocate(BLOCK_BYTES);
		if (leaking)
			return;
		held.add(block);
		if (held.size() > HELD)
			Native.free(held.remove());
	}
}
