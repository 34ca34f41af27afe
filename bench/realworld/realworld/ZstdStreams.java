// SPDX-License-Identifier: Apache-2.0
package realworld;

import com.github.luben.zstd.ZstdInputStreamNoFinalizer;
import com.github.luben.zstd.ZstdOutputStreamNoFinalizer;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import leaks.Pace;
import leaks.Program;
import leaks.Texts;
import leaks.Truth;

/** Compressing streams of zstd-jni that are not closed. */
public final class ZstdStreams implements Program {
	private static final int STREAMS = 300;
	private static final int BYTES = 200_000;

	private final byte[] text = Texts.bytes(BYTES);

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		pace.run(STREAMS, step -> {
			byte[] packed = compress(leaking);
			if (!leaking)
				expand(packed);
		});
		if (leaking)
			Truth.leak("native", "realworld.ZstdStreams.compress", Truth.UNKNOWN, Truth.UNKNOWN);
	}

	private byte[] compress(boolean leaking) throws IOException {
		ByteArrayOutputStream packed = new ByteArrayOutputStream();
		OutputStream stream = new ZstdOutputStreamNoFinalizer(packed);
		stream.write(text);
		stream.flush();
		if (!leaking)
			stream.close();
		return packed.toByteArray();
	}

	private void expand(byte[] packed) throws IOException {
		try (var stream = new ZstdInputStreamNoFinalizer(new ByteArrayInputStream(packed))) {
			Texts.check(stream.readAllBytes(), text);
		}
	}
}
