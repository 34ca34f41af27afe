// SPDX-License-Identifier: Apache-2.0

import java.lang.invoke.MethodHandle;

/**
 * ForeignStorm SECONDS: platform and virtual threads allocate and free in critical downcalls, at many
 * depths and through new downcall handles, while the heap is collected all the time.
 */
public final class ForeignStorm {
	private static final int THREADS = 3;
	private static final int DEPTH_MAX = 60;
	private static final int TURNS = 100;
	private static final long BYTES = 100;
	private static volatile Object sink;
	private static volatile boolean isOver;

	private ForeignStorm() {
	}

	private static void allocate(MethodHandle getcwd, MethodHandle free, int depth) throws Throwable {
		if (depth > 0) {
			allocate(getcwd, free, depth - 1);
			return;
		}
		for (int i = 0; i < TURNS; i++) {
			long ignored = (long) free.invokeExact((long) getcwd.invokeExact(0L, BYTES + i));
			sink = new byte[TURNS];
		}
	}

	private static void repeat() {
		try {
			while (!isOver) {
				MethodHandle getcwd = Foreign.downcall("getcwd", 2, true);
				MethodHandle free = Foreign.downcall("free", 1, true);
				for (int depth = 0; depth < DEPTH_MAX && !isOver; depth++)
					allocate(getcwd, free, depth);
				Thread.yield();
			}
		} catch (Throwable error) {
			error.printStackTrace();
			Runtime.getRuntime().halt(3);
		}
	}

	public static void main(String[] arguments) throws Exception {
		long end = System.nanoTime() + Integer.parseInt(arguments[0]) * 1_000_000_000L;
		Thread[] threads = new Thread[2 * THREADS];
		for (int i = 0; i < threads.length; i++) {
			if (i % 2 == 0) {
				threads[i] = new Thread(ForeignStorm::repeat);
				threads[i].start();
			} else {
				threads[i] = (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class)
						.invoke(null, (Runnable) ForeignStorm::repeat);
			}
		}
		while (System.nanoTime() < end) {
			System.gc();
			Thread.sleep(20);
		}
		isOver = true;
		for (Thread thread : threads)
			thread.join();
		System.out.println("done");
	}
}
