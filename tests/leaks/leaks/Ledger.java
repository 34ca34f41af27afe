// SPDX-License-Identifier: Apache-2.0
package leaks;

/**
 * libledger.so, if preloaded (-Dledger=PATH): the C heap memory allocated by the steps of a
 * program and not freed, counted block by block.  It provides the true figures for what a
 * library allocates internally.
 */
final class Ledger {
	private static final String PATH = System.getProperty("ledger");

	static {
		if (PATH != null)
			System.load(PATH);
	}

	private Ledger() {
	}

	/** Allocations of this thread belong to a step from here on. */
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
