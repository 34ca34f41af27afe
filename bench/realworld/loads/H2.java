// SPDX-License-Identifier: Apache-2.0
package loads;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;

/** A database written in Java: inserts, updates and queries of H2. */
final class H2 implements Load {
	private static final int ROWS = 80_000;
	private static final int LOOKUPS = 80_000;

	@Override
	public long run(String directory) throws Exception {
		try (Connection connection =
				DriverManager.getConnection("jdbc:h2:file:" + directory + "/h2")) {
			try (Statement statement = connection.createStatement()) {
				statement.execute("create table orders (id int primary key, item varchar, cents int)");
			}
			try (PreparedStatement insert =
					connection.prepareStatement("insert into orders values (?, ?, ?)")) {
				for (int i = 0; i < ROWS; i++) {
					insert.setInt(1, i);
					insert.setString(2, "item " + i % 500);
					insert.setInt(3, i % 997);
					insert.execute();
				}
			}
			return lookUp(connection);
		}
	}

	private static long lookUp(Connection connection) throws Exception {
		long sum = 0;
		try (PreparedStatement query =
				connection.prepareStatement("select item, cents from orders where id = ?")) {
			for (int i = 0; i < LOOKUPS; i++) {
				query.setInt(1, (int) (i * 7919L % ROWS));
				try (ResultSet row = query.executeQuery()) {
					row.next();
					sum = sum * 31 + row.getString(1).hashCode() + row.getInt(2);
				}
			}
		}
		return sum;
	}
}
