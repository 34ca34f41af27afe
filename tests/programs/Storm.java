// SPDX-License-Identifier: Apache-2.0

import java.io.File;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.Deflater;

/**
 * Runs until the file "stop" exists in the current directory: one thread defines classes in loaders
 * that are dropped at once, one starts short-lived threads, one allocates in both heaps. With the
 * argument "classes" four threads define classes, and nothing else is done. An error, such as an
 * OutOfMemoryError, ends it with status 3.
 */
public final class Storm {
	private static final int DEFINERS = 4;
	private static volatile Object sink;
	private static volatile boolean isOver;

	private Storm() {
	}

	/** The class that is defined again and again. */
	public static final class Small {
		private Small() {
		}
	}

	private static final class Loader extends ClassLoader {
		Loader() {
			super(null);
		}

		Class<?> define(byte[] code) {
			return defineClass("Storm$Small", code, 0, code.length);
		}
	}

	private static byte[] code() throws Exception {
		try (InputStream in = Storm.class.getResourceAsStream("Storm$Small.class")) {
			return in.readAllBytes();
		}
	}

	private static void define(byte[] code) {
		while (!isOver)
			for (int i = 0; i < 10; i++)
				sink = new Loader().define(code);
	}

	private static void fail(Throwable error) {
		System.err.println(error);
		Runtime.getRuntime().halt(3);
	}

	private static void start() {
		while (!isOver) {
			Thread thread = new Thread(Storm::allocate);
			thread.start();
			try {
				thread.join();
			} catch (InterruptedException e) {
				return;
			}
		}
	}

	private static void allocate() {
		Deflater deflater = new Deflater();
		sink = new byte[50_000];
		deflater.end();
	}

	public static void main(String[] arguments) throws Exception {
		boolean onlyClasses = arguments.length > 0 && arguments[0].equals("classes");
		byte[] code = code();
		List<Thread> threads = new ArrayList<>();
		Thread.setDefaultUncaughtExceptionHandler((thread, error) -> fail(error));
		for (int i = 0; i < (onlyClasses ? DEFINERS : 1); i++)
			threads.add(new Thread(() -> define(code)));
		if (!onlyClasses)
			threads.add(new Thread(Storm::start));
		for (Thread thread : threads)
			thread.start();
		while (!new File("stop").exists())
			if (onlyClasses)
				Thread.sleep(20);
			else
				for (int i = 0; i < 100; i++)
					allocate();
		isOver = true;
		for (Thread thread : threads)
			thread.join();
		System.out.println("done");
	}
}
