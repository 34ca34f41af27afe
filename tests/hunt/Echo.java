// SPDX-License-Identifier: Apache-2.0

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.io.DataInputStream;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/** A Netty server that echoes; its clients are virtual threads where the JDK has them. */
public final class Echo {
	private static final int CLIENTS = 200;
	private static final int MESSAGES = 15;

	private Echo() {
	}

	private static final class Handler extends ChannelInboundHandlerAdapter {
		@Override
		public void channelRead(ChannelHandlerContext context, Object message) {
			ByteBuf in = (ByteBuf) message;
			context.writeAndFlush(context.alloc().directBuffer(in.readableBytes()).writeBytes(in));
			in.release();
		}
	}

	private static void start(Runnable work) throws Exception {
		try {
			Method method = Thread.class.getMethod("startVirtualThread", Runnable.class);
			method.invoke(null, work);
		} catch (NoSuchMethodException | java.lang.reflect.InvocationTargetException exception) {
			new Thread(work).start();
		}
	}

	private static void talk(int port, int client, AtomicLong sum) {
		try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
			DataInputStream in = new DataInputStream(socket.getInputStream());
			for (int i = 0; i < MESSAGES; i++) {
				byte[] message = new byte[100 + (client * 31 + i * 977) % 5000];
				java.util.Arrays.fill(message, (byte) (client + i));
				socket.getOutputStream().write(message);
				byte[] answer = new byte[message.length];
				in.readFully(answer);
				sum.addAndGet(java.util.Arrays.hashCode(answer));
			}
		} catch (Exception exception) {
			System.out.println(exception);
		}
	}

	public static void main(String[] arguments) throws Exception {
		NioEventLoopGroup group = new NioEventLoopGroup(2);
		Channel server = new ServerBootstrap().group(group).channel(NioServerSocketChannel.class)
			.childHandler(new ChannelInitializer<SocketChannel>() {
				@Override
				protected void initChannel(SocketChannel channel) {
					channel.pipeline().addLast(new Handler());
				}
			}).bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
		int port = ((InetSocketAddress) server.localAddress()).getPort();
		AtomicLong sum = new AtomicLong();
		CountDownLatch done = new CountDownLatch(CLIENTS);
		for (int i = 0; i < CLIENTS; i++) {
			int client = i;
			start(() -> {
				talk(port, client, sum);
				done.countDown();
			});
		}
		done.await();
		server.close().sync();
		group.shutdownGracefully(0, 1, java.util.concurrent.TimeUnit.SECONDS).sync();
		System.out.println(sum);
	}
}
