// SPDX-License-Identifier: Apache-2.0
package servers;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import org.apache.spark.sql.SparkSession;
import services.Scratch;

/** SQL of Spark over Parquet files with zstd: two tasks at a time, in this process. */
final class Spark implements Server {
	private static final int ROWS = 100_000;
	private static final int THREADS = 4;
	/** Queries that differ: their generated code is compiled during the warm-up. */
	private static final int QUERIES = 20;

	private SparkSession session;
	private Front front;

	@Override
	public int start(Scratch scratch) {
		session = SparkSession.builder().master("local[2]").appName("servers")
				.config("spark.ui.enabled", false).config("spark.log.level", "ERROR")
				.config("spark.driver.host", "localhost")
				.config("spark.sql.shuffle.partitions", 2)
				.config("spark.local.dir", scratch.path("local").toString())
				.config("spark.sql.warehouse.dir", scratch.path("warehouse").toString())
				.getOrCreate();
		String orders = scratch.path("orders").toString();
		session.range(0, ROWS, 1, 2).selectExpr("id % 365 as day", "id % 1000 as customer",
				"concat('item', id * 7919 % 5000) as item", "rand(1) * 100 as amount")
				.write().option("compression", "zstd").parquet(orders);
		session.read().parquet(orders).createOrReplaceTempView("orders");
		front = new Front(null, Executors.newFixedThreadPool(THREADS), this::answer);
		return front.port();
	}

	private byte[] answer(int number) {
		int day = number % QUERIES * 10;
		String query = "SELECT item, count(*) AS orders, sum(amount) AS total FROM orders"
				+ " WHERE day BETWEEN " + day + " AND " + (day + 60)
				+ " GROUP BY item ORDER BY total DESC LIMIT 10";
		return session.sql(query).collectAsList().toString()
				.getBytes(StandardCharsets.UTF_8);
	}

	@Override
	public void close() {
		front.close();
		session.stop();
	}
}
