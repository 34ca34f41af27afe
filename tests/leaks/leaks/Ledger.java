// SPDX-License-Identifier: Apache-2.0
package leaks;

/**
 * libledger.so, where it is preloaded (-Dledger=PATH tells): what the steps of a program asked
 * the C heap for and have not given back, counted block by block. It makes known what a library
 * allocates on its own account.
 */
final class Ledger {
	private static final String PATH = System.getProperty("ledger");

	static {
		if (PATH != null)
			System.load(PATH);
	}

	private Ledger() {
	}

	/** What this thread allocates from here on belongs to a step. */
	static void enter() {
		if (PATH != null)
			open();
	}

	static void leave() {
		if (PATH != null)
			shut();
	}

	/** {@link Truth#UNKNOWN} without the library. */
	static long bytes() {
		return PATH != null ? countBytes() : Truth.UNKNOWN;
	}

	static long objects() {
		return PATH != null ? countObjects() : Truth.UNKNOWN;
	}

	private static native void open();

	private static native void shut();

	private static native long countBytes();

	private static native long countObjects();
}
