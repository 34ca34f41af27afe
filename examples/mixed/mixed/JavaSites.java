// SPDX-License-Identifier: Apache-2.0
package mixed;

import java.lang.reflect.Field;

import sun.misc.Unsafe;

/**
 * Java allocation sites: one method per size, each allocates one byte array that takes exactly
 * that many bytes of the heap, header included.
 */
final class JavaSites {
	static final Unsafe UNSAFE = findUnsafe();

	/** Bytes of an array's header: 12, 16 or 24, depending on the VM and its options. */
	private static final int HEADER = UNSAFE.arrayBaseOffset(byte[].class);

	/** The last allocation of a site: one store per object, which no compiler may omit. */
	static final class Sink {
		volatile Object value;
	}

	private JavaSites() {
	}

	private static Unsafe findUnsafe() {
		try {
			Field field = Unsafe.class.getDeclaredField("theUnsafe");
			field.setAccessible(true);
			return (Unsafe) field.get(null);
		} catch (ReflectiveOperationException error) {
			throw new ExceptionInInitializerError(error);
		}
	}

	/**
	 * Length of a byte array that takes `bytes` of the heap, or the nearest possible size.
	 */
	static int length(int bytes) {
		return Math.max(0, bytes - HEADER);
	}

	/** Bytes of the heap that a byte array of that length takes. */
	static long heapBytes(int length) {
		return (HEADER + length + 7L) & ~7L;
	}

	static String name(int size) {
		return "mixed.JavaSites.array" + size;
	}

	/** Runs the site of this size. */
	static byte[] allocate(int size) {
		switch (size) {
		case 16:
			return array16();
		case 32:
			return array32();
		case 64:
			return array64();
		case 128:
			return array128();
		case 200:
			return array200();
		case 1024:
			return array1024();
		case 1400:
			return array1400();
		case 2048:
			return array2048();
		case 4096:
			return array4096();
		case 8192:
			return array8192();
		case 65536:
			return array65536();
		case 98304:
			return array98304();
		case 131072:
			return array131072();
		case 262144:
			return array262144();
		case 300000:
			return array300000();
		case 524288:
			return array524288();
		case 1048576:
			return array1048576();
		case 4194304:
			return array4194304();
		default:
			throw new IllegalArgumentException("no Java site of " + size + " bytes");
		}
	}

	private static byte[] array16() {
		return new byte[length(16)];
	}

	private static byte[] array32() {
		return new byte[length(32)];
	}

	private static byte[] array64() {
		return new byte[length(64)];
	}

	private static byte[] array128() {
		return new byte[length(128)];
	}

	private static byte[] array200() {
		return new byte[length(200)];
	}

	private static byte[] array1024() {
		return new byte[length(1024)];
	}

	private static byte[] array1400() {
		return new byte[length(1400)];
	}

	private static byte[] array2048() {
		return new byte[length(2048)];
	}

	private static byte[] array4096() {
		return new byte[length(4096)];
	}

	private static byte[] array8192() {
		return new byte[length(8192)];
	}

	private static byte[] array65536() {
		return new byte[length(65536)];
	}

	private static byte[] array98304() {
		return new byte[length(98304)];
	}

	private static byte[] array131072() {
		return new byte[length(131072)];
	}

	private static byte[] array262144() {
		return new byte[length(262144)];
	}

	private static byte[] array300000() {
		return new byte[length(300000)];
	}

	private static byte[] array524288() {
		return new byte[length(524288)];
	}

	private static byte[] array1048576() {
		return new byte[length(1048576)];
	}

	private static byte[] array4194304() {
		return new byte[length(4194304)];
	}

	static byte[] twinLeft() {
		return new byte[length(1024)];
	}

	static byte[] twinRight() {
		return new byte[length(1024)];
	}

	/** Allocates 4 KiB below `levels` + 1 frames of this method. */
	static byte[] deep(int levels) {
		return levels > 0 ? deep(levels - 1) : deepest();
	}

	/**
	 * A separate method, because the VM itself allocates at other levels when it decides to
	 * compile.
	 */
	private static byte[] deepest() {
		return new byte[length(4096)];
	}
}
