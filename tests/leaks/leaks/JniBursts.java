// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.util.ArrayList;
import java.util.List;

/**
 * A job that runs eight times and leaks its allocations.  In the clean variant it frees them at
 * its end.
 */
final class JniBursts implements Program {
	private static final int BURSTS = 8;
	private static final int BLOCKS = 500;
	private static final int BLOCK_BYTES = 16_384;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		pace.run(BURSTS, burst -> job(leaking));
		if (leaking)
			Truth.leak("native", "leaks.JniBursts.job",
					(long) BURSTS * BLOCKS * BLOCK_BYTES, BURSTS * BLOCKS);
	}

	private static void job(boolean leaking) throws InterruptedException {
		List<Long> blocks = new ArrayList<>();
		for (int i = 0; i < BLOCKS; i++)
			blocks.add(Native.allocate(BLOCK_BYTES));
		Thread.sleep(100);
		if (!leaking)
			blocks.forEach(Native::free);
	}
}
