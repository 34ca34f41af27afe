// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.util.ArrayDeque;
import java.util.Deque;

/** Global references of JNI that are never deleted: C keeps Java objects alive. */
final class JniReferences implements Program {
	private static final int OBJECTS = 10_000;
	private static final int STEPS = 1000;
	private static final int LENGTH = 4000;
	private static final int HELD = 1000;
	/** Garbage allocated, as a multiple of what is referenced. */
	private static final int GARBAGE = 10;

	private final Deque<Long> held = new ArrayDeque<>(HELD + 1);
	private volatile Object sink;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		pace.run(STEPS, step -> {
			for (int i = 0; i < OBJECTS / STEPS; i++)
				register(leaking);
			for (int i = 0; i < OBJECTS / STEPS * GARBAGE; i++)
				sink = new byte[LENGTH];
		});
		if (leaking)
			Truth.leak("java", "leaks.JniReferences.register",
					OBJECTS * Truth.arrayBytes(LENGTH), OBJECTS);
	}

	private void register(boolean leaking) {
		long reference = Native.newReference(new byte[LENGTH]);
		if (leaking)
			return;
		held.add(reference);
		if (held.size() > HELD)
			Native.deleteReference(held.remove());
	}
}
