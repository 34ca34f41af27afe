// SPDX-License-Identifier: Apache-2.0
package leaks;

/**
 * GetStringUTFChars() without ReleaseStringUTFChars(): the VM allocates, the caller does not
 * release.
 */
final class JniStrings implements Program {
	private static final int STRINGS = 40_000;
	private static final int STEPS = 1000;
	private static final int LENGTH = 1500;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		String text = "x".repeat(LENGTH);
		pace.run(STEPS, step -> {
			for (int i = 0; i < STRINGS / STEPS; i++)
				measure(text, !leaking);
		});
		/* The copy and its terminating NUL. */
		if (leaking)
			Truth.leak("native", "leaks.JniStrings.measure",
					(long) STRINGS * (LENGTH + 1), STRINGS);
	}

	private static long measure(String text, boolean release) {
		return Native.length(text, release);
	}
}
