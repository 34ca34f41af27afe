// SPDX-License-Identifier: Apache-2.0
package realworld;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A directory that is removed at the end. */
final class Scratch implements AutoCloseable {
	private final Path directory;

	Scratch() throws IOException {
		directory = Files.createTempDirectory("realworld");
	}

	String path(String name) {
		return directory.resolve(name).toString();
	}

	/**
	 * Bytes of its files that this process has mapped; multiple mappings count separately.
	 */
	long mappedBytes() throws IOException {
		long bytes = 0;
		for (String line : Files.readAllLines(Path.of("/proc/self/maps"))) {
			if (!line.contains(" " + directory + "/"))
				continue;
			String[] range = line.substring(0, line.indexOf(' ')).split("-");
			bytes += Long.parseLong(range[1], 16) - Long.parseLong(range[0], 16);
		}
		return bytes;
	}

	@Override
	public void close() throws IOException {
		List<Path> paths;
		try (Stream<Path> all = Files.walk(directory)) {
			paths = all.sorted(Comparator.reverseOrder()).collect(Collectors.toList());
		}
		for (Path path : paths)
			Files.deleteIfExists(path);
	}
}
