// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.Deflater;

/**
 * Native memory that hangs on Java objects: it is there as long as they are, and gone when a
 * collection has let their Cleaners run.
 */
final class Cleaners implements Program {
	private static final int COUNT = 200;
	private static final int BUFFER_BYTES = 100_000;

	private final List<Object> owners = new ArrayList<>();

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		for (int i = 0; i < COUNT; i++) {
			owners.add(createDeflater());
			owners.add(createBuffer());
		}
		Truth.settle();
		tell(COUNT);
		owners.clear();
		Truth.settle();
		tell(0);
	}

	private static Object createDeflater() {
		return new Deflater();
	}

	private static Object createBuffer() {
		return ByteBuffer.allocateDirect(BUFFER_BYTES);
	}

	private static void tell(int count) {
		Truth.live("native", "leaks.Cleaners.createBuffer", (long) count * BUFFER_BYTES,
				Truth.UNKNOWN);
		Truth.live("native", "leaks.Cleaners.createDeflater",
				count == 0 ? 0 : Truth.UNKNOWN, Truth.UNKNOWN);
	}
}
