// SPDX-License-Identifier: Apache-2.0
package mixed;

import java.nio.ByteBuffer;

/** Native allocation sites: those in C by name, and those that Java code reaches itself. */
final class NativeSites {
	private NativeSites() {
	}

	/** Bytes, and blocks, that one call of a C function of sites.c allocates. */
	static native long bytesPerCall(String function);

	static native long blocksPerCall(String function);

	/**
	 * Runs C functions of sites.c in turn, `rounds` times, and frees what they allocate, except
	 * every `keepEvery`th block of each; 0 keeps none.
	 */
	static native void runSites(String[] functions, long rounds, long keepEvery);

	/** A byte array allocated by C, in mixed_new_byte_array(). */
	static native byte[] newByteArray(int length);

	/** Gets and releases the characters of a string, in mixed_string_chars(). */
	static native void stringChars(String text, long rounds);

	static void unsafeBlock(long bytes) {
		long address = JavaSites.UNSAFE.allocateMemory(bytes);
		JavaSites.UNSAFE.freeMemory(address);
	}

	/** A direct buffer, freed at once rather than after a collection. */
	static void directBuffer(int bytes) {
		ByteBuffer buffer = ByteBuffer.allocateDirect(bytes);
		JavaSites.UNSAFE.invokeCleaner(buffer);
	}
}
