// SPDX-License-Identifier: Apache-2.0
package shop;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A shop's orders in an SQLite database in memory: bulk inserts, a daily report whose rows are
 * kept in a cache, and a lookup that does not close its statement.  The statement's memory
 * belongs to SQLite, so no Java heap dump shows its cost.
 */
public final class Main {
	private static final int ORDERS_DEFAULT = 200_000;
	private static final int BATCH = 10_000;
	private static final int CUSTOMERS = 500;
	private static final int LOOKUPS = 3_000;
	private static final int DAYS = 60;

	private final Connection connection;
	private final Map<Integer, List<Order>> reports = new HashMap<>();
	private final List<PreparedStatement> forgotten = new ArrayList<>();

	/** One row of a report. */
	private static final class Order {
		final long number;
		final String customer;
		final String item;
		final double price;

		Order(ResultSet row) throws SQLException {
			number = row.getLong(1);
			customer = row.getString(2);
			item = row.getString(3);
			price = row.getDouble(4);
		}
	}

	private Main(Connection connection) {
		this.connection = connection;
	}

	public static void main(String[] arguments) throws SQLException {
		int orders = arguments.length > 0 ? Integer.parseInt(arguments[0]) : ORDERS_DEFAULT;
		try (Connection connection = DriverManager.getConnection("jdbc:sqlite::memory:")) {
			Main shop = new Main(connection);
			shop.createTables();
			shop.insertOrders(orders);
			for (int day = 0; day < DAYS; day++)
				shop.dailyReport(day);
			long found = 0;
			for (int i = 0; i < LOOKUPS; i++)
				found += shop.countOrdersOf("customer-" + i % CUSTOMERS);
			System.out.printf("%d orders, %d reports with %d rows in the cache worth %.2f,"
					+ " %d orders looked up, %d statements open%n", orders,
					shop.reports.size(), shop.cachedRows(), shop.cachedValue(), found,
					shop.forgotten.size());
		}
	}

	private void createTables() throws SQLException {
		try (Statement statement = connection.createStatement()) {
			statement.executeUpdate("create table orders (number integer primary key,"
					+ " day integer, customer text, item text, price real)");
			statement.executeUpdate("create index by_customer on orders (customer)");
			statement.executeUpdate("create index by_day on orders (day)");
		}
	}

	private void insertOrders(int orders) throws SQLException {
		connection.setAutoCommit(false);
		try (PreparedStatement insert = connection.prepareStatement(
				"insert into orders (day, customer, item, price) values (?, ?, ?, ?)")) {
			for (int i = 0; i < orders; i++) {
				insert.setInt(1, i % (DAYS * 10));
				insert.setString(2, "customer-" + i * 7 % CUSTOMERS);
				insert.setString(3, "item-" + i % 1000 + " in blue, size " + i % 50);
				insert.setDouble(4, i % 997 / 10.0);
				insert.addBatch();
				if (i % BATCH == BATCH - 1)
					insert.executeBatch();
			}
			insert.executeBatch();
		}
		connection.commit();
	}

	/** Reads one day's orders and keeps them: intended as a cache, but it never shrinks. */
	private void dailyReport(int day) throws SQLException {
		List<Order> rows = new ArrayList<>();
		try (PreparedStatement query = connection.prepareStatement(
				"select number, customer, item, price from orders where day = ? order by price")) {
			query.setInt(1, day);
			try (ResultSet result = query.executeQuery()) {
				while (result.next())
					rows.add(new Order(result));
			}
		}
		reports.put(day, rows);
	}

	/**
	 * The bug: the statement stays open, and so do SQLite's compiled program and sorted
	 * rows.
	 */
	private long countOrdersOf(String customer) throws SQLException {
		PreparedStatement query = connection.prepareStatement(
				"select item, count(*) from orders where customer = ? group by item order by 2");
		forgotten.add(query);
		query.setString(1, customer);
		ResultSet result = query.executeQuery();
		return result.next() ? result.getLong(2) : 0;
	}

	private long cachedRows() {
		return reports.values().stream().mapToLong(List::size).sum();
	}

	private double cachedValue() {
		return reports.values().stream().flatMap(List::stream)
				.filter(order -> order.number > 0 && !order.customer.isEmpty()
						&& !order.item.isEmpty())
				.mapToDouble(order -> order.price).sum();
	}
}
