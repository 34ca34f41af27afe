// SPDX-License-Identifier: Apache-2.0
package realworld;

import java.util.List;
import leaks.Corpus;

/** Programs around third-party JNI libraries. */
public final class Main {
	private static final String SMALL = "-Xmx192m";
	/** Netty and Arrow access internals of direct buffers. */
	private static final String OPEN = SMALL + " --add-opens=java.base/java.nio=ALL-UNNAMED"
			+ " -Dio.netty.tryReflectionSetAccessible=true";

	/**
	 * The whole Java heap is resident from the start, so that the growth of RSS is what the
	 * library leaks, and can be compared with the bytes of the finding.
	 */
	private static final String PINNED = SMALL + " -Xms192m -XX:+AlwaysPreTouch";

	private static final List<Corpus.Entry> TABLE = List.of(
			entry("rocksdb-iterators", "RocksIterators", "leak clean", SMALL),
			entry("rocksdb-options", "RocksOptions", "leak clean", SMALL),
			new Corpus.Entry("zstd-streams", "leaks.ZstdStreams", "leak clean", SMALL),
			entry("sqlite-statements", "SqliteStatements", "leak clean", SMALL),
			entry("duckdb-results", "DuckResults", "leak clean", PINNED),
			entry("netty-buffers", "NettyBuffers", "leak clean", OPEN),
			entry("netty-pooled", "NettyPooled", "leak clean", OPEN),
			entry("netty-tls", "NettyTls", "leak clean", OPEN),
			entry("onnx-tensors", "OnnxTensors", "leak clean", SMALL),
			entry("snappy", "SnappyRoundTrips", "clean", SMALL),
			entry("lz4", "Lz4RoundTrips", "clean", SMALL),
			entry("jna-blocks", "JnaBlocks", "leak clean", SMALL),
			entry("lucene-readers", "LuceneReaders", "leak clean", SMALL),
			entry("arrow-vectors", "ArrowVectors", "leak clean", OPEN),
			entry("image-readers", "ImageReaders", "leak clean",
					SMALL + " -Djava.awt.headless=true"));

	private static Corpus.Entry entry(String name, String type, String variants, String options) {
		return new Corpus.Entry(name, "realworld." + type, variants, options);
	}

	private Main() {
	}

	public static void main(String[] arguments) throws Exception {
		Corpus.main(TABLE, arguments);
	}
}
