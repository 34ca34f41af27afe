// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.Deflater;

/**
 * Opens a Deflater every 4 ms for so many seconds and keeps all of them; a shutdown hook ends
 * them. Then the program ends in the given way: main returns, System.exit() is called, or it gets
 * SIGTERM.
 *
 * <pre>Closes return|exit|signal SECONDS</pre>
 */
public final class Closes {
	private static final List<Deflater> OPEN = new ArrayList<>();

	private Closes() {
	}

	static synchronized void open() {
		OPEN.add(new Deflater());
	}

	private static synchronized void close() {
		for (Deflater deflater : OPEN)
			deflater.end();
	}

	public static void main(String[] arguments) throws IOException,
			InterruptedException {
		long end = System.nanoTime() + (long) (Double.parseDouble(arguments[1]) * 1e9);

		Runtime.getRuntime().addShutdownHook(new Thread(Closes::close, "closer"));
		while (System.nanoTime() < end) {
			open();
			Thread.sleep(4);
		}
		if (arguments[0].equals("exit"))
			System.exit(0);
		if (arguments[0].equals("signal")) {
			String self = Long.toString(ProcessHandle.current().pid());

			new ProcessBuilder("kill", "-TERM", self).start();
			Thread.sleep(60000);
		}
	}
}
