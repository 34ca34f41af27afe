// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.util.HashMap;
import java.util.Map;

/** A map, and native blocks, that grow for half of the time and shrink for the other half. */
final class Shrinking implements Program {
	private static final int ENTRIES = 24_000;
	private static final int STEPS = 1000;
	private static final int LENGTH = 1500;

	private final Map<Integer, byte[]> values = new HashMap<>();
	private final Map<Integer, Long> blocks = new HashMap<>();
	private volatile Object sink;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		int each = ENTRIES / (STEPS / 2);
		pace.run(STEPS, step -> {
			for (int i = 0; i < each; i++) {
				if (step < STEPS / 2)
					add(step * each + i);
				else
					remove((step - STEPS / 2) * each + i);
				sink = new byte[LENGTH * 8];
			}
		});
	}

	private void add(int key) {
		values.put(key, new byte[LENGTH]);
		blocks.put(key, Native.allocate(LENGTH));
	}

	private void remove(int key) {
		values.remove(key);
		Native.free(blocks.remove(key));
	}
}
