// SPDX-License-Identifier: Apache-2.0

import java.io.File;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Two threads allocate at a varying rate, and print the allocations of each site.
 *
 * <pre>Surge SECONDS:PAUSE...</pre>
 *
 * Each argument is a phase: SECONDS seconds with PAUSE milliseconds between rounds; 0: at full
 * speed.  A file named enough in the working directory ends all phases.
 */
public final class Surge {
	private static final int ROUND = 20;
	private static final int HEADER = 16;
	private static final int LARGE = 65536;
	private static final int SMALL = 2048;
	/** Number of small arrays per large one. */
	private static final int RATIO = 4;

	/**
	 * On a busy machine a phase without pauses continues until this part of it was CPU
	 * time.
	 */
	private static final int CPU_PART = 4;
	private static final ThreadMXBean CPU = ManagementFactory.getThreadMXBean();

	private static volatile Object sink;
	private static volatile boolean isEnough;
	private static long rounds;

	private Surge() {
	}

	private static void large() {
		sink = new byte[LARGE - HEADER];
	}

	private static void small() {
		sink = new byte[SMALL - HEADER];
	}

	private static void round() {
		for (int i = 0; i < ROUND; i++) {
			large();
			for (int j = 0; j < RATIO; j++)
				small();
		}
	}

	private static synchronized void add(long done) {
		rounds += done;
	}

	private static void work(double[][] phases) {
		long done = 0;
		try {
			for (double[] phase : phases) {
				long nanos = (long) (phase[0] * 1e9);
				long end = System.nanoTime() + nanos;
				long leastCpu = CPU.getCurrentThreadCpuTime() + nanos / CPU_PART;
				while (!isEnough && (System.nanoTime() < end || phase[1] == 0
						&& CPU.getCurrentThreadCpuTime() < leastCpu)) {
					round();
					done++;
					if (phase[1] > 0)
						Thread.sleep((long) phase[1]);
				}
			}
		} catch (InterruptedException error) {
			throw new IllegalStateException(error);
		}
		add(done);
	}

	private static void awaitEnough() {
		File enough = new File("enough");
		try {
			while (!enough.exists())
				Thread.sleep(50);
			isEnough = true;
		} catch (InterruptedException error) {
			throw new IllegalStateException(error);
		}
	}

	private static void print(String site, long bytes, long size) {
		System.out.printf(
			"{\"heap\": \"java\", \"site\": \"Surge.%s\", \"bytes\": %d, \"size\": %d}%n",
			site, bytes, size);
	}

	public static void main(String[] arguments) throws InterruptedException {
		double[][] phases = new double[arguments.length][];
		for (int i = 0; i < arguments.length; i++) {
			String[] parts = arguments[i].split(":");
			phases[i] = new double[] {Double.parseDouble(parts[0]), Double.parseDouble(parts[1])};
		}
		Thread watcher = new Thread(Surge::awaitEnough, "watcher");
		watcher.setDaemon(true);
		watcher.start();
		Thread[] threads = new Thread[2];
		for (int i = 0; i < threads.length; i++) {
			threads[i] = new Thread(() -> work(phases), "worker-" + i);
			threads[i].start();
		}
		for (Thread thread : threads)
			thread.join();
		print("large", rounds * ROUND * LARGE, LARGE);
		print("small", rounds * ROUND * RATIO * SMALL, SMALL);
	}
}
