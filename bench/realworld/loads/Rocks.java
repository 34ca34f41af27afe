// SPDX-License-Identifier: Apache-2.0
package loads;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksIterator;

/** Fills a RocksDB and reads all of it. */
final class Rocks implements Load {
	private static final int KEYS = 450_000;

	@Override
	public long run(String directory) throws Exception {
		RocksDB.loadLibrary();
		try (Options options = new Options().setCreateIfMissing(true);
				RocksDB database = RocksDB.open(options, directory)) {
			byte[] value = new byte[100];
			for (int i = 0; i < KEYS; i++) {
				Arrays.fill(value, (byte) i);
				database.put(ByteBuffer.allocate(8).putLong(i * 0x9e3779b97f4a7c15L).array(), value);
			}
			long sum = 0;
			try (RocksIterator iterator = database.newIterator()) {
				for (iterator.seekToFirst(); iterator.isValid(); iterator.next())
					sum = sum * 31 + Arrays.hashCode(iterator.key()) + iterator.value()[0];
			}
			return sum;
		}
	}
}
