// SPDX-License-Identifier: Apache-2.0
package leaks;

import net.jpountz.lz4.LZ4Compressor;
import net.jpountz.lz4.LZ4Factory;
import net.jpountz.lz4.LZ4FastDecompressor;

/** Round trips through the native half of lz4-java, its two compressors in turn. */
final class Lz4RoundTrips implements Program {
	private static final int TRIPS = 1000;
	private static final int BYTES = 64_000;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		LZ4Factory factory = LZ4Factory.nativeInstance();
		LZ4Compressor[] compressors = {factory.fastCompressor(), factory.highCompressor()};
		LZ4FastDecompressor decompressor = factory.fastDecompressor();
		byte[] text = Texts.bytes(BYTES);
		pace.run(TRIPS, step -> {
			byte[] packed = compressors[step % compressors.length].compress(text);
			Texts.check(decompressor.decompress(packed, BYTES), text);
		});
	}
}
