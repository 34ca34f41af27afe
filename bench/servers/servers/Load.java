// SPDX-License-Identifier: Apache-2.0
package servers;

import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * The clients of a server, in a process of their own.
 *
 * <pre>
 * servers.Load requests|tls-requests|records|events PORT PER-SECOND
 * </pre>
 *
 * Prints {@code ready} when they are connected.  Reads {@code warm SECONDS} or
 * {@code turn SECONDS}, sends requests for so long, and prints {@code done}.  At the end of input
 * prints a JSON object about all requests of turns; latencies in ns.
 */
public final class Load {
	/** The name that clients ask for. */
	static final String HOST = "servers.example";

	interface Step {
		void run() throws Exception;
	}

	private Load() {
	}

	public static void main(String[] arguments) throws Exception {
		int port = Integer.parseInt(arguments[1]);
		double perSecond = Double.parseDouble(arguments[2]);
		OpenLoop loop = connect(arguments[0], port, perSecond);
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		System.out.println("ready");
		for (String line = in.readLine(); line != null; line = in.readLine()) {
			String[] words = line.split(" ");
			loop.run(Double.parseDouble(words[1]), words[0].equals("turn"));
			System.out.println("done");
		}
		System.out.println(loop.tell());
		Runtime.getRuntime().halt(0);
	}

	private static OpenLoop connect(String kind, int port, double perSecond) throws Exception {
		switch (kind) {
		case "requests":
			return new OpenLoop(perSecond, new Requests(port, false));
		case "tls-requests":
			return new OpenLoop(perSecond, new Requests(port, true));
		case "records":
			Records records = new Records(port);
			OpenLoop loop = new OpenLoop(perSecond, records);
			start("consumer", () -> records.consume(loop));
			return loop;
		case "events":
			Events events = new Events(port);
			OpenLoop lines = new OpenLoop(perSecond, events);
			start("receiver", () -> events.receive(lines));
			return lines;
		default:
			throw new IllegalArgumentException(kind);
		}
	}

	/** A thread whose failure ends the process. */
	static void start(String name, Step step) {
		Thread thread = new Thread(() -> {
			try {
				step.run();
			} catch (Throwable error) {
				error.printStackTrace();
				Runtime.getRuntime().halt(1);
			}
		}, name);
		thread.setDaemon(true);
		thread.start();
	}
}
