// SPDX-License-Identifier: Apache-2.0
package services;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdCompressCtx;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import net.jpountz.lz4.LZ4Compressor;
import net.jpountz.lz4.LZ4Factory;
import net.jpountz.lz4.LZ4FastDecompressor;
import org.xerial.snappy.Snappy;

/**
 * Blocks are taken from lz4, through snappy, to zstd.  The context of a block that is cancelled is
 * not closed, and samples for a dictionary are collected without end.
 */
final class Pipeline implements Service {
	private static final double BLOCKS_PER_SECOND = 350;
	private static final int BLOCK_BYTES = 128 << 10;
	private static final int QUEUED = 16;
	private static final int LEVEL = 1;
	/** Blocks of this period by number are cancelled. */
	private static final int CANCELLED_PERIOD = 150;
	/** Measured: growth of the C heap. */
	private static final int CONTEXT_BYTES = 550_100;
	private static final int SAMPLE_BYTES = 1200;

	private final LZ4Compressor compressor = LZ4Factory.nativeInstance().fastCompressor();
	private final LZ4FastDecompressor decompressor =
			LZ4Factory.nativeInstance().fastDecompressor();
	private final BlockingQueue<byte[]> fetched = new ArrayBlockingQueue<>(QUEUED);
	private final BlockingQueue<byte[]> unpacked = new ArrayBlockingQueue<>(QUEUED);
	private final List<byte[]> samples = new ArrayList<>();
	private Leaks leaks;

	@Override
	public void start(Load load, Leaks on) {
		leaks = on;
		load.begin();
		load.run("fetch", BLOCKS_PER_SECOND,
				step -> fetched.offer(compressor.compress(Texts.bytes(step, BLOCK_BYTES))));
		load.run("unpack", BLOCKS_PER_SECOND, step -> {
			byte[] block = fetched.poll();
			if (block != null)
				unpacked.offer(Snappy.compress(decompressor.decompress(block, BLOCK_BYTES)));
		});
		load.run("pack", BLOCKS_PER_SECOND, step -> {
			byte[] block = unpacked.poll();
			if (block != null)
				pack(step, Snappy.uncompress(block));
		});
	}

	private void pack(int number, byte[] block) {
		ZstdCompressCtx context = new ZstdCompressCtx(); // leak: contexts
		context.setLevel(LEVEL);
		byte[] packed = context.compress(block); // leak: contexts
		sample(block);
		if (leaks.has(number, CANCELLED_PERIOD)) {
			leaks.add("contexts", CONTEXT_BYTES);
			return;
		}
		context.close();
		if (Zstd.decompressedSize(packed) != block.length)
			throw new IllegalStateException("another size");
	}

	private void sample(byte[] block) {
		byte[] sample = new byte[SAMPLE_BYTES]; // leak: samples
		System.arraycopy(block, 0, sample, 0, SAMPLE_BYTES);
		if (leaks.areOn()) {
			leaks.add("samples", SAMPLE_BYTES);
			samples.add(sample); // leak: samples
		}
	}

	@Override
	public void close() {
	}
}
