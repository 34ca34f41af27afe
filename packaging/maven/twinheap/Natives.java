// SPDX-License-Identifier: Apache-2.0
package twinheap;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;

/**
 * The library and the tool for this processor, from the jar. As a program: {@code java -jar
 * twinheap.jar DIRECTORY} extracts both and prints the path of the library.
 */
public final class Natives {
	private Natives() {
	}

	/**
	 * Extracts {@code bin/twinheap} and {@code lib/libtwinheap*.so} below {@code directory}, which
	 * is created; existing files are replaced as a whole, so that processes that use them are not
	 * affected. Returns the path of the library, for LD_PRELOAD or -agentpath.
	 *
	 * @throws IOException if a file cannot be written, or the jar has none for this processor
	 */
	public static Path extract(Path directory) throws IOException {
		Path absolute = directory.toAbsolutePath();
		for (String name : new String[] {"bin/twinheap", "lib/libtwinheap.so",
				"lib/libtwinheap-new.so", "lib/libtwinheap-mallocx.so"}) {
			extract(name, absolute.resolve(name));
		}
		return absolute.resolve("lib/libtwinheap.so");
	}

	private static String platform() {
		String processor = System.getProperty("os.arch");
		return "linux-" + (processor.equals("amd64") ? "x86_64" : processor);
	}

	private static void extract(String name, Path target) throws IOException {
		String resource = "/natives/" + platform() + "/" + name;
		try (InputStream in = Natives.class.getResourceAsStream(resource)) {
			if (in == null) {
				throw new IOException("no files for " + platform());
			}
			Files.createDirectories(target.getParent());
			Path fresh = Files.createTempFile(target.getParent(), ".twinheap", null);
			Files.copy(in, fresh, StandardCopyOption.REPLACE_EXISTING);
			Files.setPosixFilePermissions(fresh, PosixFilePermissions.fromString("rwxr-xr-x"));
			Files.move(fresh, target, StandardCopyOption.REPLACE_EXISTING);
		}
	}

	public static void main(String[] arguments) throws IOException {
		if (arguments.length != 1) {
			System.err.println("usage: java -jar twinheap.jar DIRECTORY");
			System.exit(2);
		}
		System.out.println(extract(Path.of(arguments[0])));
	}
}
