// SPDX-License-Identifier: Apache-2.0

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;

/**
 * Takes things from the VM in C (libtakes.so) and gives them back, or forgets to: one function of C for
 * each kind, all in turn, every 5 ms.
 *
 * <pre>
 * Ledger LIBRARY STEPS MODE,... [COMMAND... [-- COMMAND...]...]
 * </pre>
 *
 * <pre>
 * leak, clean  takes all kinds, STEPS times; prints the longest step, as JSON
 * references   creates references at once: 1,000 global and 500 weak ones
 * threads      has ten threads attach and end without detaching
 * pairs        takes and gives back STEPS thousand global references, arrays, strings; prints the CPU
 *              time, as JSON
 * run          executes the next COMMAND, in which the word PID is the process id
 * </pre>
 *
 * Ends the VM without waiting for threads.
 */
public final class Ledger {
	private static final List<Object> BUFFERS = new ArrayList<>();
	private static volatile Object sink;

	private Ledger() {
	}

	static native void global(Object object, boolean leaking);

	private static native void weak(Object object, boolean leaking);

	private static native void elements(byte[] bytes, boolean leaking);

	private static native void commit(int[] numbers, boolean leaking);

	private static native void chars(String text, boolean leaking);

	private static native void utf(String text, boolean leaking);

	private static native void critical(byte[] bytes, boolean leaking);

	private static native void stringCritical(String text, boolean leaking);

	private static native void monitor(Object object, boolean leaking);

	private static native ByteBuffer direct();

	static native void cached(Object object);

	private static native void once(Object object);

	private static native void startLocals(Object object, boolean leaking);

	private static native void references(Object object, int globals, int weaks);

	private static native void threads(int count, boolean leaking);

	private static native double pairs(Object object, int kind, int count);

	private static void step(int number, boolean leaking) {
		byte[] bytes = new byte[100];
		String text = "step " + number;

		global(new int[10], leaking);
		weak(text, leaking);
		elements(bytes, leaking);
		commit(new int[10], leaking);
		chars(text, leaking);
		utf(text, leaking);
		monitor(new Object(), leaking);
		cached(text);
		ByteBuffer buffer = direct();
		if (leaking)
			BUFFERS.add(buffer);
		critical(bytes, leaking && number % 50 == 20);
		stringCritical(text, leaking && number % 50 == 40);
		if (number % 20 == 0)
			System.gc();
		sink = new byte[1 << 16];
	}

	private static void takeAll(int steps, boolean leaking) throws InterruptedException {
		for (int i = 0; i < 20; i++)
			once("kept");
		startLocals("local", leaking);
		threads(leaking ? 10 : 1, leaking);
		/* Loads the classes for it: the program must end soon after the last step. */
		pace(0, 0);
		long longest = 0;
		long begun = System.nanoTime();
		for (int i = 0; i < steps; i++) {
			long before = System.nanoTime();
			step(i, leaking);
			Thread.sleep(5);
			longest = Math.max(longest, System.nanoTime() - before);
		}
		System.out.print(pace(longest, System.nanoTime() - begun));
	}

	private static String pace(long longest, long total) {
		return String.format("{\"longest_ms\": %d, \"total_ms\": %d}%n", longest / 1_000_000,
				total / 1_000_000);
	}

	private static void measurePairs(int thousands) {
		Object[] objects = {"object", new byte[64], "text", new byte[64]};
		String[] names = {"global", "elements", "utf", "critical"};

		for (int i = 0; i < names.length; i++)
			System.out.printf("{\"pair\": \"%s\", \"ns\": %.1f}%n", names[i],
					pairs(objects[i], i, thousands * 1000));
	}

	private static void execute(Iterator<String> words) throws Exception {
		List<String> command = new ArrayList<>();

		while (words.hasNext()) {
			String word = words.next();
			if (word.equals("--"))
				break;
			command.add(word.equals("PID") ? "" + ProcessHandle.current().pid() : word);
		}
		new ProcessBuilder(command).inheritIO().start().waitFor();
	}

	public static void main(String[] arguments) throws Exception {
		int steps = Integer.parseInt(arguments[1]);
		Iterator<String> words = Arrays.asList(arguments).subList(3, arguments.length).iterator();

		System.load(arguments[0]);
		for (String mode : arguments[2].split(",")) {
			if (mode.equals("references"))
				references("object", 1000, 500);
			else if (mode.equals("threads"))
				threads(10, true);
			else if (mode.equals("pairs"))
				measurePairs(steps);
			else if (mode.equals("run"))
				execute(words);
			else
				takeAll(steps, mode.equals("leak"));
		}
		/* Not all threads of C have detached. */
		Runtime.getRuntime().halt(0);
	}
}
