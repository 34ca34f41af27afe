// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Loads 3,000 classes of the JDK, fast at first and then more and more slowly, as servers do.
 */
final class Classes implements Program {
	private static final int CLASSES = 3000;
	private static final int STEPS = 300;
	private volatile Object sink;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		List<String> names = names();
		int[] next = {0};
		pace.run(STEPS, 1, step -> {
			/* After a share x of the time, a share of 1 - (1 - x)^3. */
			double left = 1 - (step + 1.0) / STEPS;
			int target = (int) (names.size() * (1 - left * left * left));
			while (next[0] < target)
				load(names.get(next[0]++));
			sink = new byte[100_000];
		});
	}

	private static List<String> names() throws IOException {
		Path base = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("modules/java.base");
		try (Stream<Path> files = Files.walk(base)) {
			return files.map(file -> base.relativize(file).toString())
					.filter(name -> name.endsWith(".class") && name.startsWith("java/"))
					.map(name -> name.substring(0, name.length() - 6).replace('/', '.'))
					.sorted().limit(CLASSES).collect(Collectors.toList());
		}
	}

	private static void load(String name) {
		try {
			Class.forName(name, false, null).getDeclaredMethods();
		} catch (ClassNotFoundException | LinkageError error) {
			System.err.println(name + ": " + error);
		}
	}
}
