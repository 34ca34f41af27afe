// SPDX-License-Identifier: Apache-2.0
package leaks;

import com.github.luben.zstd.ZstdOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Streams of zstd-jni that are not closed but have finalizers: when collected, they free
 * memory.
 */
final class ZstdFinalizers implements Program {
	private static final int STREAMS = 60;
	private static final int BYTES = 200_000;
	private static final AtomicInteger FINALIZED = new AtomicInteger();

	private final List<Object> owners = new ArrayList<>();

	/** Reports when its finalizer is done. */
	@SuppressWarnings("deprecation")
	private static final class Stream extends ZstdOutputStream {
		Stream() throws IOException {
			super(new ByteArrayOutputStream());
		}

		@Override
		protected void finalize() throws Throwable {
			super.finalize();
			FINALIZED.incrementAndGet();
		}
	}

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		byte[] text = Texts.bytes(BYTES);
		for (int i = 0; i < STREAMS; i++)
			owners.add(createStream(text));
		Truth.settle();
		Truth.live("native", "leaks.ZstdFinalizers.createStream", Truth.UNKNOWN, Truth.UNKNOWN);
		owners.clear();
		Truth.settle(() -> FINALIZED.get() == STREAMS);
		Truth.live("native", "leaks.ZstdFinalizers.createStream", 0, Truth.UNKNOWN);
	}

	private static Object createStream(byte[] text) throws IOException {
		Stream stream = new Stream();
		stream.write(text);
		stream.flush();
		return stream;
	}
}
