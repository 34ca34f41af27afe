// SPDX-License-Identifier: Apache-2.0

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Allocates in proportion to its own CPU time.
 *
 * <pre>Steady SECONDS KIB</pre>
 *
 * Runs for SECONDS seconds and allocates KIB kilobytes per millisecond of CPU time.
 */
public final class Steady {
	private static final int BLOCK = 1024;
	private static final int HEADER = 16;
	private static final long MILLISECOND = 1_000_000;
	private static final int WORK = 2000;
	private static final ThreadMXBean CPU = ManagementFactory.getThreadMXBean();

	private static volatile Object sink;
	private static volatile double result;

	private Steady() {
	}

	private static void work() {
		double x = result;
		for (int i = 1; i < WORK; i++)
			x += Math.sqrt(i + x);
		result = x;
	}

	private static void allocate() {
		sink = new byte[BLOCK - HEADER];
	}

	public static void main(String[] args) {
		long end = System.nanoTime() + Long.parseLong(args[0]) * 1000 * MILLISECOND;
		double each = Double.parseDouble(args[1]) / MILLISECOND;
		long begun = CPU.getCurrentThreadCpuTime();
		long done = 0;

		while (System.nanoTime() < end) {
			work();
			long wanted = (long) ((CPU.getCurrentThreadCpuTime() - begun) * each);
			for (; done < wanted; done++)
				allocate();
		}
	}
}
