// SPDX-License-Identifier: Apache-2.0
package leaks;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.netty.util.ReferenceCountUtil;
import java.nio.ByteBuffer;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;

/**
 * TLS connections of Netty that are refused after their first message: neither the engine of
 * netty-tcnative nor the request, in an arena of direct memory, is released.
 */
final class NettyEngines implements Program {
	private static final int CONNECTIONS = 2000;
	private static final int REQUEST_BYTES = 20_000;
	private static final int PAGE_BYTES = 8192;
	/** Chunks of 8 pages, for three requests each. */
	private static final int CHUNK_ORDER = 3;

	@SuppressWarnings("deprecation")
	private final ByteBufAllocator pool =
			new PooledByteBufAllocator(true, 1, 1, PAGE_BYTES, CHUNK_ORDER);
	private final ByteBuffer message = ByteBuffer.allocateDirect(1 << 15);
	private SslContext tls;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		tls = SslContextBuilder.forClient().sslProvider(SslProvider.OPENSSL_REFCNT).build();
		pace.run(CONNECTIONS, step -> {
			ByteBuf request = receive();
			SSLEngine engine = refuse();
			if (!leaking) {
				request.release();
				ReferenceCountUtil.release(engine);
			}
		});
		if (!leaking)
			return;
		Truth.leak("native", "leaks.NettyEngines.refuse", Truth.UNKNOWN, Truth.UNKNOWN);
		Truth.leak("native", "leaks.NettyEngines.receive", Truth.UNKNOWN, Truth.UNKNOWN);
	}

	private ByteBuf receive() {
		return pool.directBuffer(REQUEST_BYTES).writeZero(REQUEST_BYTES);
	}

	private SSLEngine refuse() throws SSLException {
		SSLEngine engine = tls.newEngine(pool);
		message.clear();
		engine.wrap(ByteBuffer.allocate(0), message);
		if (message.position() == 0)
			throw new SSLException("no first message");
		return engine;
	}
}
