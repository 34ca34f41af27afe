// SPDX-License-Identifier: Apache-2.0
package loads;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;

/** Loads a table by sqlite-jdbc, indexes it and queries it. */
final class Sqlite implements Load {
	private static final int ROWS = 800_000;

	@Override
	public long run(String directory) throws Exception {
		try (Connection connection =
				DriverManager.getConnection("jdbc:sqlite:" + directory + "/bulk.db")) {
			try (Statement statement = connection.createStatement()) {
				statement.execute("pragma synchronous = off");
				statement.execute("create table orders (id int, customer text, cents int)");
			}
			connection.setAutoCommit(false);
			try (PreparedStatement insert =
					connection.prepareStatement("insert into orders values (?, ?, ?)")) {
				for (int i = 0; i < ROWS; i++) {
					insert.setInt(1, i);
					insert.setString(2, "customer " + i % 1000);
					insert.setInt(3, i * 31 % 997);
					insert.addBatch();
					if (i % 1000 == 999)
						insert.executeBatch();
				}
			}
			connection.commit();
			return ask(connection);
		}
	}

	private static long ask(Connection connection) throws Exception {
		try (Statement statement = connection.createStatement()) {
			statement.execute("create index by_customer on orders (customer)");
			long sum = 0;
			try (ResultSet rows = statement.executeQuery(
					"select customer, sum(cents) from orders group by customer")) {
				while (rows.next())
					sum = sum * 31 + rows.getString(1).hashCode() + rows.getLong(2);
			}
			return sum;
		}
	}
}
