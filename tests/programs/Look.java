// SPDX-License-Identifier: Apache-2.0
import java.io.File;
import java.nio.file.Files;

/** Prints properties of its own process: a line for each thread's name and each open file. */
public final class Look {
	private Look() {
	}

	public static void main(String[] arguments) throws Exception {
		for (File task : new File("/proc/self/task").listFiles()) {
			String name = new String(Files.readAllBytes(new File(task, "comm").toPath()));
			System.out.println("thread " + name.trim());
		}
		for (File descriptor : new File("/proc/self/fd").listFiles()) {
			try {
				System.out.println("file " + Files.readSymbolicLink(descriptor.toPath()));
			} catch (java.io.IOException closed) {
				// The directory itself, which is closed by now.
			}
		}
	}
}
