// SPDX-License-Identifier: Apache-2.0
package services;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Runs one service with its load.
 *
 * <pre>services.Main [--seconds S] SERVICE leak|clean</pre>
 *
 * Prints one JSON object per line: every fifth of the time what is in memory, and at the end what
 * has leaked and how many steps ran.  The service is closed by a shutdown hook, as services are
 * that a signal ends.  Exits with status 3 if a class is missing or of a newer
 * release than the runtime.
 */
public final class Main {
	private static final int STATUS_CLASS_MISSING = 3;
	private static final int TIMES = 5;
	private static final double SECONDS_DEFAULT = 60;
	private static final Map<String, Supplier<Service>> TABLE = new LinkedHashMap<>();

	static {
		TABLE.put("gateway", Gateway::new);
		TABLE.put("broker", Broker::new);
		TABLE.put("state", State::new);
		TABLE.put("search", Search::new);
		TABLE.put("accounts", Accounts::new);
		TABLE.put("inference", Inference::new);
		TABLE.put("web", Web::new);
		TABLE.put("pipeline", Pipeline::new);
		TABLE.put("tenants", Tenants::new);
		TABLE.put("plugins", Plugins::new);
		TABLE.put("stores", Stores::new);
		TABLE.put("catalog", Catalog::new);
		TABLE.put("relay", Relay::new);
		TABLE.put("flood", () -> new Rate(5e9));
		TABLE.put("drip", () -> new Rate(20e6));
		TABLE.put("brief", () -> new Rate(200e6));
	}

	private Main() {
	}

	public static void main(String[] arguments) throws Exception {
		int next = 0;
		double seconds = SECONDS_DEFAULT;
		if (arguments.length > 2 && arguments[0].equals("--seconds")) {
			seconds = Double.parseDouble(arguments[1]);
			next = 2;
		}
		if (arguments.length != next + 2 || !TABLE.containsKey(arguments[next])) {
			System.err.println("usage: services.Main [--seconds S] SERVICE leak|clean");
			System.exit(2);
		}
		try {
			run(arguments[next], seconds, new Leaks(arguments[next + 1].equals("leak")));
		} catch (LinkageError error) {
			System.err.println(error);
			System.exit(STATUS_CLASS_MISSING);
		} catch (Exception error) {
			error.printStackTrace();
			System.exit(1);
		}
		/* Libraries leave threads behind that are no daemons. */
		System.exit(0);
	}

	private static void run(String name, double seconds, Leaks leaks) throws Exception {
		Load load = new Load(seconds);
		Service service = TABLE.get(name).get();
		Runtime.getRuntime().addShutdownHook(
				new Thread(() -> close(service, load), "service-shutdown"));
		service.start(load, leaks);
		load.await(TIMES, () -> System.out.println(Memory.tell(load.share())));
		leaks.tell();
		System.out.println(load.tell());
	}

	private static void close(Service service, Load load) {
		try {
			load.stop();
			service.close();
		} catch (Exception error) {
			error.printStackTrace();
		}
	}
}
