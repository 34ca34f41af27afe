// SPDX-License-Identifier: Apache-2.0
package realworld;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import leaks.Pace;
import leaks.Program;
import leaks.Truth;

/**
 * Result sets of DuckDB that are not closed.  DuckDB's allocator is linked into its library.
 */
public final class DuckResults implements Program {
	private static final int QUERIES = 200;
	private static final int ROWS = 100_000;

	private final List<ResultSet> forgotten = new ArrayList<>();

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		Connection connection = DriverManager.getConnection("jdbc:duckdb:");
		try (Statement statement = connection.createStatement()) {
			statement.execute("set threads = 1");
			statement.execute("create table numbers as select range as n, range * 7 as m,"
					+ " 'name ' || range as name from range(" + ROWS + ")");
		}
		pace.run(QUERIES, step -> query(connection, leaking));
		if (leaking)
			Truth.leak("mapped", "realworld.DuckResults.query", Truth.UNKNOWN, Truth.UNKNOWN);
	}

	private void query(Connection connection, boolean leaking) throws SQLException {
		Statement statement = connection.createStatement();
		ResultSet result = statement.executeQuery("select * from numbers order by m desc");
		if (!result.next() || result.getLong(1) != ROWS - 1)
			throw new IllegalStateException("not the largest");
		if (leaking) {
			forgotten.add(result);
			return;
		}
		result.close();
		statement.close();
	}
}
