// SPDX-License-Identifier: Apache-2.0

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Reaches limits of the VM again and again, catches the errors, and prints what does not depend on
 * where they occurred.
 *
 * <pre>Limits stack|heap|direct|metaspace|code</pre>
 */
public final class Limits {
	private static volatile Object sink;

	private Limits() {
	}

	private static int dig(int depth) {
		int[] here = {depth, 1};
		sink = here;
		return dig(depth + 1) + here[1];
	}

	/** Overflows that occur while another exception's handler or a finally block runs. */
	private static void digAgain(int depth) {
		try {
			digAgain(depth + 1);
		} finally {
			sink = new byte[depth & 63];
		}
	}

	private static String stack() throws InterruptedException {
		int[] overflows = new int[1];
		Runnable work = () -> {
			for (int i = 0; i < 20; i++) {
				try {
					if ((i & 1) == 0)
						dig(0);
					else
						digAgain(0);
				} catch (StackOverflowError error) {
					synchronized (overflows) {
						overflows[0]++;
					}
				}
			}
		};
		work.run();
		for (long size = 160 << 10; size <= 1 << 20; size *= 2) {
			Thread[] threads = {new Thread(null, work, "a", size), new Thread(null, work, "b", size)};
			for (Thread thread : threads)
				thread.start();
			for (Thread thread : threads)
				thread.join();
		}
		return overflows[0] + " overflows";
	}

	private static String heap() {
		int errors = 0;
		for (int i = 0; i < 4; i++) {
			List<Object> kept = new ArrayList<>();
			try {
				while (true)
					kept.add(new byte[(64 << 10) << (kept.size() & 3)]);
			} catch (OutOfMemoryError error) {
				kept = null;
				errors++;
			}
		}
		return errors + " errors";
	}

	private static String direct() {
		int errors = 0;
		for (int i = 0; i < 3; i++) {
			List<ByteBuffer> kept = new ArrayList<>();
			try {
				while (true)
					kept.add(ByteBuffer.allocateDirect(1 << 20));
			} catch (OutOfMemoryError error) {
				kept = null;
				errors++;
			}
		}
		return errors + " errors";
	}

	public static final class Guest implements Runnable {
		@Override
		public void run() {
			sink = new StringBuilder("guest").append(hashCode()).toString();
		}
	}

	private static final class Loader extends ClassLoader {
		Class<?> define(byte[] bytes) {
			return defineClass("Limits$Guest", bytes, 0, bytes.length);
		}
	}

	/** Loaders whose classes are kept until the space for classes is full. */
	private static String metaspace() throws Exception {
		byte[] bytes;
		try (java.io.InputStream in = Limits.class.getResourceAsStream("Limits$Guest.class")) {
			bytes = in.readAllBytes();
		}
		int errors = 0;
		for (int i = 0; i < 2; i++) {
			List<Object> kept = new ArrayList<>();
			try {
				while (true) {
					Class<?> type = new Loader().define(bytes);
					((Runnable) type.getDeclaredConstructor().newInstance()).run();
					kept.add(type);
				}
			} catch (OutOfMemoryError error) {
				kept = null;
				errors++;
			}
		}
		return errors + " errors";
	}

	/** Many lambda forms and hot loops: compiled methods come and go. */
	private static String code() throws Throwable {
		Map<String, Long> sums = new HashMap<>();
		for (int round = 0; round < 60; round++) {
			Class<?> type = Class.forName("Limits$Guest", true, Limits.class.getClassLoader());
			java.lang.invoke.MethodHandle handle = java.lang.invoke.MethodHandles.lookup()
				.findVirtual(type, "run", java.lang.invoke.MethodType.methodType(void.class));
			for (int extra = 0; extra < round; extra++)
				handle = java.lang.invoke.MethodHandles.dropArguments(handle, 1, int.class);
			List<Object> values = new ArrayList<>();
			values.add(new Guest());
			for (int extra = 0; extra < round; extra++)
				values.add(extra);
			for (int turn = 0; turn < 300; turn++)
				handle.invokeWithArguments(values);
			for (int turn = 0; turn < 3000; turn++)
				sums.merge("k" + turn % 97, (long) turn * round, Long::sum);
		}
		return String.valueOf(new java.util.TreeMap<>(sums).hashCode());
	}

	public static void main(String[] arguments) throws Throwable {
		switch (arguments[0]) {
		case "stack":
			System.out.println(stack());
			break;
		case "heap":
			System.out.println(heap());
			break;
		case "direct":
			System.out.println(direct());
			break;
		case "metaspace":
			System.out.println(metaspace());
			break;
		default:
			System.out.println(code());
			break;
		}
	}
}
