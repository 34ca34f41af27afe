// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.util.List;
import java.util.Optional;

/**
 * Runs one program of a corpus: as a leak, as its clean twin or, if the program is neither, as
 * a timed script of live memory.
 *
 * <pre>
 * MAIN [--seconds S] [--collect S] PROGRAM leak|clean|live
 * MAIN --list
 * </pre>
 *
 * Prints the expected findings of a report, one JSON object per line (see {@link Truth}), and
 * at the end the growth of resident memory, the bytes still held by the steps if a {@link
 * Ledger} counts them, and whether the steps ran at an even pace. --collect: requests a full
 * collection every S seconds. --list: prints every variant with the options its VM needs, one
 * per line.  Exits with status 3 if the runtime lacks a class that the program needs.
 */
public final class Corpus {
	private static final double SECONDS_DEFAULT = 5;
	private static final int STATUS_CLASS_MISSING = 3;

	/** One program: its name, its class, its variants and the options its VM needs. */
	public static final class Entry {
		final String name;
		final String type;
		final List<String> variants;
		final String options;

		public Entry(String name, String type, String variants, String options) {
			this.name = name;
			this.type = type;
			this.variants = List.of(variants.split(" "));
			this.options = options;
		}

		/** Its class; empty if it was not built because a library is missing. */
		Optional<Class<?>> load() {
			try {
				return Optional.of(Class.forName(type));
			} catch (ClassNotFoundException error) {
				return Optional.empty();
			}
		}

		void list() {
			if (load().isEmpty())
				return;
			for (String variant : variants)
				System.out.println(name + " " + variant + " " + options);
		}
	}

	/**
	 * Referenced until the process ends: what a program keeps must not become garbage when
	 * it returns.
	 */
	private static Program program;

	private Corpus() {
	}

	public static void main(List<Entry> table, String[] arguments) throws Exception {
		double seconds = SECONDS_DEFAULT;
		int next = 0;
		for (; next + 1 < arguments.length && arguments[next].startsWith("--"); next += 2) {
			double value = Double.parseDouble(arguments[next + 1]);
			if (arguments[next].equals("--seconds"))
				seconds = value;
			else if (arguments[next].equals("--collect"))
				collectEvery(value);
			else
				usage();
		}
		if (arguments.length == 1 && arguments[0].equals("--list"))
			table.forEach(Entry::list);
		else if (arguments.length == next + 2)
			run(table, arguments[next], arguments[next + 1], new Pace(seconds));
		else
			usage();
	}

	private static void collectEvery(double seconds) {
		Thread thread = new Thread(() -> {
			try {
				for (;;) {
					Thread.sleep((long) (seconds * 1000));
					System.gc();
				}
			} catch (InterruptedException error) {
				Thread.currentThread().interrupt();
			}
		}, "collector");
		thread.setDaemon(true);
		thread.start();
	}

	private static void run(List<Entry> table, String name, String variant, Pace pace)
			throws Exception {
		for (Entry entry : table) {
			if (!entry.name.equals(name) || !entry.variants.contains(variant))
				continue;
			Class<?> type = entry.load().orElseThrow();
			program = (Program) type.getDeclaredConstructor().newInstance();
			try {
				long before = Truth.residentBytes();
				program.run(pace, variant.equals("leak"));
				Truth.grew(Truth.residentBytes() - before);
				Truth.held(Ledger.bytes(), Ledger.objects());
				pace.tell();
			} catch (NoClassDefFoundError error) {
				System.err.println("no class " + error.getMessage());
				System.exit(STATUS_CLASS_MISSING);
			}
			return;
		}
		usage();
	}

	private static void usage() {
		System.err.println("usage: MAIN [--seconds S] [--collect S]"
				+ " PROGRAM leak|clean|live, or --list");
		System.exit(2);
	}
}
