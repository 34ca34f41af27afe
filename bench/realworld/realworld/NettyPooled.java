// SPDX-License-Identifier: Apache-2.0
package realworld;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import leaks.Pace;
import leaks.Program;
import leaks.Truth;

/** The same with Netty's pool, which keeps allocating new chunks. */
public final class NettyPooled implements Program {
	private static final int MESSAGES = 4000;
	private static final int BYTES = 20_000;
	/** Chunk size of the pool, and the size to which it rounds 20,000 bytes. */
	private static final int CHUNK_BYTES = 4 << 20;
	private static final int ROUNDED_BYTES = 20_480;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		PooledByteBufAllocator allocator = new PooledByteBufAllocator(true);
		pace.run(MESSAGES, step -> receive(allocator, step, leaking));
		if (leaking) {
			int buffersPerChunk = CHUNK_BYTES / ROUNDED_BYTES;
			long chunks = (MESSAGES + buffersPerChunk - 1) / buffersPerChunk;
			Truth.leak("native", "realworld.NettyPooled.receive", chunks * CHUNK_BYTES, chunks);
		}
	}

	private static void receive(PooledByteBufAllocator allocator, int step, boolean leaking) {
		ByteBuf buffer = allocator.directBuffer(BYTES);
		for (int i = 0; i < BYTES / 4; i++)
			buffer.writeInt(step);
		if (!leaking)
			buffer.release();
	}
}
