// SPDX-License-Identifier: Apache-2.0
package services;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** Deploys plug-ins, each with a class loader of its own; old versions are still referenced. */
final class Plugins implements Service {
	private static final double DEPLOYMENTS_PER_SECOND = 80;
	private static final double CALLS_PER_SECOND = 900;
	private static final int TEXT_BYTES = 128 << 10;

	private final List<Supplier<?>> deployed = new ArrayList<>();
	private volatile Supplier<?> current;
	private Leaks leaks;

	/** Defines its own copies of the plug-in's classes. */
	private static final class Loader extends ClassLoader {
		Loader() {
			super(Plugins.class.getClassLoader()); // leak: loaders
		}

		@Override
		protected Class<?> loadClass(String name, boolean isResolved)
				throws ClassNotFoundException {
			if (!name.startsWith(Plugin.class.getName()))
				return super.loadClass(name, isResolved);
			Class<?> known = findLoadedClass(name);
			if (known != null)
				return known;
			String path = name.replace('.', '/') + ".class";
			try (InputStream in = getResourceAsStream(path)) {
				byte[] bytes = in.readAllBytes();
				return defineClass(name, bytes, 0, bytes.length); // leak: loaders
			} catch (IOException error) {
				throw new ClassNotFoundException(name, error);
			}
		}
	}

	/** What is deployed: four classes. */
	static final class Plugin implements Supplier<String> {
		private final Rules rules = new Rules(new Visitor());
		private final Names names = new Names();

		@Override
		public String get() {
			return rules.apply(names.next());
		}

		static final class Rules {
			private final Visitor visitor;

			Rules(Visitor visitor) {
				this.visitor = visitor;
			}

			String apply(String text) {
				for (char c : text.toCharArray())
					visitor.visit(c);
				return visitor.end();
			}
		}

		static final class Visitor {
			private final StringBuilder out = new StringBuilder();

			void visit(char c) {
				if (Character.isLetterOrDigit(c))
					out.append(Character.toUpperCase(c));
			}

			String end() {
				String text = out.toString();
				out.setLength(0);
				return text;
			}
		}

		static final class Names {
			private int number;

			String next() {
				return "plug-in ".concat(Integer.toString(number++));
			}
		}
	}

	@Override
	public void start(Load load, Leaks on) throws Exception {
		leaks = on;
		deploy(0);
		load.begin();
		load.run("deployments", DEPLOYMENTS_PER_SECOND, this::deploy);
		load.run("calls", CALLS_PER_SECOND, this::call);
	}

	private void deploy(int number) throws Exception {
		Class<?> type = new Loader().loadClass(Plugin.class.getName()); // leak: loaders
		var constructor = type.getDeclaredConstructor();
		constructor.setAccessible(true);
		current = (Supplier<?>) constructor.newInstance(); // leak: loaders
		current.get(); // leak: loaders
		if (leaks.areOn()) {
			leaks.add("loaders", Leaks.UNKNOWN);
			deployed.add(current);
		}
	}

	private void call(int number) {
		String name = current.get() + Texts.text(number, TEXT_BYTES);
		if (name.toUpperCase().isEmpty())
			throw new IllegalStateException("no name");
	}

	@Override
	public void close() {
	}
}
