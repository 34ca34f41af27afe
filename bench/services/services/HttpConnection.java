// SPDX-License-Identifier: Apache-2.0
package services;

import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** A connection of HTTP 1.1 that is kept open. */
public final class HttpConnection implements Closeable {
	private static final String LENGTH = "content-length: ";

	private final Socket socket;
	private final String host;
	private final InputStream in;

	/** Takes the socket, and connects it. */
	public HttpConnection(Socket socket, InetSocketAddress address, String host)
			throws IOException {
		this.socket = socket;
		this.host = host;
		socket.setTcpNoDelay(true);
		socket.connect(address);
		in = new BufferedInputStream(socket.getInputStream());
	}

	/** Sends a request and waits for the body of its answer. */
	public byte[] get(String path) throws IOException {
		String request = "GET " + path + " HTTP/1.1\r\nhost: " + host + "\r\n\r\n";
		socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
		return in.readNBytes(lengthOfBody());
	}

	/** Reads the head of an answer; returns the content-length. */
	private int lengthOfBody() throws IOException {
		int length = -1;
		for (String line = line(); !line.isEmpty(); line = line())
			if (line.startsWith(LENGTH))
				length = Integer.parseInt(line.substring(LENGTH.length()));
		if (length < 0)
			throw new IOException("no content-length");
		return length;
	}

	private String line() throws IOException {
		StringBuilder line = new StringBuilder();
		int next;
		while ((next = in.read()) != '\r') {
			if (next < 0)
				throw new IOException("the connection was closed");
			line.append((char) next);
		}
		in.read();
		return line.toString();
	}

	@Override
	public void close() throws IOException {
		socket.close();
	}
}
