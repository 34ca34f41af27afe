// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.util.List;

/** The programs of this corpus. */
public final class Main {
	/**
	 * A young generation that holds everything the program allocates: nothing is collected.
	 */
	private static final String ROOMY = "-Xms1200m -Xmx1200m -Xmn1g";
	private static final String SMALL = "-Xmx192m";
	/**
	 * Small enough that the leak causes old-generation collections; otherwise no old object
	 * is known dead.
	 */
	private static final String TIGHT = "-Xmx100m";
	/** The same for a leak of half of the heap, which causes none on a busy machine. */
	private static final String EARLY = "-Xmx80m -XX:InitiatingHeapOccupancyPercent=25";
	/** Looks into Deflaters: whether their Cleaners have run. */
	private static final String OPEN = "-Xmx512m --add-opens=java.base/java.util.zip=ALL-UNNAMED";

	private static final List<Corpus.Entry> TABLE = List.of(
			new Corpus.Entry("jni-blocks", "leaks.JniBlocks", "leak clean", SMALL),
			new Corpus.Entry("jni-threads", "leaks.JniThreads", "leak clean", SMALL),
			new Corpus.Entry("jni-strings", "leaks.JniStrings", "leak clean", SMALL),
			new Corpus.Entry("jni-references", "leaks.JniReferences", "leak clean", "-Xmx64m"),
			new Corpus.Entry("jni-rare", "leaks.JniRare", "leak clean", SMALL),
			new Corpus.Entry("jni-bursts", "leaks.JniBursts", "leak clean", SMALL),
			new Corpus.Entry("zstd", "leaks.ZstdStreams", "leak clean", SMALL),
			new Corpus.Entry("snappy", "leaks.SnappyRoundTrips", "clean", SMALL),
			new Corpus.Entry("lz4", "leaks.Lz4RoundTrips", "clean", SMALL),
			new Corpus.Entry("deflaters", "leaks.Deflaters", "leak clean", SMALL),
			new Corpus.Entry("direct-buffers", "leaks.DirectBuffers", "leak clean", SMALL),
			new Corpus.Entry("arena", "leaks.Arena", "clean", SMALL),
			new Corpus.Entry("mapped-arena", "leaks.MappedArena", "leak clean", SMALL),
			new Corpus.Entry("sqlite-statements", "leaks.SqliteStatements", "leak clean", SMALL),
			new Corpus.Entry("sqlite-connections", "leaks.SqliteConnections", "leak clean", SMALL),
			new Corpus.Entry("netty-engines", "leaks.NettyEngines", "leak clean", SMALL),
			new Corpus.Entry("cache", "leaks.Cache", "leak clean", TIGHT),
			new Corpus.Entry("cache-roomy", "leaks.Cache", "clean", SMALL),
			new Corpus.Entry("listeners", "leaks.Listeners", "leak clean", EARLY),
			new Corpus.Entry("thread-locals", "leaks.ThreadLocals", "leak clean", TIGHT),
			new Corpus.Entry("sessions", "leaks.Sessions", "leak clean", "-Xmx160m"),
			new Corpus.Entry("sessions-roomy", "leaks.Sessions", "clean", "-Xmx512m"),
			new Corpus.Entry("shrinking", "leaks.Shrinking", "clean", SMALL),
			new Corpus.Entry("batches", "leaks.Batches", "clean", SMALL),
			new Corpus.Entry("plateau", "leaks.Plateau", "clean", "-Xmx512m"),
			new Corpus.Entry("pool", "leaks.Pool", "clean", SMALL),
			new Corpus.Entry("garbage", "leaks.Garbage", "clean", ROOMY),
			new Corpus.Entry("classes", "leaks.Classes", "clean", SMALL),
			new Corpus.Entry("warm-up", "leaks.WarmUp", "clean", SMALL),
			new Corpus.Entry("threads", "leaks.Threads", "clean", SMALL),
			new Corpus.Entry("thread-growth", "leaks.ThreadGrowth", "leak clean", SMALL),
			new Corpus.Entry("http-clients", "leaks.HttpClients", "leak clean", SMALL),
			new Corpus.Entry("executors", "leaks.Executors", "leak clean", SMALL),
			new Corpus.Entry("jna-memory", "leaks.JnaMemory", "leak clean", SMALL),
			new Corpus.Entry("class-loaders", "leaks.ClassLoaders", "leak clean", SMALL),
			new Corpus.Entry("timeline", "leaks.Timeline", "live", "-Xmx512m"),
			new Corpus.Entry("arrays", "leaks.Arrays", "live", "-Xmx512m"),
			new Corpus.Entry("cleaners", "leaks.Cleaners", "live", OPEN),
			new Corpus.Entry("zstd-finalizers", "leaks.ZstdFinalizers", "live", "-Xmx512m"));

	private Main() {
	}

	public static void main(String[] arguments) throws Exception {
		Corpus.main(TABLE, arguments);
	}
}
