// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.util.List;
import java.util.Optional;

/**
 * Runs one program of the corpus: as it leaks, as it does not, or, where neither is the point, as
 * a script of what is alive when.
 *
 * <pre>
 * leaks.Main [--seconds S] [--collect S] PROGRAM leak|clean|live
 * leaks.Main --list
 * </pre>
 *
 * Prints what a report has to find, one JSON object a line (see {@link Truth}). --collect: lets
 * the VM collect all garbage every so many seconds. --list: every variant with the options its VM
 * needs, one a line.
 */
public final class Main {
	private static final double SECONDS_DEFAULT = 5;
	/** A young generation that holds all that the program allocates: nothing is collected. */
	private static final String ROOMY = "-Xms1200m -Xmx1200m -Xmn1g";
	private static final String SMALL = "-Xmx192m";
	/** Full enough with what leaks that old objects are collected, too: else none is known dead. */
	private static final String TIGHT = "-Xmx100m";

	private static final List<Entry> TABLE = List.of(
			new Entry("jni-blocks", "JniBlocks", "leak clean", SMALL),
			new Entry("jni-threads", "JniThreads", "leak clean", SMALL),
			new Entry("jni-strings", "JniStrings", "leak clean", SMALL),
			new Entry("jni-references", "JniReferences", "leak clean", "-Xmx64m"),
			new Entry("jni-rare", "JniRare", "leak clean", SMALL),
			new Entry("jni-bursts", "JniBursts", "leak clean", SMALL),
			new Entry("zstd", "ZstdStreams", "leak clean", SMALL),
			new Entry("snappy", "SnappyRoundTrips", "clean", SMALL),
			new Entry("lz4", "Lz4RoundTrips", "clean", SMALL),
			new Entry("deflaters", "Deflaters", "leak clean", SMALL),
			new Entry("direct-buffers", "DirectBuffers", "leak clean", SMALL),
			new Entry("arena", "Arena", "clean", SMALL),
			new Entry("sqlite-statements", "SqliteStatements", "leak clean", SMALL),
			new Entry("sqlite-connections", "SqliteConnections", "leak clean", SMALL),
			new Entry("cache", "Cache", "leak clean", TIGHT),
			new Entry("cache-roomy", "Cache", "clean", SMALL),
			new Entry("listeners", "Listeners", "leak clean", "-Xmx80m"),
			new Entry("thread-locals", "ThreadLocals", "leak clean", TIGHT),
			new Entry("sessions", "Sessions", "leak clean", "-Xmx160m"),
			new Entry("sessions-roomy", "Sessions", "clean", "-Xmx512m"),
			new Entry("shrinking", "Shrinking", "clean", SMALL),
			new Entry("batches", "Batches", "clean", SMALL),
			new Entry("plateau", "Plateau", "clean", "-Xmx512m"),
			new Entry("pool", "Pool", "clean", SMALL),
			new Entry("garbage", "Garbage", "clean", ROOMY),
			new Entry("classes", "Classes", "clean", SMALL),
			new Entry("warm-up", "WarmUp", "clean", SMALL),
			new Entry("threads", "Threads", "clean", SMALL),
			new Entry("timeline", "Timeline", "live", "-Xmx512m"),
			new Entry("arrays", "Arrays", "live", "-Xmx512m"),
			new Entry("cleaners", "Cleaners", "live", "-Xmx512m"),
			new Entry("zstd-finalizers", "ZstdFinalizers", "live", "-Xmx512m"));

	private static final class Entry {
		final String name;
		final String type;
		final List<String> variants;
		final String options;

		Entry(String name, String type, String variants, String options) {
			this.name = name;
			this.type = type;
			this.variants = List.of(variants.split(" "));
			this.options = options;
		}

		/** Its class; empty if that was left out of the build, for want of a library. */
		Optional<Class<?>> load() {
			try {
				return Optional.of(Class.forName("leaks." + type));
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

	private Main() {
	}

	public static void main(String[] arguments) throws Exception {
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
			TABLE.forEach(Entry::list);
		else if (arguments.length == next + 2)
			run(arguments[next], arguments[next + 1], new Pace(seconds));
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

	private static void run(String name, String variant, Pace pace) throws Exception {
		for (Entry entry : TABLE) {
			if (!entry.name.equals(name) || !entry.variants.contains(variant))
				continue;
			Class<?> type = entry.load().orElseThrow();
			Program program = (Program) type.getDeclaredConstructor().newInstance();
			program.run(pace, variant.equals("leak"));
			return;
		}
		usage();
	}

	private static void usage() {
		System.err.println("usage: leaks.Main [--seconds S] [--collect S]"
				+ " PROGRAM leak|clean|live, or --list");
		System.exit(2);
	}
}
