// SPDX-License-Identifier: Apache-2.0

import java.io.File;

/**
 * Until the file "stop" exists in the current directory: one thread reads the clock all the time,
 * another allocates blocks in C and frees them. Prints for every 0.2 s the longest gap between two
 * readings, in microseconds, and the picoseconds of CPU time for a pair of malloc and free.
 */
public final class AttachLoad {
	private static final int WINDOW_NS = 200_000_000;
	private static final int PAIRS = 10_000;
	private static volatile long longest;
	private static volatile boolean isOver;

	private AttachLoad() {
	}

	private static native void pairs(int count);

	private static void watch() {
		long last = System.nanoTime();
		while (!isOver) {
			long now = System.nanoTime();
			if (now - last > longest)
				longest = now - last;
			last = now;
		}
	}

	private static long cpuNanos() {
		return java.lang.management.ManagementFactory.getThreadMXBean()
				.getCurrentThreadCpuTime();
	}

	public static void main(String[] arguments) throws Exception {
		File stop = new File("stop");
		Thread watcher = new Thread(AttachLoad::watch, "watcher");
		System.loadLibrary("load");
		watcher.start();
		while (!stop.exists()) {
			long end = System.nanoTime() + WINDOW_NS;
			long begin = cpuNanos();
			long done = 0;
			for (; System.nanoTime() < end; done += PAIRS)
				pairs(PAIRS);
			System.out.println("gap " + longest / 1000 + " pair " + (cpuNanos() - begin) * 1000 / done);
			longest = 0;
		}
		isOver = true;
		watcher.join();
	}
}
