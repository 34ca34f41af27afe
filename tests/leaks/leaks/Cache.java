// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A cache without a limit.  The clean variant has one: it is full after two fifths of the time,
 * and stays full.
 */
final class Cache implements Program {
	private static final int REQUESTS = 60_000;
	private static final int STEPS = 1000;
	private static final int LENGTH = 1000;
	private static final int LIMIT = REQUESTS * 2 / 5;

	private final Map<String, byte[]> pages = new LinkedHashMap<>(16, 0.75f, true);
	private volatile Object sink;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		pace.run(STEPS, step -> {
			for (int i = 0; i < REQUESTS / STEPS; i++) {
				load(step * (REQUESTS / STEPS) + i);
				if (!leaking && pages.size() > LIMIT)
					pages.remove(pages.keySet().iterator().next());
				answer();
			}
		});
		if (leaking)
			Truth.leak("java", "leaks.Cache.load", Truth.UNKNOWN, Truth.UNKNOWN);
	}

	private void load(int number) {
		pages.put("page-" + number, new byte[LENGTH]);
	}

	/** Garbage of a request. */
	private void answer() {
		sink = new byte[LENGTH * 8];
	}
}
