// SPDX-License-Identifier: Apache-2.0
package realworld;

import leaks.Pace;
import leaks.Program;
import leaks.Texts;
import net.jpountz.lz4.LZ4Compressor;
import net.jpountz.lz4.LZ4Factory;
import net.jpountz.lz4.LZ4FastDecompressor;

/** Round trips through the native half of lz4-java: leaks nothing. */
public final class Lz4RoundTrips implements Program {
	private static final int TRIPS = 1000;
	private static final int BYTES = 64_000;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		LZ4Factory factory = LZ4Factory.nativeInstance();
		LZ4Compressor compressor = factory.highCompressor();
		LZ4FastDecompressor decompressor = factory.fastDecompressor();
		byte[] text = Texts.bytes(BYTES);
		pace.run(TRIPS, step ->
			Texts.check(decompressor.decompress(compressor.compress(text), BYTES), text));
	}
}
