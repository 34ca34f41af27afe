// SPDX-License-Identifier: Apache-2.0
package services;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A directory that is removed at the end. */
public final class Scratch implements AutoCloseable {
	private final Path directory;

	public Scratch() throws IOException {
		directory = Files.createTempDirectory("services");
	}

	public Path path(String name) {
		return directory.resolve(name);
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
