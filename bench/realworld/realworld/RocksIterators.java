// SPDX-License-Identifier: Apache-2.0
package realworld;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import leaks.Pace;
import leaks.Program;
import leaks.Truth;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksIterator;

/**
 * Iterators of RocksDB that are not closed: each keeps the data it has read, and its snapshot.
 */
public final class RocksIterators implements Program {
	private static final int SCANS = 4000;
	private static final int KEYS = 20_000;
	private static final int KEYS_READ = 200;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		RocksDB.loadLibrary();
		try (Scratch scratch = new Scratch(); Options options = new Options()) {
			options.setCreateIfMissing(true);
			/* Not closed, because that would close its iterators as well. */
			RocksDB database = RocksDB.open(options, scratch.path("rocks"));
			for (int i = 0; i < KEYS; i++)
				database.put(key(i), new byte[100]);
			pace.run(SCANS, step -> scan(database, step, leaking));
		}
		if (leaking)
			Truth.leak("native", "realworld.RocksIterators.scan", Truth.UNKNOWN, Truth.UNKNOWN);
	}

	private static void scan(RocksDB database, int step, boolean leaking) {
		RocksIterator iterator = database.newIterator();
		int found = 0;
		for (iterator.seek(key(step)); iterator.isValid() && found < KEYS_READ; iterator.next())
			found += iterator.value().length / 100;
		if (found != KEYS_READ)
			throw new IllegalStateException("found " + found);
		if (!leaking)
			iterator.close();
	}

	private static byte[] key(int number) {
		return ByteBuffer.allocate(4).putInt(number).array();
	}
}
