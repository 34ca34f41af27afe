// SPDX-License-Identifier: Apache-2.0
package mixed;

/** A class whose initializer runs native code: there the VM itself calls Java. */
final class Initializer {
	static final int BLOCK_BYTES = 1024;

	/** How often the initializer allocates; set before the class is first used. */
	static final class Rounds {
		static volatile long value;

		private Rounds() {
		}
	}

	/** The functions on the path to the block, root first. */
	static final String[] FRAMES = {"mixed.Initializer.<clinit>", "mixed.Initializer.fill",
			"Java_mixed_Initializer_fill", "mixed_initializer_block"};

	static final boolean DONE;

	static {
		fill(Rounds.value);
		DONE = true;
	}

	private Initializer() {
	}

	private static native void fill(long rounds);
}
