// SPDX-License-Identifier: Apache-2.0
package services;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/**
 * No leak: a catalogue in H2 behind a cache of Caffeine, which is full after half of the time, and
 * a report every few seconds that reads all of it.
 */
final class Catalog implements Service {
	private static final int ITEMS = 40_000;
	private static final int TEXT_BYTES = 600;
	private static final double LOOKUPS_PER_SECOND = 1500;
	private static final double UPDATES_PER_SECOND = 300;
	private static final double REPORTS_PER_SECOND = 0.1;
	private static final int CACHED_BYTES = 2000;
	private static final int CACHE_ENTRIES = 20_000;
	/** The items looked up become more until this share of the time, then they stay. */
	private static final double FULL_SHARE = 0.5;
	private static final int PAGE_BYTES = 250 << 10;

	private final Cache<Integer, byte[]> cache =
			Caffeine.newBuilder().maximumSize(CACHE_ENTRIES).build();
	private Load load;
	private Connection reading;
	private Connection writing;

	@Override
	public void start(Load given, Leaks leaks) throws Exception {
		load = given;
		writing = DriverManager.getConnection("jdbc:h2:mem:catalog");
		reading = DriverManager.getConnection("jdbc:h2:mem:catalog");
		fill();
		load.begin();
		load.run("lookups", LOOKUPS_PER_SECOND, this::lookUp);
		load.run("updates", UPDATES_PER_SECOND, this::update);
		load.run("reports", REPORTS_PER_SECOND, step -> report());
	}

	private void fill() throws SQLException {
		try (Statement statement = writing.createStatement()) {
			statement.execute("create table item (id int primary key, text varchar, sold int)");
		}
		try (PreparedStatement insert =
				writing.prepareStatement("insert into item values (?, ?, 0)")) {
			for (int i = 0; i < ITEMS; i++) {
				insert.setInt(1, i);
				insert.setString(2, Texts.text(i, TEXT_BYTES));
				insert.execute();
			}
		}
	}

	private void lookUp(int number) throws SQLException {
		int known = (int) (CACHE_ENTRIES * Math.min(1, load.share() / FULL_SHARE)) + 1;
		int id = (int) (number * 7919L % known);
		byte[] item = cache.getIfPresent(id);
		if (item == null)
			cache.put(id, read(id));
		if (Texts.text(number, PAGE_BYTES).isEmpty())
			throw new IllegalStateException("no page");
	}

	private byte[] read(int id) throws SQLException {
		try (PreparedStatement query =
				reading.prepareStatement("select text from item where id = ?")) {
			query.setInt(1, id);
			try (ResultSet row = query.executeQuery()) {
				row.next();
				byte[] item = new byte[CACHED_BYTES];
				System.arraycopy(row.getString(1).getBytes(), 0, item, 0, TEXT_BYTES);
				return item;
			}
		}
	}

	private void update(int number) throws SQLException {
		try (PreparedStatement update =
				writing.prepareStatement("update item set sold = sold + 1 where id = ?")) {
			update.setInt(1, (int) (number * 7919L % ITEMS));
			update.execute();
		}
	}

	/** A burst: everything in memory at once. */
	private void report() throws SQLException {
		List<String> lines = new ArrayList<>();
		try (Connection connection = DriverManager.getConnection("jdbc:h2:mem:catalog");
				Statement statement = connection.createStatement();
				ResultSet rows = statement.executeQuery("select id, text, sold from item")) {
			while (rows.next())
				lines.add(rows.getInt(1) + ": " + rows.getString(2) + ", " + rows.getInt(3));
		}
		if (lines.size() != ITEMS)
			throw new IllegalStateException("items are missing");
	}

	@Override
	public void close() throws SQLException {
		reading.close();
		writing.close();
	}
}
