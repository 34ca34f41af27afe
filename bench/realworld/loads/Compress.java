// SPDX-License-Identifier: Apache-2.0
package loads;

import com.github.luben.zstd.Zstd;
import java.util.Arrays;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import net.jpountz.lz4.LZ4Factory;
import org.xerial.snappy.Snappy;

/** Round trips through zstd, snappy, lz4 and the JDK's zlib. */
final class Compress implements Load {
	private static final int TRIPS = 600;
	private static final int BYTES = 400_000;

	@Override
	public long run(String directory) throws Exception {
		CRC32 sum = new CRC32();
		LZ4Factory lz4 = LZ4Factory.nativeInstance();
		byte[] text = text();
		for (int i = 0; i < TRIPS; i++) {
			text[i] ^= 1;
			byte[] packed = Zstd.compress(text, 3);
			check(Zstd.decompress(packed, BYTES), text);
			sum.update(packed);
			packed = Snappy.compress(text);
			check(Snappy.uncompress(packed), text);
			sum.update(packed);
			packed = lz4.fastCompressor().compress(text);
			check(lz4.fastDecompressor().decompress(packed, BYTES), text);
			sum.update(packed);
			if (i % 8 == 0)
				sum.update(deflate(text));
		}
		return sum.getValue();
	}

	private static byte[] deflate(byte[] text) {
		Deflater deflater = new Deflater();
		deflater.setInput(text);
		deflater.finish();
		byte[] packed = new byte[BYTES];
		int length = deflater.deflate(packed);
		deflater.end();
		return Arrays.copyOf(packed, length);
	}

	private static byte[] text() {
		byte[] bytes = new byte[BYTES];
		long state = 1;
		for (int i = 0; i < BYTES; i++) {
			state = state * 6364136223846793005L + 1442695040888963407L;
			bytes[i] = (byte) ('a' + (state >>> 60));
		}
		return bytes;
	}

	private static void check(byte[] found, byte[] expected) {
		if (!Arrays.equals(found, expected))
			throw new IllegalStateException("a round trip changed the bytes");
	}
}
