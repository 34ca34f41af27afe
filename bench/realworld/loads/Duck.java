// SPDX-License-Identifier: Apache-2.0
package loads;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;

/** Creates tables in DuckDB, joins them, and reads the result row by row. */
final class Duck implements Load {
	private static final int ROUNDS = 16;

	@Override
	public long run(String directory) throws Exception {
		long sum = 0;
		try (Connection connection = DriverManager.getConnection("jdbc:duckdb:");
				Statement statement = connection.createStatement()) {
			statement.execute("create table orders as select range as id, range % 5000 as customer,"
					+ " range * 31 % 997 as cents from range(2000000)");
			statement.execute("create table customers as select range as id,"
					+ " 'customer ' || range as name from range(5000)");
			for (int i = 0; i < ROUNDS; i++)
				sum = sum * 31 + ask(statement, i);
		}
		return sum;
	}

	private static long ask(Statement statement, int round) throws Exception {
		long sum = 0;
		try (ResultSet rows = statement.executeQuery(
				"select o.id, name, cents from orders o join customers c on o.customer = c.id"
				+ " where o.id % 16 = " + round + " order by o.id")) {
			while (rows.next())
				sum = sum * 31 + rows.getLong(1) + rows.getString(2).hashCode() + rows.getLong(3);
		}
		return sum;
	}
}
