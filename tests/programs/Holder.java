// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;

/**
 * Allocates all the time on a separate thread, and executes commands from stdin, one per line.
 *
 * <pre>
 * take      samples the Java heap with libholder.so, which must succeed
 * refused   the same, which must fail
 * give      releases the capability
 * </pre>
 *
 * After each command it creates a file named obeyed in the working directory.  Ends at the end
 * of stdin.
 */
public final class Holder {
	private static final int BYTES = 2048;

	private static volatile Object sink;
	private static volatile boolean stopping;

	private Holder() {
	}

	private static native boolean take();

	private static native void give();

	private static void allocate() {
		try {
			while (!stopping) {
				for (int i = 0; i < 5000; i++)
					sink = new byte[BYTES];
				Thread.sleep(5);
			}
		} catch (InterruptedException error) {
			throw new IllegalStateException(error);
		}
	}

	private static void expect(boolean expected) {
		if (take() == expected)
			return;
		System.err.println("take: " + !expected);
		System.exit(3);
	}

	private static void obey(String command) {
		if (command.equals("take"))
			expect(true);
		else if (command.equals("refused"))
			expect(false);
		else if (command.equals("give"))
			give();
	}

	public static void main(String[] arguments) throws IOException, InterruptedException {
		System.load(arguments[0]);
		Thread thread = new Thread(Holder::allocate, "first");
		thread.start();
		BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
		for (String line = commands.readLine(); line != null; line = commands.readLine()) {
			obey(line);
			new File("obeyed").createNewFile();
		}
		stopping = true;
		thread.join();
	}
}
