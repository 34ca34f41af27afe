// SPDX-License-Identifier: Apache-2.0
package leaks;

import com.sun.jna.Memory;
import java.util.ArrayList;
import java.util.List;

/** 400 KB of native memory of JNA for each call, which are kept; the clean twin reuses ten. */
final class JnaMemory implements Program {
	private static final int CALLS = 600;
	private static final int BYTES = 400_000;
	private static final int REUSED = 10;

	private final List<Memory> blocks = new ArrayList<>();

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		for (int i = 0; i < REUSED && !leaking; i++)
			blocks.add(allocate());
		pace.run(CALLS, step -> {
			if (leaking)
				blocks.add(allocate());
			blocks.get(step % blocks.size()).setInt(0, step);
		});
		if (leaking)
			Truth.leak("native", "leaks.JnaMemory.allocate", (long) CALLS * BYTES, CALLS);
	}

	private static Memory allocate() {
		return new Memory(BYTES);
	}
}
