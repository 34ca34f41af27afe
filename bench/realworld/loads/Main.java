// SPDX-License-Identifier: Apache-2.0
package loads;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Real programs, for measuring the cost of profiling.
 *
 * <pre>
 * loads.Main NAME        prints "checksum N", the same in every run on every machine
 * loads.Main --list
 * </pre>
 */
public final class Main {
	private static final Map<String, Load> TABLE = new LinkedHashMap<>();

	static {
		TABLE.put("sqlite", new Sqlite());
		TABLE.put("javac", new Javac());
		TABLE.put("h2", new H2());
		TABLE.put("lucene", new Lucene());
		TABLE.put("compress", new Compress());
		TABLE.put("rocksdb", new Rocks());
		TABLE.put("duckdb", new Duck());
	}

	private Main() {
	}

	public static void main(String[] arguments) throws Exception {
		if (arguments.length == 1 && arguments[0].equals("--list")) {
			TABLE.keySet().forEach(System.out::println);
			return;
		}
		Load load = arguments.length == 1 ? TABLE.get(arguments[0]) : null;
		if (load == null) {
			System.err.println("usage: loads.Main NAME, or --list");
			System.exit(2);
		}
		Path directory = Files.createTempDirectory("loads");
		try {
			System.out.println("checksum " + load.run(directory.toString()));
		} finally {
			remove(directory);
		}
	}

	private static void remove(Path directory) throws IOException {
		List<Path> paths;
		try (Stream<Path> all = Files.walk(directory)) {
			paths = all.sorted(Comparator.reverseOrder()).collect(Collectors.toList());
		}
		for (Path path : paths)
			Files.deleteIfExists(path);
	}
}
