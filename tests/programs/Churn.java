// SPDX-License-Identifier: Apache-2.0

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import javax.management.ObjectName;

import sun.misc.Unsafe;

/**
 * Class loaders that define one class of many methods each, and are dropped.
 *
 * <pre>
 * Churn drop COUNT          prints the memory of the process after all are unloaded
 * Churn keep COUNT SECONDS  then loads a class that stays, by another such loader; it allocates in C
 *                           for SECONDS, while other loaders are created and dropped
 * Churn first               the same without dropped loaders, once
 * </pre>
 *
 * With -XX:NativeMemoryTracking=summary "drop" prints the VM's own malloc memory.
 */
public final class Churn {
	private static final int METHODS = 62;
	private static final int BLOCK = 1 << 16;
	private static final int BLOCKS = 200;
	/** Collections per second, and what happens before each. */
	private static final int TURNS = 4;
	private static final int CHURNED_BESIDE = 100;
	private static final int RUNS = 25;

	private Churn() {
	}

	/** Defines one class, and finds other classes only in the boot loader. */
	private static final class Loader extends ClassLoader {
		Loader() {
			super(null);
		}

		Class<?> define(String name, byte[] bytes) {
			return defineClass(name, bytes, 0, bytes.length);
		}

		@Override
		protected Class<?> findClass(String name) throws ClassNotFoundException {
			return Churn.class.getClassLoader().loadClass(name);
		}
	}

	/** Allocates in C; each loader that defines it makes it a separate class. */
	public static final class Kept implements Runnable {
		private final Unsafe unsafe;

		public Kept(Unsafe unsafe) {
			this.unsafe = unsafe;
		}

		@Override
		public void run() {
			for (int i = 0; i < BLOCKS; i++)
				allocate();
		}

		private void allocate() {
			unsafe.freeMemory(unsafe.allocateMemory(BLOCK));
		}
	}

	// A class file: constants, access, this, super, no interfaces, no fields, methods, no
	// attributes

	private static void text(DataOutputStream file, String text) throws IOException {
		file.writeByte(1);
		file.writeUTF(text);
	}

	private static void type(DataOutputStream file, int constant) throws IOException {
		file.writeByte(7);
		file.writeShort(constant);
	}

	/** public static void methodN() {} with its Code attribute (5 is "()V", 6 "Code"). */
	private static void method(DataOutputStream file, int name) throws IOException {
		int[] head = {9, name, 5, 1, 6};
		for (int value : head)
			file.writeShort(value);
		file.writeInt(13);
		file.writeShort(0);
		file.writeShort(0);
		file.writeInt(1);
		file.writeByte(0xb1);
		file.writeInt(0);
	}

	private static byte[] classFile() throws IOException {
		ByteArrayOutputStream bytes = new ByteArrayOutputStream();
		DataOutputStream file = new DataOutputStream(bytes);
		file.writeInt(0xcafebabe);
		file.writeInt(52);
		file.writeShort(7 + METHODS);
		text(file, "Churned");
		type(file, 1);
		text(file, "java/lang/Object");
		type(file, 3);
		text(file, "()V");
		text(file, "Code");
		for (int i = 0; i < METHODS; i++)
			text(file, "method" + i);
		int[] head = {0x21, 2, 4, 0, 0, METHODS};
		for (int value : head)
			file.writeShort(value);
		for (int i = 0; i < METHODS; i++)
			method(file, 7 + i);
		file.writeShort(0);
		return bytes.toByteArray();
	}

	private static void churn(byte[] file, int count) throws ClassNotFoundException {
		for (int i = 0; i < count; i++) {
			Loader loader = new Loader();
			Class.forName(loader.define("Churned", file).getName(), true, loader);
		}
	}

	// Memory of the process

	private static long resident() throws IOException {
		for (String line : Files.readAllLines(Paths.get("/proc/self/status")))
			if (line.startsWith("VmRSS:"))
				return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024;
		return 0;
	}

	static long allocated() throws Exception {
		String text = (String) ManagementFactory.getPlatformMBeanServer().invoke(
				new ObjectName("com.sun.management:type=DiagnosticCommand"),
				"vmNativeMemory", new Object[] {new String[] {"summary"}},
				new String[] {String[].class.getName()});
		Matcher matcher = Pattern.compile("malloc=(\\d+)KB").matcher(text);
		long kilobytes = 0;
		while (matcher.find())
			kilobytes += Long.parseLong(matcher.group(1));
		return kilobytes * 1024;
	}

	private static void drop(int count) throws Exception {
		churn(classFile(), count);
		/*
		 * The first finds dead loaders, the second frees what was left to another
		 * thread.
		 */
		System.gc();
		System.gc();
		System.out.printf("{\"resident\": %d, \"allocated\": %d}%n", resident(), allocated());
	}

	// A class that stays

	private static Unsafe findUnsafe() throws ReflectiveOperationException {
		Field field = Unsafe.class.getDeclaredField("theUnsafe");
		field.setAccessible(true);
		return (Unsafe) field.get(null);
	}

	private static byte[] read(String path) throws IOException {
		ByteArrayOutputStream bytes = new ByteArrayOutputStream();
		try (InputStream from = Churn.class.getResourceAsStream(path)) {
			byte[] buffer = new byte[4096];
			for (int length = from.read(buffer); length > 0; length = from.read(buffer))
				bytes.write(buffer, 0, length);
		}
		return bytes.toByteArray();
	}

	private static Runnable load() throws Exception {
		Class<?> type = new Loader().define("Churn$Kept", read("Churn$Kept.class"));
		return (Runnable) type.getConstructor(Unsafe.class).newInstance(findUnsafe());
	}

	private static void keep(int count, int seconds) throws Exception {
		byte[] file = classFile();
		churn(file, count);
		Runnable kept = load();
		for (int turn = 0; turn < seconds * TURNS; turn++) {
			churn(file, CHURNED_BESIDE);
			for (int i = 0; i < RUNS; i++) {
				kept.run();
				Thread.sleep(1000 / TURNS / RUNS);
			}
			System.gc();
		}
	}

	public static void main(String[] arguments) throws Exception {
		switch (arguments[0]) {
		case "drop":
			drop(Integer.parseInt(arguments[1]));
			break;
		case "keep":
			keep(Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]));
			break;
		default:
			load().run();
			break;
		}
	}
}
