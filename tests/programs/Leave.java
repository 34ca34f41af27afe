// SPDX-License-Identifier: Apache-2.0

/**
 * Allocates COUNT arrays of 4 KiB while another thread allocates too, and ends in the given
 * way, with status 7.
 *
 * <pre>Leave exit|halt|throw|hook COUNT</pre>
 */
public final class Leave {
	private static final int STATUS = 7;

	static volatile Object sink;

	private Leave() {
	}

	private static byte[] block() {
		return new byte[4096];
	}

	private static void allocate(int count) {
		for (int i = 0; i < count; i++)
			sink = block();
	}

	private static void leave(String way) {
		switch (way) {
		case "exit":
			System.exit(STATUS);
			break;
		case "halt":
			Runtime.getRuntime().halt(STATUS);
			break;
		case "hook":
			Runtime.getRuntime().addShutdownHook(new Thread(() -> allocate(1000)));
			System.exit(STATUS);
			break;
		default:
			throw new IllegalStateException("told to");
		}
	}

	public static void main(String[] arguments) {
		Thread other = new Thread(() -> {
			while (true)
				sink = block();
		}, "other");
		other.setDaemon(true);
		other.start();
		allocate(Integer.parseInt(arguments[1]));
		leave(arguments[0]);
	}
}
