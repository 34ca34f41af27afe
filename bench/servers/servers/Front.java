// SPDX-License-Identifier: Apache-2.0
package servers;

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
import io.netty.handler.ssl.SslContext;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;

/** HTTP of Netty, with or without TLS: requests are numbers, and are handled by an executor. */
final class Front implements AutoCloseable {
	private static final int LOOPS = 2;
	private static final int REQUEST_BYTES_MAX = 1 << 16;

	private final EventLoopGroup group = new NioEventLoopGroup(LOOPS);
	private final ExecutorService executor;
	private final Handler handler;
	private final Channel channel;

	interface Handler {
		/** The body of the answer, not empty. */
		byte[] answer(int number) throws Exception;
	}

	/** tls: may be null.  Takes the executor. */
	Front(SslContext tls, ExecutorService executor, Handler handler) {
		this.executor = executor;
		this.handler = handler;
		channel = new ServerBootstrap().group(group).channel(NioServerSocketChannel.class)
				.childHandler(new ChannelInitializer<Channel>() {
					@Override
					protected void initChannel(Channel client) {
						if (tls != null)
							client.pipeline().addLast(tls.newHandler(client.alloc()));
						client.pipeline().addLast(new HttpServerCodec(),
								new HttpObjectAggregator(REQUEST_BYTES_MAX),
								new Requests());
					}
				}).bind(InetAddress.getLoopbackAddress(), 0).syncUninterruptibly().channel();
	}

	int port() {
		return ((InetSocketAddress) channel.localAddress()).getPort();
	}

	private final class Requests extends SimpleChannelInboundHandler<FullHttpRequest> {
		@Override
		protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
			int number = Integer.parseInt(request.uri().substring(1));
			executor.execute(() -> answer(context, number));
		}

		private void answer(ChannelHandlerContext context, int number) {
			HttpResponseStatus status = HttpResponseStatus.OK;
			byte[] body = {};
			try {
				body = handler.answer(number);
			} catch (Exception error) {
				error.printStackTrace();
				status = HttpResponseStatus.INTERNAL_SERVER_ERROR;
			}
			FullHttpResponse response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1,
					status, Unpooled.wrappedBuffer(body));
			response.headers().set(HttpHeaderNames.CONTENT_LENGTH, body.length);
			context.writeAndFlush(response);
		}
	}

	@Override
	public void close() {
		channel.close().syncUninterruptibly();
		group.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
		executor.shutdown();
	}
}
