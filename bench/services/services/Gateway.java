// SPDX-License-Identifier: Apache-2.0
package services;

import com.github.luben.zstd.Zstd;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.ssl.AbstractSniHandler;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslProvider;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Future;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;

/**
 * A TLS gateway of Netty with netty-tcnative: answers are compressed by zstd-jni.  The engines of
 * refused handshakes are not released, and a static map still knows the sessions that ended.
 */
final class Gateway implements Service {
	private static final double CONNECTIONS_PER_SECOND = 12;
	private static final double REFUSALS_PER_SECOND = 60;
	/** Measured: growth of the C heap. */
	private static final int ENGINE_BYTES = 6500;
	private static final int REQUESTS_PER_CONNECTION = 15;
	private static final double PAGES_PER_SECOND = 200;
	private static final int PAGE_BYTES = 96 << 10;
	private static final int PROFILE_BYTES = 24 << 10;
	private static final int REQUEST_BYTES_MAX = 1 << 20;
	private static final String REFUSED = "refused.example";

	private static final Map<String, byte[]> SESSIONS = new ConcurrentHashMap<>();

	private final EventLoopGroup group = new NioEventLoopGroup(1);
	private SslContext tls;
	private Channel server;
	private Leaks leaks;

	@Override
	public void start(Load load, Leaks on) throws Exception {
		leaks = on;
		Certificate certificate = new Certificate("gateway.example");
		tls = SslContextBuilder.forServer(certificate.key, certificate.certificate)
				.sslProvider(SslProvider.OPENSSL_REFCNT).build();
		server = new ServerBootstrap().group(group).channel(NioServerSocketChannel.class)
				.childHandler(new ChannelInitializer<Channel>() {
					@Override
					protected void initChannel(Channel channel) {
						channel.pipeline().addLast(new Admission(), new HttpServerCodec(),
								new HttpObjectAggregator(REQUEST_BYTES_MAX),
								new Requests());
					}
				}).bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
		InetSocketAddress address = (InetSocketAddress) server.localAddress();
		GatewayClient client = new GatewayClient(address);
		byte[] refused = client.hello(REFUSED);
		load.begin();
		load.run("clients", CONNECTIONS_PER_SECOND,
				step -> client.connect("gateway.example", step, REQUESTS_PER_CONNECTION));
		load.run("refused-clients", REFUSALS_PER_SECOND, step -> client.send(refused));
		load.run("pages", PAGES_PER_SECOND, Texts::renderPage);
	}

	@Override
	public void close() {
		server.close().syncUninterruptibly();
		group.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
		ReferenceCountUtil.release(tls);
	}

	/** Looks at the name that the client asks for before a handshake begins. */
	private final class Admission extends AbstractSniHandler<SslContext> {
		private boolean isRefused;

		@Override
		protected Future<SslContext> lookup(ChannelHandlerContext context, String name) {
			return context.executor().newSucceededFuture(tls);
		}

		@Override
		protected void onLookupComplete(ChannelHandlerContext context, String name,
				Future<SslContext> found) throws Exception {
			/* Once more when the connection is closed. */
			if (isRefused)
				return;
			isRefused = REFUSED.equals(name);
			if (isRefused)
				refuse(context);
			else
				context.pipeline().replace(this, "tls",
						new SslHandler(tls.newEngine(context.alloc())));
		}

		private void refuse(ChannelHandlerContext context) throws SSLException {
			SSLEngine engine = tls.newEngine(context.alloc()); // leak: engines
			engine.beginHandshake(); // leak: engines
			context.close();
			if (leaks.areOn())
				leaks.add("engines", ENGINE_BYTES);
			else
				ReferenceCountUtil.release(engine);
		}
	}

	/** Answers requests; the session of a connection lives as long as the connection. */
	private final class Requests extends SimpleChannelInboundHandler<FullHttpRequest> {
		private String session;

		@Override
		protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
			if (session == null)
				session = open(context);
			String page = Texts.text(request.uri().hashCode(), PAGE_BYTES);
			byte[] body = Zstd.compress(page.getBytes());
			FullHttpResponse response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1,
					HttpResponseStatus.OK, Unpooled.wrappedBuffer(body));
			response.headers().set(HttpHeaderNames.CONTENT_LENGTH, body.length);
			context.writeAndFlush(response);
		}

		private String open(ChannelHandlerContext context) {
			String name = context.channel().id().asLongText();
			SESSIONS.put(name, new byte[PROFILE_BYTES]); // leak: sessions
			return name;
		}

		@Override
		public void channelInactive(ChannelHandlerContext context) {
			if (session == null)
				return;
			if (leaks.areOn())
				leaks.add("sessions", PROFILE_BYTES);
			else
				SESSIONS.remove(session);
		}
	}
}
