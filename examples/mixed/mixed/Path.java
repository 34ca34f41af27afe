// SPDX-License-Identifier: Apache-2.0
package mixed;

/** A call path Java, C, Java, C, Java, C; see path.c. */
final class Path {
	/** Blocks, and arrays, that one walk down the path allocates. */
	static final int ROUNDS = 16;
	static final int BLOCK_BYTES = 1024;

	/** The functions on the path, root first, up to the one that allocates. */
	static final String[] FRAMES = {"mixed.Path.first", "mixed.Path.enterOne",
			"Java_mixed_Path_enterOne", "mixed_path_one", "mixed.Path.second",
			"mixed.Path.enterTwo", "Java_mixed_Path_enterTwo", "mixed_path_two",
			"mixed.Path.third", "mixed.Path.enterThree", "Java_mixed_Path_enterThree",
			"mixed_path_three"};

	private Path() {
	}

	static void first() {
		enterOne();
	}

	private static void second() {
		enterTwo();
	}

	private static void third() {
		enterThree(ROUNDS);
	}

	private static native void enterOne();

	private static native void enterTwo();

	private static native void enterThree(int rounds);
}
