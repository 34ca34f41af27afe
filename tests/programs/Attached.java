// SPDX-License-Identifier: Apache-2.0

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.Deflater;

/**
 * Runs until the file "stop" exists in the current directory: two threads create deflaters and end
 * most of them. With the argument "leak" one of them forgets one of twenty; with "busy" they never
 * sleep. With "flood" it forgets all, slowly until there is a file of that name, until it is killed.
 */
public final class Attached {
	private static final List<Deflater> kept = new ArrayList<>();
	private static volatile Object sink;

	private Attached() {
	}

	private static void leak() {
		kept.add(new Deflater());
	}

	private static void churn() {
		Deflater deflater = new Deflater();
		sink = new byte[10_000];
		deflater.end();
	}

	private static void work(boolean leaks, boolean isBusy) {
		File stop = new File("stop");
		for (int turn = 1; turn % 100 != 0 || !stop.exists(); turn++) {
			churn();
			if (leaks && turn % 20 == 0)
				leak();
			if (isBusy)
				continue;
			try {
				Thread.sleep(1);
			} catch (InterruptedException e) {
				return;
			}
		}
	}

	private static void flood() throws InterruptedException {
		while (!new File("flood").exists()) {
			leak();
			Thread.sleep(100);
		}
		for (;;)
			leak();
	}

	public static void main(String[] arguments) throws Exception {
		if (arguments.length > 0 && arguments[0].equals("flood"))
			flood();
		boolean leaks = arguments.length > 0 && arguments[0].equals("leak");
		boolean isBusy = arguments.length > 0 && arguments[0].equals("busy");
		Thread other = new Thread(() -> work(false, isBusy), "other");
		other.start();
		work(leaks, isBusy);
		other.join();
		System.out.println("done");
	}
}
