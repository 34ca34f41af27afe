// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.Deflater;

/** Native memory owned by Java objects: freed when a collection has let their Cleaners run. */
final class Cleaners implements Program {
	private static final int COUNT = 200;
	private static final int BUFFER_BYTES = 100_000;

	private final BufferPoolMXBean pool = ManagementFactory
			.getPlatformMXBeans(BufferPoolMXBean.class).stream()
			.filter(bean -> bean.getName().equals("direct")).findFirst().orElseThrow();
	private final List<Object> owners = new ArrayList<>();
	/**
	 * The objects that the Deflaters' Cleaners work on; they do not keep the Deflaters
	 * alive.
	 */
	private final List<Object> streams = new ArrayList<>();

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		long buffersBefore = pool.getCount();
		for (int i = 0; i < COUNT; i++) {
			Deflater deflater = createDeflater();
			owners.add(deflater);
			streams.add(streamOf(deflater));
			owners.add(createBuffer());
		}
		Truth.settle();
		tell(COUNT);
		owners.clear();
		Truth.settle(() -> areEnded() && pool.getCount() <= buffersBefore);
		/* The last one may not have finished: they run one at a time. */
		streams.add(streamOf(new Deflater()));
		Truth.settle(this::areEnded);
		tell(0);
	}

	private static Object streamOf(Deflater deflater) throws ReflectiveOperationException {
		Field field = Deflater.class.getDeclaredField("zsRef");
		field.setAccessible(true);
		return field.get(deflater);
	}

	/** Whether the Cleaner of each Deflater has at least started. */
	private boolean areEnded() {
		try {
			for (Object stream : streams) {
				Field address = stream.getClass().getDeclaredField("address");
				address.setAccessible(true);
				if (address.getLong(stream) != 0)
					return false;
			}
			return true;
		} catch (ReflectiveOperationException error) {
			throw new IllegalStateException(error);
		}
	}

	private static Deflater createDeflater() {
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
