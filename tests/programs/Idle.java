// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/**
 * Idle FIRST SECONDS: after FIRST seconds without any work, prints how often each thread named
 * twinheap went to sleep in SECONDS further ones.
 */
public final class Idle {
	private static final String KEY = "voluntary_ctxt_switches:";

	private Idle() {
	}

	private static long sleeps() throws IOException {
		long sum = 0;

		try (DirectoryStream<Path> tasks = Files.newDirectoryStream(Paths.get("/proc/self/task"))) {
			for (Path task : tasks) {
				String status = new String(Files.readAllBytes(task.resolve("status")));

				if (!status.startsWith("Name:\ttwinheap\n"))
					continue;
				String rest = status.substring(status.indexOf(KEY) + KEY.length());
				sum += Long.parseLong(rest.substring(0, rest.indexOf('\n')).trim());
			}
		}
		return sum;
	}

	private static void sleep(String seconds) throws InterruptedException {
		Thread.sleep(Long.parseLong(seconds) * 1000);
	}

	public static void main(String[] arguments) throws IOException, InterruptedException {
		sleeps();
		sleep(arguments[0]);
		long before = sleeps();
		sleep(arguments[1]);
		System.out.println("{\"before\": " + before + ", \"sleeps\": " + (sleeps() - before) + "}");
	}
}
