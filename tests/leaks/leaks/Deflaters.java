// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.util.ArrayList;
import java.util.List;
import java.util.zip.Deflater;

/**
 * 1,000 Deflaters that are kept, finished but without end(): each holds about 270 KB in C,
 * thousands of times its size in the Java heap.
 */
final class Deflaters implements Program {
	private static final int DEFLATERS = 1000;
	private static final int BYTES = 2000;

	private final List<Deflater> finished = new ArrayList<>();
	private final byte[] text = Texts.bytes(BYTES);
	private final byte[] packed = new byte[BYTES * 2];

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		pace.run(DEFLATERS, step -> {
			Deflater deflater = deflate();
			if (leaking)
				finished.add(deflater);
			else
				deflater.end();
		});
		if (leaking)
			Truth.leak("native", "leaks.Deflaters.deflate", Truth.UNKNOWN, Truth.UNKNOWN);
	}

	private Deflater deflate() {
		Deflater deflater = new Deflater();
		deflater.setInput(text);
		deflater.finish();
		deflater.deflate(packed);
		return deflater;
	}
}
