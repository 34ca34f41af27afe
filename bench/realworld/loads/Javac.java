// SPDX-License-Identifier: Apache-2.0
package loads;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.apache.lucene.index.IndexWriter;

/**
 * Compiles a part of Lucene's core against the whole; sources and classes are on the class
 * path.
 */
final class Javac implements Load {
	private static final String PART = "org/apache/lucene/store/";

	@Override
	public long run(String directory) throws Exception {
		Path sources = Path.of(directory, "sources");
		Path classes = Files.createDirectory(Path.of(directory, "classes"));
		unpack(Path.of(archive()), sources);
		JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
		try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
			List<String> options = List.of("-proc:none", "-nowarn", "-Xlint:none", "-g:none",
					"-cp", classPath(), "-d", classes.toString());
			boolean isDone = compiler.getTask(null, files, diagnostic -> { }, options, null,
					files.getJavaFileObjectsFromFiles(list(sources, ".java").stream()
							.map(Path::toFile).collect(Collectors.toList()))).call();
			if (!isDone)
				throw new IllegalStateException("compilation failed");
		}
		long sum = 0;
		for (Path path : list(classes, ".class"))
			sum = sum * 31 + Arrays.hashCode(Files.readAllBytes(path));
		return sum;
	}

	private static String archive() {
		for (String entry : System.getProperty("java.class.path").split(":"))
			if (entry.endsWith("-sources.jar"))
				return entry;
		throw new IllegalStateException("no sources on the class path");
	}

	private static String classPath() throws Exception {
		return Path.of(IndexWriter.class.getProtectionDomain().getCodeSource().getLocation().toURI())
				.toString();
	}

	private static void unpack(Path archive, Path to) throws Exception {
		try (ZipInputStream zip = new ZipInputStream(Files.newInputStream(archive))) {
			for (ZipEntry entry; (entry = zip.getNextEntry()) != null; ) {
				if (!entry.getName().startsWith(PART) || !entry.getName().endsWith(".java"))
					continue;
				Path path = to.resolve(entry.getName());
				Files.createDirectories(path.getParent());
				Files.copy(zip, path);
			}
		}
	}

	private static List<Path> list(Path directory, String suffix) throws Exception {
		try (Stream<Path> all = Files.walk(directory)) {
			return all.filter(path -> path.toString().endsWith(suffix)).sorted()
					.collect(Collectors.toList());
		}
	}
}
