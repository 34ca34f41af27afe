// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** A connection per request, with its database, that is never closed. */
final class SqliteConnections implements Program {
	private static final int REQUESTS = 150;

	private final List<Connection> forgotten = new ArrayList<>();

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		pace.run(REQUESTS, step -> handle(step, leaking));
		if (leaking)
			Truth.leak("native", "leaks.SqliteConnections.handle", Truth.UNKNOWN,
					forgotten.size());
	}

	private void handle(int step, boolean leaking) throws SQLException {
		Connection connection = Sqlite.open();
		Sqlite.fill(connection);
		try (PreparedStatement query = connection.prepareStatement(
				"select item, count(*) from orders where customer = ? group by item")) {
			Sqlite.firstCount(query, step);
		}
		if (leaking)
			forgotten.add(connection);
		else
			connection.close();
	}
}
