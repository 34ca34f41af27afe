// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Paths;

/**
 * A pool thread that takes the name of each task, like Spark's: identical in the kernel's 15
 * bytes.  With an argument it prints the kernel's names instead of allocating.
 */
public final class Renames {
	private static final int TASKS = 16;
	private static final int MEBIBYTES = 4;

	private static volatile Object sink;

	private Renames() {
	}

	private static void show() {
		try {
			Thread.currentThread().setName("Executor task launch worker for task 0");
			System.out.print(Files.readString(Paths.get("/proc/thread-self/comm")));
			Thread.currentThread().setName("short");
			System.out.print(Files.readString(Paths.get("/proc/thread-self/comm")));
		} catch (IOException error) {
			throw new UncheckedIOException(error);
		}
	}

	private static void work() {
		for (int task = 0; task < TASKS; task++) {
			Thread.currentThread().setName("Executor task launch worker for task " + task);
			for (int i = 0; i < MEBIBYTES; i++)
				sink = ByteBuffer.allocateDirect(1 << 20);
			for (int i = 0; i < MEBIBYTES * 64; i++)
				sink = new byte[16 << 10];
		}
		Thread.currentThread().setName("idle");
	}

	public static void main(String[] arguments) throws InterruptedException {
		Thread thread = new Thread(
			arguments.length > 0 ? Renames::show : Renames::work, "worker-1");
		thread.start();
		thread.join();
	}
}
