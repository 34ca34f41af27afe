// SPDX-License-Identifier: Apache-2.0
package services;

import java.util.ArrayList;
import java.util.List;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/**
 * Archives of tenants, each with a compressor that stays open until the process ends: a shutdown
 * hook ends all of them.
 */
final class Stores implements Service {
	private static final double ARCHIVES_PER_SECOND = 4;
	/** Measured: growth of the C heap. */
	private static final int DEFLATER_BYTES = 268_400;
	private static final double RECORDS_PER_SECOND = 150;
	private static final int RECORD_BYTES = 32 << 10;
	private static final double READS_PER_SECOND = 600;
	private static final int READ_BYTES = 256 << 10;

	private static final byte[] NOTHING = {};

	private final List<Deflater> open = new ArrayList<>();
	private Leaks leaks;

	@Override
	public void start(Load load, Leaks on) {
		leaks = on;
		Runtime.getRuntime().addShutdownHook(new Thread(this::endAll, "stores-shutdown"));
		load.begin();
		load.run("archives", ARCHIVES_PER_SECOND, this::archive);
		load.run("records", RECORDS_PER_SECOND, Stores::record);
		load.run("reads", READS_PER_SECOND, Stores::read);
	}

	private void endAll() {
		synchronized (open) {
			open.forEach(Deflater::end);
			open.clear();
		}
	}

	private void archive(int number) {
		Deflater deflater = new Deflater(); // leak: deflaters
		pack(deflater, Texts.bytes(number, RECORD_BYTES));
		if (leaks.areOn()) {
			leaks.add("deflaters", DEFLATER_BYTES);
			synchronized (open) {
				open.add(deflater);
			}
		} else {
			deflater.end();
		}
	}

	private static byte[] pack(Deflater deflater, byte[] bytes) {
		byte[] packed = new byte[bytes.length + 64];
		deflater.setInput(bytes);
		deflater.finish();
		deflater.deflate(packed);
		/* It would keep its input. */
		deflater.setInput(NOTHING);
		return packed;
	}

	/** A record is packed and read back. */
	private static void record(int number) throws DataFormatException {
		Deflater deflater = new Deflater(Deflater.BEST_SPEED);
		Inflater inflater = new Inflater();
		try {
			inflater.setInput(pack(deflater, Texts.bytes(number, RECORD_BYTES)));
			byte[] unpacked = new byte[RECORD_BYTES];
			if (inflater.inflate(unpacked) != RECORD_BYTES)
				throw new DataFormatException("too short");
		} finally {
			deflater.end();
			inflater.end();
		}
	}

	private static void read(int number) {
		if (Texts.text(number, READ_BYTES).toUpperCase().indexOf("WORD") < 0)
			throw new IllegalStateException("not the text");
	}

	@Override
	public void close() {
	}
}
