// SPDX-License-Identifier: Apache-2.0
package services;

import com.github.luben.zstd.Zstd;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;

/** The clients of {@link Gateway}, with the JDK's TLS; they trust any certificate. */
public final class GatewayClient {
	private final InetSocketAddress address;
	private final SSLContext context;

	public GatewayClient(InetSocketAddress address) throws Exception {
		this.address = address;
		context = SSLContext.getInstance("TLS");
		context.init(null, new TrustManager[] {new Trusting()}, new SecureRandom());
	}

	private static final class Trusting implements X509TrustManager {
		@Override
		public void checkClientTrusted(X509Certificate[] chain, String type) {
		}

		@Override
		public void checkServerTrusted(X509Certificate[] chain, String type) {
		}

		@Override
		public X509Certificate[] getAcceptedIssuers() {
			return new X509Certificate[0];
		}
	}

	/** The first message of a handshake that asks for that name. */
	byte[] hello(String name) throws Exception {
		SSLEngine engine = context.createSSLEngine(name, address.getPort());
		engine.setUseClientMode(true);
		ByteBuffer out = ByteBuffer.allocate(engine.getSession().getPacketBufferSize());
		engine.wrap(ByteBuffer.allocate(0), out);
		byte[] message = new byte[out.flip().remaining()];
		out.get(message);
		return message;
	}

	/** Sends bytes and reads until the server closes the connection. */
	void send(byte[] message) throws IOException {
		try (Socket socket = new Socket(address.getAddress(), address.getPort())) {
			socket.getOutputStream().write(message);
			while (socket.getInputStream().read() >= 0)
				continue;
		}
	}

	/** A connection with some requests, whose answers are unpacked. */
	void connect(String name, int number, int requests) throws IOException {
		try (HttpConnection connection = open(name)) {
			for (int i = 0; i < requests; i++) {
				byte[] body = connection.get("/page/" + number + "/" + i);
				byte[] page = Zstd.decompress(body, (int) Zstd.decompressedSize(body));
				if (!new String(page, StandardCharsets.ISO_8859_1).contains("word"))
					throw new IOException("not the page");
			}
		}
	}

	/** Connects, and asks for the server of that name. */
	public HttpConnection open(String name) throws IOException {
		SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket();
		SSLParameters parameters = socket.getSSLParameters();
		parameters.setServerNames(List.of(new SNIHostName(name)));
		socket.setSSLParameters(parameters);
		return new HttpConnection(socket, address, name);
	}
}
