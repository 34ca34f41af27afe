// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * A timed script of live memory in both heaps: grows, holds, drops a half, grows again, drops
 * all.  Prints after each step what is live until the next one.
 */
final class Timeline implements Program {
	private static final int[] BLOCKS = {4000, 8000, 3000, 10_000, 0};
	private static final int BLOCK_BYTES = 8000;

	private final Deque<byte[]> arrays = new ArrayDeque<>();
	private final Deque<Long> blocks = new ArrayDeque<>();

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		for (int count : BLOCKS) {
			resizeJava(count);
			resizeNative(count);
			/* A Java object is known to be dead only after a collection. */
			Truth.settle();
			Truth.live("java", "leaks.Timeline.createArray",
					count * Truth.arrayBytes(BLOCK_BYTES), count);
			/*
			 * The C function: below the Java method the VM allocates for itself as
			 * well.
			 */
			Truth.live("native", "leak_block", (long) count * BLOCK_BYTES, count);
		}
	}

	private void resizeJava(int count) {
		while (arrays.size() < count)
			arrays.add(createArray());
		while (arrays.size() > count)
			arrays.remove();
	}

	private void resizeNative(int count) {
		while (blocks.size() < count)
			blocks.add(createBlock());
		while (blocks.size() > count)
			Native.free(blocks.remove());
	}

	private static byte[] createArray() {
		return new byte[BLOCK_BYTES];
	}

	private static long createBlock() {
		return Native.allocate(BLOCK_BYTES);
	}
}
