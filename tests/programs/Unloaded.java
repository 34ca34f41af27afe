// SPDX-License-Identifier: Apache-2.0

import java.io.File;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;

/**
 * Drops class loaders that have defined a class each, prints "dropped", and, when the file "stop" exists
 * in the current directory, how many of them have been collected since.
 */
public final class Unloaded {
	private static final int COUNT = 200;

	private Unloaded() {
	}

	private static final class Loader extends ClassLoader {
		Loader() {
			super(null);
		}

		Class<?> define(byte[] code) {
			return defineClass("Storm$Small", code, 0, code.length);
		}
	}

	private static List<WeakReference<Loader>> drop() throws Exception {
		List<WeakReference<Loader>> dropped = new ArrayList<>();
		try (InputStream in = Storm.class.getResourceAsStream("Storm$Small.class")) {
			byte[] code = in.readAllBytes();
			for (int i = 0; i < COUNT; i++) {
				Loader loader = new Loader();
				Class.forName(loader.define(code).getName(), true, loader);
				dropped.add(new WeakReference<>(loader));
			}
		}
		return dropped;
	}

	public static void main(String[] arguments) throws Exception {
		List<WeakReference<Loader>> dropped = drop();
		System.out.println("dropped");
		while (!new File("stop").exists())
			Thread.sleep(10);
		int collected = 0;
		for (WeakReference<Loader> reference : dropped)
			if (reference.get() == null)
				collected++;
		System.out.println(collected + " of " + COUNT + " collected");
	}
}
