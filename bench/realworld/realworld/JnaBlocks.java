// SPDX-License-Identifier: Apache-2.0
package realworld;

import com.sun.jna.Native;
import com.sun.jna.Pointer;
import leaks.Pace;
import leaks.Program;
import leaks.Truth;

/** Blocks of JNA's Native.malloc() that are not freed. */
public final class JnaBlocks implements Program {
	private static final int BLOCKS = 20_000;
	private static final int BYTES = 4000;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		pace.run(BLOCKS, step -> fill(step, leaking));
		if (leaking)
			Truth.leak("native", "realworld.JnaBlocks.fill", (long) BLOCKS * BYTES, BLOCKS);
	}

	private static void fill(int step, boolean leaking) {
		long address = Native.malloc(BYTES);
		Pointer block = new Pointer(address);
		block.setMemory(0, BYTES, (byte) step);
		if (block.getByte(BYTES - 1) != (byte) step)
			throw new IllegalStateException("not what was written");
		if (!leaking)
			Native.free(address);
	}
}
