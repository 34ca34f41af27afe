// SPDX-License-Identifier: Apache-2.0
package mixed;

import java.lang.reflect.Method;

/** Work on virtual threads, if the running JDK has them. */
final class VirtualWork implements Runnable {
	static final int THREADS = 64;
	private static final String[] SITE = {"mixed_malloc_1400"};
	private static final Method START = findStart();

	private final long rounds;
	private final JavaSites.Sink sink = new JavaSites.Sink();

	private VirtualWork(long rounds) {
		this.rounds = rounds;
	}

	/** Thread.startVirtualThread, of JDK 21; by reflection so that 11 can load this class. */
	private static Method findStart() {
		try {
			return Thread.class.getMethod("startVirtualThread", Runnable.class);
		} catch (NoSuchMethodException older) {
			return null;
		}
	}

	static boolean isPossible() {
		return START != null;
	}

	/** Runs both sites `rounds` times on each of THREADS virtual threads. */
	static void runAll(long rounds) throws ReflectiveOperationException, InterruptedException {
		// Initializes the class here, so that its allocations do not appear below
		// array().
		JavaSites.length(0);
		Thread[] threads = new Thread[THREADS];
		for (int i = 0; i < threads.length; i++)
			threads[i] = (Thread) START.invoke(null, new VirtualWork(rounds));
		for (Thread thread : threads)
			thread.join();
	}

	@Override
	public void run() {
		for (long i = 0; i < rounds; i++) {
			sink.value = array();
			NativeSites.runSites(SITE, 1, 0);
			if (i % 64 == 0)
				Thread.yield();
		}
	}

	private static byte[] array() {
		return new byte[JavaSites.length(1400)];
	}
}
