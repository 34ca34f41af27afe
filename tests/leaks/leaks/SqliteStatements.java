// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/** Prepared statements that are never closed: the driver keeps them until the connection ends. */
final class SqliteStatements implements Program {
	private static final int LOOKUPS = 4000;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		/* Never closed: that would close the statements as well. */
		Connection connection = Sqlite.open();
		Sqlite.fill(connection);
		pace.run(LOOKUPS, step -> lookUp(connection, step, leaking));
		if (leaking)
			Truth.leak("native", "leaks.SqliteStatements.lookUp", Truth.UNKNOWN, LOOKUPS);
	}

	private static void lookUp(Connection connection, int step, boolean leaking)
			throws SQLException {
		PreparedStatement query = connection.prepareStatement(
				"select item, count(*) from orders where customer = ? group by item");
		Sqlite.firstCount(query, step);
		if (!leaking)
			query.close();
	}
}
