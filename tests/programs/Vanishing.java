// SPDX-License-Identifier: Apache-2.0

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * {@code Vanishing LIBRARY COUNT [die]}: unpacks libvanishing.so as most JNI libraries do, into a
 * temporary file that is deleted as soon as it is loaded. At the end it kills itself, a second
 * after its last allocation.
 */
public final class Vanishing {
	private Vanishing() {
	}

	private static native void work(int count);

	private static native void die();

	public static void main(String[] arguments) throws Exception {
		File file = File.createTempFile("libvanishing-", ".so", new File("."));

		try {
			Files.copy(Path.of(arguments[0]), file.toPath(),
				StandardCopyOption.REPLACE_EXISTING);
			System.load(file.getCanonicalPath());
		} finally {
			Files.delete(file.toPath());
		}
		work(Integer.parseInt(arguments[1]));
		if (arguments.length > 2) {
			Thread.sleep(1000);
			die();
		}
	}
}
