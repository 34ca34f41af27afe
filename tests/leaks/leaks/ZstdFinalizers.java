// SPDX-License-Identifier: Apache-2.0
package leaks;

import com.github.luben.zstd.ZstdOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Streams of zstd-jni that are not closed but have finalizers: collected, they free memory. */
final class ZstdFinalizers implements Program {
	private static final int STREAMS = 60;
	private static final int BYTES = 200_000;

	private final List<Object> owners = new ArrayList<>();

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		byte[] text = Texts.bytes(BYTES);
		for (int i = 0; i < STREAMS; i++)
			owners.add(createStream(text));
		Truth.settle();
		Truth.live("native", "leaks.ZstdFinalizers.createStream", Truth.UNKNOWN, Truth.UNKNOWN);
		owners.clear();
		Truth.settle();
		Truth.live("native", "leaks.ZstdFinalizers.createStream", 0, Truth.UNKNOWN);
	}

	@SuppressWarnings("deprecation")
	private static Object createStream(byte[] text) throws IOException {
		ZstdOutputStream stream = new ZstdOutputStream(new ByteArrayOutputStream());
		stream.write(text);
		stream.flush();
		return stream;
	}
}
