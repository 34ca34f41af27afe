// SPDX-License-Identifier: Apache-2.0
package servers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import services.GatewayClient;
import services.HttpConnection;

/** Connections of HTTP: each sends requests in turn, and is sometimes made anew. */
final class Requests implements OpenLoop.Clients {
	private static final int CONNECTIONS = 16;
	private static final int REQUESTS_PER_CONNECTION = 100;

	private final InetSocketAddress address;
	/** Null without TLS. */
	private final GatewayClient tls;
	private final HttpConnection[] connections = new HttpConnection[CONNECTIONS];

	Requests(int port, boolean hasTls) throws Exception {
		address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
		tls = hasTls ? new GatewayClient(address) : null;
		for (int i = 0; i < CONNECTIONS; i++) {
			connections[i] = connect();
			get(i, i);
		}
	}

	private HttpConnection connect() throws IOException {
		return tls != null ? tls.open(Load.HOST)
				: new HttpConnection(new Socket(), address, Load.HOST);
	}

	private void get(int connection, int number) throws IOException {
		if (connections[connection].get("/" + number).length == 0)
			throw new IOException("request " + number + " failed");
	}

	@Override
	public int senders() {
		return CONNECTIONS;
	}

	@Override
	public boolean send(int sender, int number) throws IOException {
		/* Not all at the same time. */
		if (number / CONNECTIONS % REQUESTS_PER_CONNECTION == sender) {
			connections[sender].close();
			connections[sender] = connect();
		}
		get(sender, number);
		return true;
	}
}
