// SPDX-License-Identifier: Apache-2.0
package realworld;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import leaks.Pace;
import leaks.Program;
import leaks.Truth;

/** Prepared statements of sqlite-jdbc that stay reachable and are never closed. */
public final class SqliteStatements implements Program {
	private static final int LOOKUPS = 4000;

	private final List<PreparedStatement> forgotten = new ArrayList<>();

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		Connection connection = DriverManager.getConnection("jdbc:sqlite::memory:");
		try (Statement statement = connection.createStatement()) {
			statement.execute("create table orders (customer int, item text)");
			for (int i = 0; i < 100; i++)
				statement.execute("insert into orders values (" + i + ", 'item')");
		}
		pace.run(LOOKUPS, step -> lookUp(connection, step, leaking));
		if (leaking)
			Truth.leak("native", "realworld.SqliteStatements.lookUp",
					Truth.UNKNOWN, Truth.UNKNOWN);
	}

	private void lookUp(Connection connection, int step, boolean leaking) throws SQLException {
		PreparedStatement query = connection.prepareStatement(
				"select item, count(*) from orders where customer = ? group by item");
		query.setInt(1, step % 100);
		try (ResultSet result = query.executeQuery()) {
			if (!result.next() || result.getInt(2) != 1)
				throw new IllegalStateException("not one order");
		}
		if (leaking)
			forgotten.add(query);
		else
			query.close();
	}
}
