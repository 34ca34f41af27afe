// SPDX-License-Identifier: Apache-2.0

/** Loads a library, which takes a while, and allocates in its first native method. */
public final class SlowLoad {
	private SlowLoad() {
	}

	private static native void allocate();

	public static void main(String[] arguments) {
		System.load(arguments[0]);
		allocate();
	}
}
