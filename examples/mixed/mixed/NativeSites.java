// SPDX-License-Identifier: Apache-2.0
package mixed;

import java.nio.ByteBuffer;

/** Native allocation sites: those in C by name, and those that Java code reaches by itself. */
final class NativeSites {
	private NativeSites() {
	}

	/** Bytes, and blocks, that one call of a C function of sites.c asks for. */
	static native long bytesPerCall(String function);

	static native long blocksPerCall(String function);

	/**
	 * Runs C functions of sites.c in turn, `rounds` times, and frees what they allocate, except
	 * every `keepEvery`th block of each; 0 keeps none.
	 */
	static native void runSites(String[] functions, long rounds, long keepEvery);

	/** A byte array that C asks for, through mixed_new_byte_array(). */
	static native byte[] newByteArray(int length);

	/** Takes and gives back the characters of a string, in mixed_string_chars(). */
	static native void stringChars(String text, long rounds);

	static void unsafeBlock(long bytes) {
		long address = JavaSites.UNSAFE.allocateMemory(bytes);
		JavaSites.UNSAFE.freeMemory(address);
	}

	/** A direct buffer, given back at once and not when a collection finds it. */
	static void directBuffer(int bytes) {
		ByteBuffer buffer = ByteBuffer.allocateDirect(bytes);
		JavaSites.UNSAFE.invokeCleaner(buffer);
	}
}
