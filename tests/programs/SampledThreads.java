// SPDX-License-Identifier: Apache-2.0

import java.io.File;
import java.io.IOException;
import java.util.concurrent.CyclicBarrier;

/**
 * Threads that allocate known numbers of objects, and print the bytes of each site.
 *
 * <pre>
 * SampledThreads switched THREADS TOOL  uses TOOL to pause and resume its own recording
 * SampledThreads first THREADS          threads that allocate one object each
 * SampledThreads sizes MEGABYTES        objects of three sizes in turn, MEGABYTES of each
 * </pre>
 */
public final class SampledThreads {
	private static final int HEADER = 16;
	/** Bytes of a block, header included. */
	private static final int BLOCK = 4096;
	/** Blocks of a thread. */
	private static final int BLOCKS = 500;
	/** Number of pauses of the recording. */
	private static final int PAUSES = 3;
	/** Blocks of a thread in a pause. */
	private static final int BLOCKS_IN_PAUSE = 2000;

	private static volatile Object sink;

	private SampledThreads() {
	}

	private static void say(String site, long objects, long size) {
		System.out.printf("{\"heap\": \"java\", \"site\": \"SampledThreads.%s\", \"objects\": %d, "
				+ "\"bytes\": %d, \"size\": %d}%n", site, objects, objects * size, size);
	}

	// Pauses

	private static void on() {
		for (int i = 0; i < BLOCKS; i++)
			sink = new byte[BLOCK - HEADER];
	}

	private static void off() {
		for (int i = 0; i < BLOCKS_IN_PAUSE; i++)
			sink = new byte[BLOCK - HEADER];
	}

	private static void await(CyclicBarrier barrier) {
		try {
			barrier.await();
		} catch (Exception error) {
			throw new IllegalStateException(error);
		}
	}

	/** Returns when the recording has served the request. */
	private static void control(String tool, String command)
			throws IOException, InterruptedException {
		ProcessBuilder builder = new ProcessBuilder(tool, "ctl",
				Long.toString(ProcessHandle.current().pid()), command);
		builder.environment().remove("LD_PRELOAD");
		builder.inheritIO().redirectOutput(new File("/dev/null"));
		if (builder.start().waitFor() != 0)
			throw new IOException("ctl " + command);
	}

	/** All threads at once, including those that existed before. */
	private static void turns(CyclicBarrier barrier) {
		for (int i = 0; i <= PAUSES; i++) {
			await(barrier);
			on();
			await(barrier);
			if (i == PAUSES)
				break;
			await(barrier);
			off();
			await(barrier);
		}
	}

	private static void switched(int count, String tool) throws Exception {
		CyclicBarrier barrier = new CyclicBarrier(count + 1);
		for (int i = 0; i < count; i++)
			new Thread(() -> turns(barrier), "worker-" + i).start();
		for (int i = 0; i <= PAUSES; i++) {
			await(barrier);
			await(barrier);
			if (i == PAUSES)
				break;
			control(tool, "pause");
			await(barrier);
			await(barrier);
			control(tool, "resume");
		}
		say("on", (long) count * BLOCKS * (PAUSES + 1), BLOCK);
		say("off", (long) count * BLOCKS_IN_PAUSE * PAUSES, BLOCK);
	}

	// The first object of a thread

	private static void first() {
		sink = new byte[BLOCK - HEADER];
	}

	private static void first(int count) throws InterruptedException {
		for (int i = 0; i < count; i++) {
			Thread thread = new Thread(SampledThreads::first, "first");
			thread.start();
			thread.join();
		}
		say("first", count, BLOCK);
	}

	// Sizes

	private static void small(long count) {
		for (long i = 0; i < count; i++)
			sink = new byte[64 - HEADER];
	}

	private static void middling(long count) {
		for (long i = 0; i < count; i++)
			sink = new byte[BLOCK - HEADER];
	}

	private static void large(long count) {
		for (long i = 0; i < count; i++)
			sink = new byte[131072 - HEADER];
	}

	private static void sizes(long bytes) {
		small(bytes / 64);
		middling(bytes / BLOCK);
		large(bytes / 131072);
		say("small", bytes / 64, 64);
		say("middling", bytes / BLOCK, BLOCK);
		say("large", bytes / 131072, 131072);
	}

	public static void main(String[] arguments) throws Exception {
		int count = Integer.parseInt(arguments[1]);
		switch (arguments[0]) {
		case "switched":
			switched(count, arguments[2]);
			break;
		case "first":
			first(count);
			break;
		default:
			sizes((long) count << 20);
			break;
		}
	}
}
