// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.List;

/**
 * <pre>Ring ARRAYS WAY TOOL</pre>
 *
 * Allocates ARRAYS arrays that are dropped, and one that stays for each 64 of them, over some
 * seconds; collects the heap from time to time, and has TOOL ask for what the collection found, which
 * the library looks for only now and then.  Prints the bytes of both, and ends by WAY: exit or kill.
 */
public final class Ring {
	private static final int KEEP_EVERY = 64;
	private static final int BYTES = 496; // and a header of 16
	private static final int COLLECTIONS = 12;
	private static final int PAUSE_EVERY = 1500;

	private static final List<byte[]> kept = new ArrayList<>();
	private static volatile Object sink;

	private Ring() {
	}

	private static void dropArray() {
		sink = new byte[BYTES];
	}

	private static void keepArray() {
		kept.add(new byte[BYTES]);
	}

	private static void run(String... command) throws Exception {
		ProcessBuilder builder = new ProcessBuilder(command);
		builder.environment().remove("LD_PRELOAD");
		if (builder.start().waitFor() != 0)
			throw new AssertionError(command[0]);
	}

	public static void main(String[] arguments) throws Exception {
		int arrays = Integer.parseInt(arguments[0]);
		String pid = Long.toString(ProcessHandle.current().pid());

		for (int i = 0; i < arrays; i++) {
			dropArray();
			if (i % KEEP_EVERY == 0)
				keepArray();
			if (i % (arrays / COLLECTIONS) == arrays / COLLECTIONS - 1) {
				System.gc();
				run(arguments[2], "ctl", pid, "flush");
			}
			if (i % PAUSE_EVERY == 0)
				Thread.sleep(5); // what was found dead is written meanwhile
		}
		System.out.println(512L * arrays + " " + 512L * kept.size());
		System.out.flush();
		if (arguments[1].equals("kill")) {
			new ProcessBuilder("kill", "-9", pid).start();
			Thread.sleep(60000);
		}
	}
}
