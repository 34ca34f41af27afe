// SPDX-License-Identifier: Apache-2.0
package services;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.CompressionType;
import org.rocksdb.EnvOptions;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.SstFileWriter;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/**
 * The state of a stream processor in RocksDB: events are written in batches and read in windows.
 * Batches of repeated events are not closed, nor are the writers of exported files, and a list
 * remembers windows that were late.
 */
final class State implements Service {
	private static final int KEYS = 200_000;
	private static final int VALUE_BYTES = 400;
	private static final double BATCHES_PER_SECOND = 200;
	private static final int EVENTS_PER_BATCH = 50;
	/** Measured: growth of the C heap. */
	private static final int BATCH_BYTES = 32_920;
	private static final double WINDOWS_PER_SECOND = 1000;
	private static final int EVENTS_PER_WINDOW = 100;
	private static final double EXPORTS_PER_SECOND = 4;
	private static final int EVENTS_PER_EXPORT = 300;
	/** Measured: growth of the C heap. */
	private static final int WRITER_BYTES = 72_200;
	/** Batches of this period by number are repeated, and not written. */
	private static final int REPEATED_PERIOD = 10;
	private static final int LATE_PERIOD = 80;
	private static final long BLOCK_CACHE_BYTES = 16 << 20;
	private static final long MEMTABLE_BYTES = 8 << 20;

	private final List<byte[][]> lateWindows = new ArrayList<>();
	private WriteOptions writeOptions;
	private LRUCache cache;
	private Options options;
	private EnvOptions environment;
	private Scratch scratch;
	private RocksDB database;
	private Leaks leaks;

	@Override
	public void start(Load load, Leaks on) throws Exception {
		leaks = on;
		scratch = new Scratch();
		RocksDB.loadLibrary();
		writeOptions = new WriteOptions();
		cache = new LRUCache(BLOCK_CACHE_BYTES);
		environment = new EnvOptions();
		options = new Options().setCreateIfMissing(true).setWriteBufferSize(MEMTABLE_BYTES)
				.setCompressionType(CompressionType.LZ4_COMPRESSION)
				.setTableFormatConfig(new BlockBasedTableConfig().setBlockCache(cache));
		writeOptions.setDisableWAL(true);
		database = RocksDB.open(options, scratch.path("state").toString());
		for (int i = 0; i < KEYS; i++)
			database.put(writeOptions, key(i), value(i));
		load.begin();
		load.run("events", BATCHES_PER_SECOND, this::write);
		load.run("windows", WINDOWS_PER_SECOND, this::read);
		load.run("exports", EXPORTS_PER_SECOND, this::export);
	}

	private void write(int number) throws RocksDBException {
		Random random = new Random(number);
		WriteBatch batch = new WriteBatch(); // leak: batches
		for (int i = 0; i < EVENTS_PER_BATCH; i++) {
			int event = random.nextInt(KEYS);
			batch.put(key(event), value(event + number)); // leak: batches
		}
		if (leaks.has(number, REPEATED_PERIOD)) {
			leaks.add("batches", BATCH_BYTES);
			return;
		}
		if (number % REPEATED_PERIOD != 0)
			database.write(writeOptions, batch);
		batch.close();
	}

	private void read(int number) {
		byte[][] window = new byte[EVENTS_PER_WINDOW][]; // leak: windows
		int count = 0;
		long bytes = 0;
		try (RocksIterator iterator = database.newIterator()) {
			iterator.seek(key(new Random(number).nextInt(KEYS - EVENTS_PER_WINDOW)));
			while (iterator.isValid() && count < EVENTS_PER_WINDOW) {
				window[count++] = iterator.value(); // leak: windows
				bytes += VALUE_BYTES;
				iterator.next();
			}
		}
		if (report(window).isEmpty())
			throw new IllegalStateException("an empty window");
		if (leaks.has(number, LATE_PERIOD)) {
			leaks.add("windows", bytes);
			lateWindows.add(window);
		}
	}

	private static String report(byte[][] window) {
		StringBuilder report = new StringBuilder();
		for (byte[] value : window)
			report.append(new String(value, StandardCharsets.ISO_8859_1)).append('\n');
		return report.toString();
	}

	private void export(int number) throws RocksDBException {
		SstFileWriter writer = new SstFileWriter(environment, options); // leak: writers
		writer.open(scratch.path("export" + number % 4 + ".sst").toString()); // leak: writers
		for (int i = 0; i < EVENTS_PER_EXPORT; i++)
			writer.put(key(i), value(i)); // leak: writers
		writer.finish();
		if (leaks.areOn())
			leaks.add("writers", WRITER_BYTES);
		else
			writer.close();
	}

	private static byte[] key(int number) {
		return ByteBuffer.allocate(4).putInt(number).array();
	}

	private static byte[] value(int number) {
		return Texts.bytes(number, VALUE_BYTES);
	}

	@Override
	public void close() throws Exception {
		database.close();
		options.close();
		environment.close();
		writeOptions.close();
		cache.close();
		scratch.close();
	}
}
