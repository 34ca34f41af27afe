// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * Direct buffers kept by a registry.  In the clean variant they come from a small pool and are
 * returned.
 */
final class DirectBuffers implements Program {
	private static final int BUFFERS = 2000;
	private static final int BUFFER_BYTES = 40_000;
	private static final int POOLED = 100;

	private final List<ByteBuffer> kept = new ArrayList<>();
	private final Deque<ByteBuffer> pool = new ArrayDeque<>();
	private final Deque<ByteBuffer> lent = new ArrayDeque<>();

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		pace.run(BUFFERS, step -> {
			if (leaking)
				kept.add(create());
			else
				exchange();
		});
		if (leaking)
			Truth.leak("native", "leaks.DirectBuffers.create",
					(long) BUFFERS * BUFFER_BYTES, BUFFERS);
	}

	private static ByteBuffer create() {
		return ByteBuffer.allocateDirect(BUFFER_BYTES);
	}

	/** Takes one from the pool, which grows when it is empty, and returns the oldest. */
	private void exchange() {
		ByteBuffer buffer = pool.poll();
		lent.add(buffer != null ? buffer : create());
		if (lent.size() > POOLED)
			pool.add(lent.remove().clear());
	}
}
