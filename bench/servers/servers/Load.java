// SPDX-License-Identifier: Apache-2.0
package servers;

/**
 * The clients of a server, in a process of their own.
 *
 * <pre>
 * servers.Load requests|tls-requests|records|events PORT PER-SECOND WARM-UP SECONDS
 * </pre>
 *
 * Prints {@code warm} and {@code end} when the measured time begins and ends, then a JSON object
 * about the requests that were due in it; latencies in ns.
 */
public final class Load {
	/** The name that clients ask for. */
	static final String HOST = "servers.example";

	/** Connected clients. */
	interface Clients {
		/** Starts the threads that send, and those that receive. */
		void start(OpenLoop loop);
	}

	private Load() {
	}

	public static void main(String[] arguments) throws Exception {
		Thread.setDefaultUncaughtExceptionHandler((thread, error) -> fail(error));
		Clients clients = connect(arguments[0], Integer.parseInt(arguments[1]));
		OpenLoop loop = new OpenLoop(Double.parseDouble(arguments[2]),
				Double.parseDouble(arguments[3]), Double.parseDouble(arguments[4]));
		loop.begin();
		clients.start(loop);
		loop.awaitWarm();
		System.out.println("warm");
		loop.awaitEnd();
		System.out.println("end");
		System.out.println(loop.tell());
		Runtime.getRuntime().halt(0);
	}

	private static Clients connect(String kind, int port) throws Exception {
		switch (kind) {
		case "requests":
			return new Requests(port, false);
		case "tls-requests":
			return new Requests(port, true);
		case "records":
			return new Records(port);
		case "events":
			return new Events(port);
		default:
			throw new IllegalArgumentException(kind);
		}
	}

	interface Step {
		void run() throws Exception;
	}

	/** A thread that may fail: the process ends then. */
	static void start(String name, Step step) {
		Thread thread = new Thread(() -> {
			try {
				step.run();
			} catch (Exception error) {
				fail(error);
			}
		}, name);
		thread.setDaemon(true);
		thread.start();
	}

	private static void fail(Throwable error) {
		error.printStackTrace();
		Runtime.getRuntime().halt(1);
	}
}
