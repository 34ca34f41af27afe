// SPDX-License-Identifier: Apache-2.0
package leaks;

/** libleak.so: memory whose owner is C. */
final class Native {
	static {
		System.loadLibrary("leak");
	}

	private Native() {
	}

	/** A block of malloc(); its address. */
	static native long allocate(long bytes);

	static native void free(long address);

	/** 64 KB from an arena that maps its chunks, all of it written to; its address. */
	static native long takePiece();

	static native void givePiece(long address);

	/** The length of a string, found in a copy that is given back or is not. */
	static native long length(String text, boolean release);

	/** A global reference; what deleteReference() takes. */
	static native long newReference(Object object);

	static native void deleteReference(long reference);

	/**
	 * Lets the profiler that records this process write what it knows by now, as of deaths. True if
	 * it has, or if none records.
	 */
	static native boolean flushRecording();
}
