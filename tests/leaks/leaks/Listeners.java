// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.util.ArrayList;
import java.util.List;

/** Views that register with a model and are closed without unregistering. */
final class Listeners implements Program {
	private static final int VIEWS = 8000;
	private static final int STEPS = 1000;
	private static final int ROWS = 100;
	private static final int GARBAGE_BYTES = 40_000;

	private final List<Runnable> listeners = new ArrayList<>();
	private volatile Object sink;

	/** The contents of a view, kept alive by its listener. */
	private static final class View {
		final String[] rows = new String[ROWS];

		View(int number) {
			for (int i = 0; i < ROWS; i++)
				rows[i] = "view " + number + ", row " + i;
		}

		void refresh() {
			rows[0] = rows[1];
		}
	}

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		pace.run(STEPS, step -> {
			for (int i = 0; i < VIEWS / STEPS; i++) {
				show(step, leaking);
				answer();
			}
		});
		if (leaking)
			Truth.leak("java", "leaks.Listeners.show", Truth.UNKNOWN, Truth.UNKNOWN);
	}

	private void show(int number, boolean leaking) {
		View view = new View(number);
		Runnable listener = view::refresh;
		listeners.add(listener);
		if (!leaking)
			listeners.remove(listener);
	}

	/** Garbage of a request. */
	private void answer() {
		sink = new byte[GARBAGE_BYTES];
	}
}
