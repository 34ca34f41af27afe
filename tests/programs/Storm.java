// SPDX-License-Identifier: Apache-2.0

import java.io.File;
import java.io.InputStream;
import java.util.zip.Deflater;

/**
 * Runs until the file "stop" exists in the current directory: one thread defines classes in loaders
 * that are dropped at once, one starts short-lived threads, one allocates in both heaps.
 */
public final class Storm {
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
		byte[] code = code();
		Thread[] threads = {new Thread(() -> define(code)), new Thread(Storm::start)};
		for (Thread thread : threads)
			thread.start();
		while (!new File("stop").exists())
			for (int i = 0; i < 100; i++)
				allocate();
		isOver = true;
		for (Thread thread : threads)
			thread.join();
		System.out.println("done");
	}
}
