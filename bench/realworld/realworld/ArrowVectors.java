// SPDX-License-Identifier: Apache-2.0
package realworld;

import leaks.Pace;
import leaks.Program;
import leaks.Truth;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.IntVector;

/** Vectors of Arrow that are not closed. */
public final class ArrowVectors implements Program {
	private static final int VECTORS = 1000;
	private static final int VALUES = 10_000;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		RootAllocator allocator = new RootAllocator();
		pace.run(VECTORS, step -> fill(allocator, leaking));
		if (leaking)
			Truth.leak("native", "realworld.ArrowVectors.fill", Truth.UNKNOWN, Truth.UNKNOWN);
	}

	private static void fill(RootAllocator allocator, boolean leaking) {
		IntVector vector = new IntVector("numbers", allocator);
		vector.allocateNew(VALUES);
		for (int i = 0; i < VALUES; i++)
			vector.set(i, i);
		vector.setValueCount(VALUES);
		if (vector.get(VALUES - 1) != VALUES - 1)
			throw new IllegalStateException("not what was written");
		if (!leaking)
			vector.close();
	}
}
