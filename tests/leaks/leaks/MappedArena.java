// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * 328 MB in pieces of an arena that maps its chunks, never returned.  In the clean variant each
 * is returned a little later.  Each chunk is twice as large as the previous one, so there are
 * few, and the last is not full.
 */
final class MappedArena implements Program {
	private static final int PIECE_BYTES = 64 << 10;
	private static final int STEPS = 1000;
	private static final int PIECES_PER_STEP = 5;
	private static final int HELD = 200;

	private final Deque<Long> held = new ArrayDeque<>(HELD + 1);

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		pace.run(STEPS, step -> {
			for (int i = 0; i < PIECES_PER_STEP; i++)
				request(leaking);
		});
		if (leaking)
			Truth.leak("mapped", "leaks.MappedArena.request",
					(long) STEPS * PIECES_PER_STEP * PIECE_BYTES, Truth.UNKNOWN);
	}

	private void request(boolean leaking) {
		long piece = Native.takePiece();
		if (leaking)
			return;
		held.add(piece);
		if (held.size() > HELD)
			Native.givePiece(held.remove());
	}
}
