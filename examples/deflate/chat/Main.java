// SPDX-License-Identifier: Apache-2.0
package chat;

import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.zip.Deflater;

/**
 * A chat server that compresses messages, with one Deflater per connection.  Connections that
 * are closed in order call end(); those that time out are only added to a list of dead ones.  A
 * Deflater is a few dozen bytes of Java, and a quarter of a megabyte of native zlib memory.
 */
public final class Main {
	private static final int CONNECTIONS_DEFAULT = 20_000;
	private static final int OPEN = 64;
	private static final int MESSAGES = 8;
	/** One connection in this number times out. */
	private static final int TIMEOUT_EVERY = 40;

	/** One connection and its compressor. */
	private static final class Connection {
		private final int number;
		private final Deflater deflater = new Deflater(Deflater.BEST_SPEED);
		private final byte[] packet = new byte[4096];

		Connection(int number) {
			this.number = number;
		}

		/** Compresses one message; returns the number of bytes to send. */
		int send(String text) {
			byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
			deflater.setInput(bytes);
			return deflater.deflate(packet, 0, packet.length, Deflater.SYNC_FLUSH);
		}

		boolean isTimedOut() {
			return number % TIMEOUT_EVERY == 0;
		}

		void close() {
			deflater.end();
		}
	}

	private final Deque<Connection> open = new ArrayDeque<>();
	private final List<Connection> dead = new ArrayList<>();
	private long sent;

	private Main() {
	}

	public static void main(String[] arguments) {
		int connections = arguments.length > 0 ? Integer.parseInt(arguments[0])
				: CONNECTIONS_DEFAULT;
		Main server = new Main();
		for (int i = 0; i < connections; i++)
			server.accept(i);
		System.out.printf("%d connections, %d bytes sent, %d open, %d dead%n", connections,
				server.sent, server.open.size(), server.dead.size());
	}

	private void accept(int number) {
		Connection connection = new Connection(number);
		open.addLast(connection);
		for (int i = 0; i < MESSAGES; i++)
			sent += connection.send(message(number, i));
		if (open.size() > OPEN)
			retire(open.removeFirst());
	}

	/** The bug: a connection that timed out keeps its compressor. */
	private void retire(Connection connection) {
		if (connection.isTimedOut())
			dead.add(connection);
		else
			connection.close();
	}

	private static String message(int number, int index) {
		StringBuilder text = new StringBuilder(1024);
		for (int i = 0; text.length() < 1000; i++)
			text.append("user ").append(number).append(" says ").append(index * i).append("; ");
		return text.toString();
	}
}
