// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.util.ArrayList;
import java.util.List;

/**
 * Batches that accumulate and are then dropped as a whole, in both heaps: a sawtooth.  The
 * program ends on a rising edge.
 */
final class Batches implements Program {
	private static final int STEPS = 1000;
	private static final int STEPS_PER_BATCH = 180;
	private static final int ROWS_PER_STEP = 50;
	private static final int ROW_BYTES = 1500;

	private List<byte[]> rows = new ArrayList<>();
	private final List<Long> blocks = new ArrayList<>();
	private volatile Object sink;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		pace.run(STEPS, step -> {
			if (step % STEPS_PER_BATCH == 0)
				drop();
			for (int i = 0; i < ROWS_PER_STEP; i++)
				collect();
		});
	}

	private void collect() {
		rows.add(new byte[ROW_BYTES]);
		blocks.add(Native.allocate(ROW_BYTES));
		sink = new byte[ROW_BYTES * 5];
	}

	private void drop() {
		rows = new ArrayList<>();
		blocks.forEach(Native::free);
		blocks.clear();
	}
}
