// SPDX-License-Identifier: Apache-2.0
package servers;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import services.Texts;

/** Lines for a job of Flink, whose numbers come back over the same connection. */
final class Events implements OpenLoop.Clients {
	private static final int USERS = 20_000;
	private static final int TEXT_BYTES = 300;
	/** Sent before the load begins, until the job answers. */
	private static final int FIRST = -1;

	private final Socket socket;
	private final DataInputStream in;

	Events(int port) throws IOException {
		socket = new Socket(InetAddress.getLoopbackAddress(), port);
		socket.setTcpNoDelay(true);
		in = new DataInputStream(socket.getInputStream());
		send(0, FIRST);
		if (in.readInt() != FIRST)
			throw new IOException("another answer");
	}

	@Override
	public int senders() {
		return 1;
	}

	@Override
	public boolean send(int sender, int number) throws IOException {
		int user = new Random(number).nextInt(USERS);
		String line = number + "," + user + "," + Texts.text(number, TEXT_BYTES) + "\n";
		socket.getOutputStream().write(line.getBytes(StandardCharsets.ISO_8859_1));
		return false;
	}

	/** Receives numbers; does not return. */
	void receive(OpenLoop loop) throws IOException {
		while (true)
			loop.answered(in.readInt());
	}
}
