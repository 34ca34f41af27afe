// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.util.ArrayDeque;
import java.util.Deque;

/** A pool of objects with native halves, which grows with the first load and is then reused. */
final class Pool implements Program {
	private static final int STEPS = 1000;
	private static final int PEAK = 400;
	private static final int BYTES = 40_000;

	private final Deque<Worker> idle = new ArrayDeque<>();
	private final Deque<Worker> busy = new ArrayDeque<>();
	private volatile Object sink;

	private static final class Worker {
		final byte[] buffer = new byte[BYTES];
		final long block = Native.allocate(BYTES);
	}

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		pace.run(STEPS, step -> {
			busy.add(borrow());
			if (busy.size() > PEAK * 3 / 4) {
				for (int i = 0; i < PEAK / 2; i++)
					idle.add(busy.remove());
			}
			sink = new byte[BYTES * 4];
		});
	}

	private Worker borrow() {
		Worker worker = idle.poll();
		return worker != null ? worker : new Worker();
	}
}
