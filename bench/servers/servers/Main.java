// SPDX-License-Identifier: Apache-2.0
package servers;

import java.util.Locale;
import services.Scratch;

/**
 * Runs a server until the end of standard input: {@code servers.Main NAME}.
 *
 * <p>Prints its port once clients can connect.  The end of standard input also ends a server whose
 * parent process was killed.
 */
public final class Main {
	private Main() {
	}

	public static void main(String[] arguments) {
		String name = arguments[0];
		int status = 0;
		/* By name, because not all libraries need be there. */
		String type = "servers." + name.substring(0, 1).toUpperCase(Locale.ROOT)
				+ name.substring(1);
		try (Scratch scratch = new Scratch()) {
			Server server = (Server) Class.forName(type).getDeclaredConstructor().newInstance();
			System.out.println("{\"port\": " + server.start(scratch) + "}");
			while (System.in.read() >= 0)
				continue;
			server.close();
		} catch (Exception | LinkageError error) {
			error.printStackTrace();
			status = 1;
		}
		/* Libraries leave threads behind that are no daemons. */
		System.exit(status);
	}
}
