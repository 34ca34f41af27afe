// SPDX-License-Identifier: Apache-2.0

import java.util.Arrays;

/**
 * Makes allocations that compiled code leaves to the VM: arrays too large for a TLAB, and
 * arrays with more than one dimension, on two threads.
 *
 * <pre>SlowPaths ROUNDS    allocates about 2.5 MB per round and thread</pre>
 */
public final class SlowPaths {
	private static final int KILOBYTE = 1024;

	private static volatile Object sink;

	private SlowPaths() {
	}

	private static void bytes() {
		sink = new byte[1500 * KILOBYTE];
	}

	private static void references() {
		sink = new Object[20 * KILOBYTE];
	}

	private static void copies() {
		sink = Arrays.copyOf(new byte[200 * KILOBYTE], 300 * KILOBYTE);
	}

	private static void dimensions() {
		sink = new int[100][100];
	}

	private static void run(int rounds) {
		for (int i = 0; i < rounds; i++) {
			bytes();
			references();
			copies();
			dimensions();
		}
	}

	public static void main(String[] arguments) throws InterruptedException {
		int rounds = Integer.parseInt(arguments[0]);
		Thread thread = new Thread(() -> run(rounds), "second");
		thread.start();
		run(rounds);
		thread.join();
	}
}
