// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** A small database in memory, behind sqlite-jdbc. */
final class Sqlite {
	static final int CUSTOMERS = 50;
	private static final int ORDERS = 2000;

	private Sqlite() {
	}

	static Connection open() throws SQLException {
		return DriverManager.getConnection("jdbc:sqlite::memory:");
	}

	static void fill(Connection connection) throws SQLException {
		connection.setAutoCommit(false);
		try (Statement statement = connection.createStatement()) {
			statement.executeUpdate("create table orders (customer text, item text)");
			statement.executeUpdate("create index by_customer on orders (customer)");
		}
		try (PreparedStatement insert = connection.prepareStatement(
				"insert into orders (customer, item) values (?, ?)")) {
			for (int i = 0; i < ORDERS; i++) {
				insert.setString(1, "customer-" + i % CUSTOMERS);
				insert.setString(2, "item-" + i % 300);
				insert.executeUpdate();
			}
		}
		connection.commit();
	}

	/** The first row of a query whose statement the caller must close. */
	static long firstCount(PreparedStatement query, int customer) throws SQLException {
		query.setString(1, "customer-" + customer % CUSTOMERS);
		ResultSet result = query.executeQuery();
		return result.next() ? result.getLong(2) : 0;
	}
}
