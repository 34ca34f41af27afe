// SPDX-License-Identifier: Apache-2.0
package services;

import com.github.luben.zstd.ZstdCompressCtx;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * No leak: messages in pooled buffers of Netty are packed by pooled contexts of zstd.  Both pools
 * grow with the largest burst so far, which comes in the middle, and stay.
 */
final class Relay implements Service {
	private static final double MESSAGES_PER_SECOND = 300;
	private static final int MESSAGE_BYTES = 200 << 10;
	private static final double PAGES_PER_SECOND = 250;
	private static final double BURSTS_PER_SECOND = 0.5;
	private static final int BURST_MAX = 100;
	private static final int CONTEXTS_MAX = 12;
	private static final int LEVEL = 1;

	private final PooledByteBufAllocator allocator = new PooledByteBufAllocator(true);
	private final Deque<ZstdCompressCtx> contexts = new ArrayDeque<>();
	private Load load;

	@Override
	public void start(Load given, Leaks leaks) {
		load = given;
		load.begin();
		load.run("messages", MESSAGES_PER_SECOND, step -> relay(step, 1));
		load.run("pages", PAGES_PER_SECOND, Texts::renderPage);
		load.run("bursts", BURSTS_PER_SECOND, step -> {
			double share = Math.min(1, 2 * load.share());
			relay(step, (int) (BURST_MAX * share) + 1);
		});
	}

	/** Messages that are in memory at the same time. */
	private void relay(int seed, int count) {
		List<ByteBuf> messages = new ArrayList<>();
		List<ZstdCompressCtx> used = new ArrayList<>();
		for (int i = 0; i < count; i++) {
			ByteBuf message = allocator.directBuffer(MESSAGE_BYTES);
			message.writeBytes(Texts.text(seed + i, MESSAGE_BYTES).getBytes());
			messages.add(message);
			if (i < CONTEXTS_MAX)
				used.add(take());
		}
		for (int i = 0; i < count; i++) {
			ByteBuf message = messages.get(i);
			ByteBuf packed = allocator.directBuffer(2 * MESSAGE_BYTES);
			int length = used.get(i % used.size()).compressDirectByteBuffer(
					packed.nioBuffer(0, 2 * MESSAGE_BYTES), 0, 2 * MESSAGE_BYTES,
					message.nioBuffer(), 0, MESSAGE_BYTES);
			if (length == 0)
				throw new IllegalStateException("nothing packed");
			packed.release();
			message.release();
		}
		used.forEach(this::give);
	}

	private synchronized ZstdCompressCtx take() {
		ZstdCompressCtx context = contexts.poll();
		return context != null ? context : new ZstdCompressCtx().setLevel(LEVEL);
	}

	private synchronized void give(ZstdCompressCtx context) {
		contexts.push(context);
	}

	@Override
	public synchronized void close() {
		contexts.forEach(ZstdCompressCtx::close);
		contexts.clear();
	}
}
