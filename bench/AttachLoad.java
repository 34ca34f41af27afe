// SPDX-License-Identifier: Apache-2.0

import java.io.File;
import java.util.zip.Inflater;

/**
 * Until the file "stop" exists in the current directory: one thread reads the clock all the time,
 * another creates and ends inflaters, which allocate and free blocks of the C heap. Prints for every
 * 0.2 s the longest gap between two readings, in microseconds, and the nanoseconds of CPU time for
 * an inflater.
 */
public final class AttachLoad {
	private static final int WINDOW_NS = 200_000_000;
	private static volatile long longest;
	private static volatile boolean isOver;

	private AttachLoad() {
	}

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
		watcher.start();
		while (!stop.exists()) {
			long end = System.nanoTime() + WINDOW_NS;
			long begin = cpuNanos();
			int turns = 0;
			for (; System.nanoTime() < end; turns++)
				new Inflater().end();
			long cost = (cpuNanos() - begin) / turns;
			System.out.println(longest / 1000 + " " + cost);
			longest = 0;
		}
		isOver = true;
		watcher.join();
	}
}
