// SPDX-License-Identifier: Apache-2.0
package servers;

import com.github.luben.zstd.Zstd;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.netty.util.ReferenceCountUtil;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import services.Certificate;
import services.Scratch;
import services.Texts;

/**
 * TLS of Netty with netty-tcnative, a virtual thread for each request and two for its parts;
 * platform threads before JDK 21.
 */
final class Netty implements Server {
	private static final int PART_BYTES = 24 << 10;

	private ExecutorService threads;
	private SslContext tls;
	private Front front;

	@Override
	public int start(Scratch scratch) throws Exception {
		Certificate certificate = new Certificate(Load.HOST);
		tls = SslContextBuilder.forServer(certificate.key, certificate.certificate)
				.sslProvider(SslProvider.OPENSSL_REFCNT).build();
		threads = newThreads();
		front = new Front(tls, threads, this::answer);
		return front.port();
	}

	private static ExecutorService newThreads() throws ReflectiveOperationException {
		try {
			return (ExecutorService) Executors.class
					.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
		} catch (NoSuchMethodException error) {
			return Executors.newCachedThreadPool();
		}
	}

	private byte[] answer(int number) throws Exception {
		Future<String> head = threads.submit(() -> Texts.text(number, PART_BYTES));
		Future<String> rest = threads.submit(() -> Texts.text(number + 1, PART_BYTES));
		String page = head.get() + rest.get().replace('w', 'W');
		return Zstd.compress(page.getBytes(StandardCharsets.ISO_8859_1));
	}

	@Override
	public void close() {
		front.close();
		ReferenceCountUtil.release(tls);
	}
}
