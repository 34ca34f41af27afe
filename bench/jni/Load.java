// SPDX-License-Identifier: Apache-2.0

import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import sun.misc.Unsafe;

/**
 * A load on both heaps: blocks of 64 bytes to 1 MiB that C allocates, grows and frees, calls from
 * C back into Java which allocate there, Unsafe, direct buffers, Java arrays.
 *
 * <pre>
 * Load THREADS ROUNDS
 * </pre>
 *
 * The work is fixed; prints a checksum of it, the same for the same arguments.
 */
public final class Load {
	private static final int BLOCKS = 64;
	private static final int ARRAYS = 200;
	private static final Unsafe UNSAFE = unsafe();

	private long checksum;
	private long random;

	private Load(long seed) {
		random = seed * 0x9e3779b97f4a7c15L | 1;
	}

	/** Allocates, grows and frees `blocks` blocks, calling {@link #back} on the way. */
	private native long blocks(long seed, int blocks);

	/** Called from C. */
	private int back(int size) {
		byte[] bytes = new byte[size & 1023];
		bytes[bytes.length / 2 & ~1] |= 1;
		return bytes.length;
	}

	private long next() {
		random ^= random << 13;
		random ^= random >>> 7;
		random ^= random << 17;
		return random;
	}

	private void round() {
		checksum += blocks(next(), BLOCKS);
		for (int i = 0; i < ARRAYS; i++) {
			byte[] bytes = new byte[16 << (next() & 7)];
			bytes[bytes.length - 1] = (byte) i;
			checksum += bytes.length + bytes[bytes.length - 1];
		}
		long address = UNSAFE.allocateMemory(4096);
		UNSAFE.putLong(address, checksum);
		checksum += UNSAFE.getLong(address) & 7;
		UNSAFE.freeMemory(address);
		if ((next() & 15) == 0)
			checksum += ByteBuffer.allocateDirect(8192).putInt(0, 7).getInt(0);
	}

	private static Unsafe unsafe() {
		try {
			Field field = Unsafe.class.getDeclaredField("theUnsafe");
			field.setAccessible(true);
			return (Unsafe) field.get(null);
		} catch (ReflectiveOperationException error) {
			throw new IllegalStateException(error);
		}
	}

	public static void main(String[] arguments) throws Exception {
		System.loadLibrary("load");
		int rounds = Integer.parseInt(arguments[1]);
		Thread[] threads = new Thread[Integer.parseInt(arguments[0])];
		Load[] loads = new Load[threads.length];
		for (int i = 0; i < threads.length; i++) {
			Load load = loads[i] = new Load(i + 1);
			threads[i] = new Thread(() -> {
				for (int round = 0; round < rounds; round++)
					load.round();
			}, "load-" + i);
			threads[i].start();
		}
		long checksum = 0;
		for (int i = 0; i < threads.length; i++) {
			threads[i].join();
			checksum += loads[i].checksum;
		}
		System.out.println("checksum " + checksum);
	}
}
