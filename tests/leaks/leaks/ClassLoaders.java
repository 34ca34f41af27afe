// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;

/**
 * Deploys plugins, each in a class loader of its own.  A registry keeps every loader; in the
 * clean twin, only the current ones.
 */
final class ClassLoaders implements Program {
	private static final int STEPS = 200;
	private static final int PER_STEP = 4;
	private static final int CURRENT = 20;
	/** A full collection unloads classes; a server has some, too. */
	private static final int STEPS_PER_COLLECTION = 40;

	private final List<Object> deployed = new ArrayList<>();
	private byte[] plugin;

	/** The class of a plugin: it is defined anew by each loader. */
	public static final class Plugin implements Runnable {
		private int runs;

		@Override
		public void run() {
			runs++;
		}

		@Override
		public String toString() {
			return "plugin, run " + runs + " times";
		}
	}

	/** Defines one class. */
	private static final class PluginLoader extends ClassLoader {
		PluginLoader() {
			super(null);
		}

		Class<?> define(String name, byte[] code) {
			return defineClass(name, code, 0, code.length);
		}
	}

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		plugin = read();
		pace.run(STEPS, step -> {
			for (int i = 0; i < PER_STEP; i++)
				deploy();
			while (!leaking && deployed.size() > CURRENT)
				deployed.remove(0);
			if (step % STEPS_PER_COLLECTION == STEPS_PER_COLLECTION - 1)
				System.gc();
		});
		Truth.settle();
		if (leaking)
			Truth.leak("classes", "leaks.ClassLoaders.deploy", Truth.UNKNOWN,
					STEPS * PER_STEP);
	}

	private void deploy() throws Exception {
		Class<?> type = new PluginLoader().define(Plugin.class.getName(), plugin);
		deployed.add(type.getDeclaredConstructor().newInstance());
	}

	private static byte[] read() throws IOException {
		String file = Plugin.class.getName().replace('.', '/') + ".class";
		try (InputStream in = Plugin.class.getClassLoader().getResourceAsStream(file)) {
			return in.readAllBytes();
		}
	}
}
