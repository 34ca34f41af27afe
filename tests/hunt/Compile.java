// SPDX-License-Identifier: Apache-2.0

import java.io.File;
import java.io.PrintStream;
import java.io.OutputStream;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Runs a compiler in this VM and prints its status and a digest of the classes it writes.
 *
 * <pre>Compile javac|scala|kotlin DIRECTORY FILE...</pre>
 */
public final class Compile {
	private Compile() {
	}

	private static Object call(String type, String method, Object... arguments) throws Exception {
		for (Method candidate : Class.forName(type).getMethods()) {
			if (candidate.getName().equals(method) && candidate.getParameterCount() == arguments.length
				&& candidate.getParameterTypes()[0].isInstance(arguments[0])) {
				Object target = java.lang.reflect.Modifier.isStatic(candidate.getModifiers())
					? null : Class.forName(type).getDeclaredConstructor().newInstance();
				return candidate.invoke(target, arguments);
			}
		}
		throw new NoSuchMethodException(type + "." + method);
	}

	private static Object compile(String language, String[] arguments) throws Exception {
		switch (language) {
		case "javac":
			return javax.tools.ToolProvider.getSystemJavaCompiler().run(null,
				new PrintStream(OutputStream.nullOutputStream()), null, arguments);
		case "scala":
			return call("scala.tools.nsc.Main", "process", (Object) arguments);
		default:
			return call("org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "exec", System.err, arguments);
		}
	}

	private static String digest(Path directory) throws Exception {
		MessageDigest digest = MessageDigest.getInstance("SHA-256");
		List<Path> files;
		try (Stream<Path> all = Files.walk(directory)) {
			files = all.filter(path -> path.toString().endsWith(".class")).sorted()
				.collect(Collectors.toList());
		}
		for (Path file : files) {
			digest.update(directory.relativize(file).toString().getBytes());
			digest.update(Files.readAllBytes(file));
		}
		return files.size() + " classes " + Arrays.hashCode(digest.digest());
	}

	public static void main(String[] arguments) throws Exception {
		Path output = Files.createDirectories(Path.of(arguments[1]));
		Stream<String> options = Stream.of("-d", output.toString());
		if (arguments[0].equals("javac"))
			options = Stream.concat(options, Stream.of("-proc:none", "-nowarn"));
		if (arguments[0].equals("scala"))
			options = Stream.concat(options, Stream.of("-usejavacp", "-nowarn"));
		if (arguments[0].equals("kotlin"))
			options = Stream.concat(options,
				Stream.of("-no-stdlib", "-no-reflect", "-nowarn", "-classpath",
					Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
						.filter(path -> path.contains("kotlin-stdlib"))
						.collect(Collectors.joining(File.pathSeparator))));
		String[] all = Stream.concat(options, Arrays.stream(arguments).skip(2)).toArray(String[]::new);
		System.out.println(compile(arguments[0], all));
		System.out.println(digest(output));
	}
}
