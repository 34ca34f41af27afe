// SPDX-License-Identifier: Apache-2.0

/**
 * Deep LIBRARY DEPTH COUNT [NESTED]: recurses to DEPTH, and allocates COUNT times at the bottom, in the
 * Java heap and by a native method in turn. With NESTED the call so many frames above the bottom is
 * made by native code. Prints what was allocated.
 */
public final class Deep {
	private static final int BYTES = 64;
	private static final int HEADER_BYTES = 16;
	private static volatile Object sink;
	private static int count;
	private static int nested;

	private Deep() {
	}

	static native void block(int bytes);

	static native void call(int depth);

	private static void array() {
		sink = new byte[BYTES - HEADER_BYTES];
	}

	static void recurse(int depth) {
		if (depth > 0 && depth == nested)
			call(depth - 1);
		else if (depth > 0)
			recurse(depth - 1);
		else
			for (int i = 0; i < count; i++) {
				array();
				block(BYTES);
			}
	}

	private static void print(String site, String heap) {
		System.out.printf("{\"site\": \"%s\", \"heap\": \"%s\", \"objects\": %d, \"bytes\": %d}%n",
				site, heap, count, (long) count * BYTES);
	}

	public static void main(String[] args) throws Exception {
		System.load(args[0]);
		int depth = Integer.parseInt(args[1]);
		count = Integer.parseInt(args[2]);
		nested = args.length > 3 ? Integer.parseInt(args[3]) : 0;
		Thread thread = new Thread(null, () -> recurse(depth), "deep", 1 << 28);
		thread.start();
		thread.join();
		print("Deep.array", "java");
		print("deep_block", "native");
	}
}
