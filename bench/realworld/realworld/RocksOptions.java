// SPDX-License-Identifier: Apache-2.0
package realworld;

import leaks.Pace;
import leaks.Program;
import leaks.Truth;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompressionType;
import org.rocksdb.RocksDB;

/** Column family options, created for each request and not closed. */
public final class RocksOptions implements Program {
	private static final int REQUESTS = 20_000;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		RocksDB.loadLibrary();
		pace.run(REQUESTS, step -> prepare(leaking));
		if (leaking)
			Truth.leak("native", "realworld.RocksOptions.prepare", Truth.UNKNOWN, Truth.UNKNOWN);
	}

	private static void prepare(boolean leaking) {
		ColumnFamilyOptions options = new ColumnFamilyOptions();
		options.setCompressionType(CompressionType.LZ4_COMPRESSION);
		if (!leaking)
			options.close();
	}
}
