// SPDX-License-Identifier: Apache-2.0

import java.net.URL;
import java.net.URLClassLoader;
import java.util.Arrays;

/**
 * Isolated PROGRAM ARGUMENT...: runs another program of this archive in a class loader of its own, which
 * is not the context class loader of its threads, as application servers do.
 */
public final class Isolated {
	private Isolated() {
	}

	public static void main(String[] arguments) throws Exception {
		URL[] archive = {Isolated.class.getProtectionDomain().getCodeSource().getLocation()};
		String[] others = Arrays.copyOfRange(arguments, 1, arguments.length);
		try (URLClassLoader loader =
				new URLClassLoader(archive, ClassLoader.getPlatformClassLoader())) {
			loader.loadClass(arguments[0])
					.getMethod("main", String[].class)
					.invoke(null, (Object) others);
		}
	}
}
