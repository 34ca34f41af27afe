// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.SplittableRandom;

/**
 * Reuse as in Netty's arenas: chunks of 4 MB from malloc(), cut into pages that are handed out
 * and returned in any order.  Load rises for half of the time, so the arena grows for that
 * time; then it is large enough, and frees nothing.
 */
final class Arena implements Program {
	private static final int CHUNK_BYTES = 4 << 20;
	private static final int PAGES_PER_CHUNK = 512;
	private static final int STEPS = 2000;
	private static final int PAGES_PER_STEP = 40;
	private static final int PEAK_PAGES = 12 * PAGES_PER_CHUNK;

	private final Deque<Long> free = new ArrayDeque<>();
	private final long[] lent = new long[PEAK_PAGES];
	private final SplittableRandom random = new SplittableRandom(1);
	private int lentCount;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		pace.run(STEPS, step -> {
			int wanted = Math.min(PEAK_PAGES - PAGES_PER_STEP, PEAK_PAGES / (STEPS / 2) * step);
			for (int i = 0; i < PAGES_PER_STEP; i++)
				lent[lentCount++] = take();
			while (lentCount > wanted)
				giveBack();
		});
	}

	private long take() {
		if (free.isEmpty())
			addChunk();
		return free.remove();
	}

	private void addChunk() {
		long chunk = Native.allocate(CHUNK_BYTES);
		for (int i = 0; i < PAGES_PER_CHUNK; i++)
			free.add(chunk + (long) i * (CHUNK_BYTES / PAGES_PER_CHUNK));
	}

	private void giveBack() {
		int which = random.nextInt(lentCount);
		free.add(lent[which]);
		lent[which] = lent[--lentCount];
	}
}
