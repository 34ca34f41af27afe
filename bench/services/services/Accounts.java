// SPDX-License-Identifier: Apache-2.0
package services;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/**
 * Accounts in a database of SQLite: transfers, audits and views.  The prepared statement of an
 * audit is not closed, and views do not unregister as listeners when they are done.
 */
final class Accounts implements Service {
	private static final int ACCOUNTS = 20_000;
	private static final double TRANSFERS_PER_SECOND = 150;
	private static final double AUDITS_PER_SECOND = 40;
	private static final int CACHED_PAGES = 50;
	/** Measured: growth of the C heap. */
	private static final int STATEMENT_BYTES = 9500;
	private static final double VIEWS_PER_SECOND = 500;
	private static final int VIEW_BYTES = 256 << 10;
	private static final int SHOWN_BYTES = 2048;
	/** Views of this period by number register as listeners. */
	private static final int LISTENING_PERIOD = 5;
	private static final String AUDIT = "select a.owner, count(*), sum(t.cents), max(t.cents),"
			+ " min(t.cents), avg(t.cents) from account a join transfer t on t.source = a.id"
			+ " left join account b on b.id = t.target where a.id between ? and ? and b.cents > ?"
			+ " group by a.owner having count(*) > 0 order by sum(t.cents) desc, a.owner limit 10";

	private final List<Runnable> listeners = new ArrayList<>();
	private Scratch scratch;
	private Connection writing;
	private Connection auditing;
	private Leaks leaks;

	@Override
	public void start(Load load, Leaks on) throws Exception {
		leaks = on;
		scratch = new Scratch();
		String url = "jdbc:sqlite:" + scratch.path("accounts.db");
		writing = connect(url);
		fill();
		auditing = connect(url);
		load.begin();
		load.run("transfers", TRANSFERS_PER_SECOND, this::transfer);
		load.run("audits", AUDITS_PER_SECOND, this::audit);
		load.run("views", VIEWS_PER_SECOND, this::view);
	}

	/** With a cache of pages that is full from the beginning: the table of transfers grows. */
	private static Connection connect(String url) throws SQLException {
		Connection connection = DriverManager.getConnection(url);
		try (Statement statement = connection.createStatement()) {
			statement.execute("pragma cache_size = " + CACHED_PAGES);
		}
		return connection;
	}

	private void fill() throws SQLException {
		try (Statement statement = writing.createStatement()) {
			statement.execute("pragma journal_mode = wal");
			statement.execute("pragma synchronous = off");
			statement.execute("create table account (id integer primary key, owner text, cents int)");
			statement.execute("create table transfer (source int, target int, cents int)");
			statement.execute("create index by_source on transfer (source)");
		}
		writing.setAutoCommit(false);
		try (PreparedStatement insert =
				writing.prepareStatement("insert into account values (?, ?, 100000)")) {
			for (int i = 0; i < ACCOUNTS; i++) {
				insert.setInt(1, i);
				insert.setString(2, "owner " + i % 100);
				insert.execute();
			}
		}
		writing.commit();
	}

	private void transfer(int number) throws SQLException {
		int source = (int) (number * 7919L % ACCOUNTS);
		try (PreparedStatement insert =
				writing.prepareStatement("insert or replace into transfer values (?, ?, ?)");
				PreparedStatement update = writing.prepareStatement(
						"update account set cents = cents - ? where id = ?")) {
			insert.setInt(1, source);
			insert.setInt(2, (source + 1) % ACCOUNTS);
			insert.setInt(3, number % 100);
			insert.execute();
			update.setInt(1, number % 100);
			update.setInt(2, source);
			update.execute();
		}
		writing.commit();
	}

	private void audit(int number) throws SQLException {
		PreparedStatement query = auditing.prepareStatement(AUDIT); // leak: statements
		query.setInt(1, number * 10 % ACCOUNTS);
		query.setInt(2, number * 10 % ACCOUNTS + 100);
		query.setInt(3, 100);
		try (ResultSet result = query.executeQuery()) { // leak: statements
			while (result.next()) // leak: statements
				result.getString(1);
		}
		if (leaks.areOn())
			leaks.add("statements", STATEMENT_BYTES);
		else
			query.close();
	}

	/** A page about an account. */
	private void view(int number) {
		String page = Texts.text(number, VIEW_BYTES);
		String upper = page.toUpperCase();
		if (upper.equals(page))
			throw new IllegalStateException("nothing to change");
		if (number % LISTENING_PERIOD == 0)
			listen(number);
	}

	private void listen(int number) {
		byte[] shown = new byte[SHOWN_BYTES]; // leak: listeners
		shown[0] = (byte) number;
		Runnable listener = () -> shown[0]++; // leak: listeners
		listeners.add(listener); // leak: listeners
		if (leaks.areOn())
			leaks.add("listeners", SHOWN_BYTES);
		else
			listeners.remove(listener);
	}

	@Override
	public void close() throws Exception {
		writing.close();
		auditing.close();
		scratch.close();
	}
}
