// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.xerial.snappy.Snappy;

/** Round trips through snappy-java, with arrays and with direct buffers. */
final class SnappyRoundTrips implements Program {
	private static final int TRIPS = 2000;
	private static final int BYTES = 64_000;

	private final byte[] text = Texts.bytes(BYTES);

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		pace.run(TRIPS, step -> {
			Texts.check(Snappy.uncompress(Snappy.compress(text)), text);
			if (step % 10 == 0)
				tripThroughBuffers();
		});
	}

	private void tripThroughBuffers() throws IOException {
		ByteBuffer plain = ByteBuffer.allocateDirect(BYTES);
		ByteBuffer packed = ByteBuffer.allocateDirect(Snappy.maxCompressedLength(BYTES));
		byte[] found = new byte[BYTES];
		plain.put(text).flip();
		Snappy.compress(plain, packed);
		plain.clear();
		Snappy.uncompress(packed, plain);
		plain.get(found);
		Texts.check(found, text);
	}
}
