// SPDX-License-Identifier: Apache-2.0
package leaks;

/** libleak.so: memory owned by C. */
final class Native {
	static {
		System.loadLibrary("leak");
	}

	private Native() {
	}

	/** Allocates a block with malloc() and returns its address. */
	static native long allocate(long bytes);

	static native void free(long address);

	/**
	 * Takes 64 KB from an arena that maps its chunks, writes to all of it, and returns the
	 * address.
	 */
	static native long takePiece();

	static native void givePiece(long address);

	/** The length of a string, measured in a copy that is released if `release`. */
	static native long length(String text, boolean release);

	/** A global reference, to be passed to deleteReference(). */
	static native long newReference(Object object);

	static native void deleteReference(long reference);

	/**
	 * Asks the profiler that records this process to write pending data, deaths included.
	 * True if it has, or if no profiler records.
	 */
	static native boolean flushRecording();
}
