// SPDX-License-Identifier: Apache-2.0
package realworld;

import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.netty.util.ReferenceCountUtil;
import leaks.Pace;
import leaks.Program;
import leaks.Truth;

/** A TLS context of netty-tcnative for each connection, never released. */
public final class NettyTls implements Program {
	private static final int CONNECTIONS = 1500;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		pace.run(CONNECTIONS, step -> connect(leaking));
		if (leaking)
			Truth.leak("native", "realworld.NettyTls.connect", Truth.UNKNOWN, Truth.UNKNOWN);
	}

	private static void connect(boolean leaking) throws Exception {
		SslContext context = SslContextBuilder.forClient()
				.sslProvider(SslProvider.OPENSSL_REFCNT).build();
		if (!context.isClient())
			throw new IllegalStateException("not a client's");
		if (!leaking)
			ReferenceCountUtil.release(context);
	}
}
