// SPDX-License-Identifier: Apache-2.0
package services;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.xerial.snappy.Snappy;

/** Reports for tenants, each in a pool of threads of its own, which is not shut down. */
final class Tenants implements Service {
	private static final double TENANTS_PER_SECOND = 8;
	private static final int THREADS_PER_TENANT = 2;
	private static final int REPORTS = 36;
	private static final int REPORT_BYTES = 200 << 10;

	private Leaks leaks;

	@Override
	public void start(Load load, Leaks on) {
		leaks = on;
		load.begin();
		load.run("tenants", TENANTS_PER_SECOND, this::serve);
	}

	private void serve(int number) throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(THREADS_PER_TENANT); // leak: threads
		List<Future<Integer>> reports = new ArrayList<>();
		for (int i = 0; i < REPORTS; i++) {
			int seed = number * REPORTS + i;
			reports.add(pool.submit(() -> report(seed))); // leak: threads
		}
		for (Future<Integer> report : reports)
			report.get();
		if (leaks.areOn())
			for (int i = 0; i < THREADS_PER_TENANT; i++)
				leaks.add("threads", Leaks.UNKNOWN);
		else
			pool.shutdown();
	}

	private static int report(int seed) throws Exception {
		byte[] text = Texts.text(seed, REPORT_BYTES).toUpperCase().getBytes();
		return Snappy.uncompress(Snappy.compress(text)).length;
	}

	@Override
	public void close() {
	}
}
