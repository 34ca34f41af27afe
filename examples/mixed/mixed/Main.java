// SPDX-License-Identifier: Apache-2.0
package mixed;

import java.util.ArrayList;
import java.util.List;

/**
 * Runs scenarios and prints the allocations of each site.
 *
 * <pre>mixed.Main [--volume BYTES] [--threads N] [--seconds S] [--repeat S]
 * [SCENARIO...]</pre>
 *
 * --volume: bytes that each site allocates per thread (64M); --threads: threads that run each
 * scenario at the same time (0: the main thread itself); --seconds: duration of the scenario
 * demo; --repeat: runs all of them in turn until this many seconds have passed.
 */
public final class Main {
	private long volume = 64L << 20;
	private int threads;
	private double seconds = 6;
	private double repeatSeconds;
	private final List<String> names = new ArrayList<>();

	private Main(String[] arguments) {
		for (int i = 0; i < arguments.length; i++) {
			String argument = arguments[i];
			if (argument.equals("--volume"))
				volume = parseBytes(arguments[++i]);
			else if (argument.equals("--threads"))
				threads = Integer.parseInt(arguments[++i]);
			else if (argument.equals("--seconds"))
				seconds = Double.parseDouble(arguments[++i]);
			else if (argument.equals("--repeat"))
				repeatSeconds = Double.parseDouble(arguments[++i]);
			else
				names.add(argument);
		}
		if (names.isEmpty())
			names.add("demo");
	}

	/** A number of bytes, with the suffixes k, M and G. */
	private static long parseBytes(String text) {
		int shift = "kmg".indexOf(Character.toLowerCase(text.charAt(text.length() - 1)));
		String digits = shift < 0 ? text : text.substring(0, text.length() - 1);
		return Long.parseLong(digits) << 10 * (shift + 1);
	}

	public static void main(String[] arguments) throws Exception {
		System.loadLibrary("mixed");
		Main main = new Main(arguments);
		Ledger ledger = new Ledger();
		long start = System.nanoTime();
		do
			main.runAll(ledger);
		while (System.nanoTime() - start < main.repeatSeconds * 1e9);
		ledger.print(System.out);
	}

	private void runAll(Ledger ledger) throws Exception {
		for (String name : names) {
			Scenarios.Scenario scenario = Scenarios.find(name);
			if (scenario == null) {
				System.err.println("no scenario " + name + "; there are: " + Scenarios.names());
				System.exit(2);
			}
			runScenario(scenario, ledger);
		}
	}

	private void runScenario(Scenarios.Scenario scenario, Ledger ledger) throws Exception {
		if (threads == 0) {
			scenario.run(new Scenarios.Run(ledger, volume, seconds));
			return;
		}
		List<Throwable> errors = new ArrayList<>();
		Thread[] workers = new Thread[threads];
		for (int i = 0; i < threads; i++) {
			workers[i] = new Thread(() -> {
				try {
					scenario.run(new Scenarios.Run(ledger, volume, seconds));
				} catch (Exception error) {
					synchronized (errors) {
						errors.add(error);
					}
				}
			}, "worker-" + (i + 1));
			workers[i].start();
		}
		for (Thread worker : workers)
			worker.join();
		if (!errors.isEmpty())
			throw new IllegalStateException(errors.get(0));
	}
}
