// SPDX-License-Identifier: Apache-2.0

import java.io.InputStream;

/**
 * ClassChurn COUNT: defines a class COUNT times, each time in a new class loader that is dropped
 * at once.  Prints the nanoseconds of CPU time that one definition took on its thread.
 */
public final class ClassChurn {
	private static volatile Object sink;

	private ClassChurn() {
	}

	/** The class that is defined again and again. */
	public static final class Small {
		private Small() {
		}
	}

	private static final class Loader extends ClassLoader {
		Loader() {
			super(null);
		}

		Class<?> define(byte[] code) {
			return defineClass("ClassChurn$Small", code, 0, code.length);
		}
	}

	private static long threadNanos() {
		return java.lang.management.ManagementFactory.getThreadMXBean()
				.getCurrentThreadCpuTime();
	}

	public static void main(String[] arguments) throws Exception {
		int count = Integer.parseInt(arguments[0]);
		byte[] code;
		try (InputStream in = ClassChurn.class.getResourceAsStream("ClassChurn$Small.class")) {
			code = in.readAllBytes();
		}
		long start = threadNanos();
		for (int i = 0; i < count; i++)
			sink = new Loader().define(code);
		System.out.println((threadNanos() - start) / count);
	}
}
