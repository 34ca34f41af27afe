// SPDX-License-Identifier: Apache-2.0
package realworld;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import leaks.Pace;
import leaks.Program;
import leaks.Truth;

/** Direct buffers of Netty that are never released. */
public final class NettyBuffers implements Program {
	private static final int MESSAGES = 4000;
	private static final int BYTES = 20_000;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true, true, true);
		pace.run(MESSAGES, step -> receive(allocator, step, leaking));
		if (leaking)
			Truth.leak("native", "realworld.NettyBuffers.receive",
					(long) MESSAGES * BYTES, MESSAGES);
	}

	private static void receive(UnpooledByteBufAllocator allocator, int step, boolean leaking) {
		ByteBuf buffer = allocator.directBuffer(BYTES);
		for (int i = 0; i < BYTES / 4; i++)
			buffer.writeInt(step);
		if (buffer.getInt(BYTES - 4) != step)
			throw new IllegalStateException("not what was written");
		if (!leaking)
			buffer.release();
	}
}
