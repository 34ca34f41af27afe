// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.BooleanSupplier;

/**
 * The true figures of the program, for checking a report: one JSON object per line.  Leaked
 * bytes are known by arithmetic; where a library allocates internally a {@link Ledger} counts
 * them, and without one they are unknown.
 */
public final class Truth {
	public static final long UNKNOWN = -1;
	/** Far longer than Cleaners, finalizers and a profiler need on any working machine. */
	private static final long PATIENCE_NANOS = 60_000_000_000L;
	private static final long POLL_MILLIS = 20;
	private static final int OBJECT_ALIGNMENT = 8;
	/** Header and length, with compressed class pointers. */
	private static final int ARRAY_HEADER = 16;

	private Truth() {
	}

	/** A leak: every finding of it has this frame in its stack. */
	public static void leak(String heap, String frame, long bytes, long objects) {
		boolean isCounted = bytes == UNKNOWN && heap.equals("native")
				&& Ledger.bytes() != UNKNOWN;
		if (isCounted) {
			bytes = Ledger.bytes();
			objects = Ledger.objects();
		}
		System.out.printf("{\"verdict\": \"leak\", \"heap\": \"%s\", \"frame\": \"%s\","
				+ " \"is_counted\": %s, \"live_bytes\": %s, \"live_objects\": %s}%n", heap,
				frame, isCounted, known(bytes), known(objects));
	}

	/** What a site without a leak holds at this time; unknown bytes mean more than zero. */
	public static void live(String heap, String frame, long bytes, long objects) {
		System.out.printf("{\"verdict\": null, \"time\": %d, \"heap\": \"%s\","
				+ " \"frame\": \"%s\", \"live_bytes\": %s, \"live_objects\": %s}%n",
				System.nanoTime(), heap, frame, known(bytes), known(objects));
	}

	/** The growth of resident memory of the process while the program ran. */
	static void grew(long bytes) {
		System.out.printf("{\"verdict\": \"grew\", \"bytes\": %d}%n", bytes);
	}

	/** The C heap memory that the steps did not free, leaked or not. */
	static void held(long bytes, long objects) {
		System.out.printf("{\"verdict\": \"held\", \"live_bytes\": %s, \"live_objects\": %s}%n",
				known(bytes), known(objects));
	}

	/** The resident memory of this process. */
	static long residentBytes() throws IOException {
		for (String line : Files.readAllLines(Path.of("/proc/self/status")))
			if (line.startsWith("VmRSS:"))
				return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024;
		throw new IOException("no VmRSS in /proc/self/status");
	}

	/**
	 * Collects all garbage until {@code isSettled} reports that Cleaners and finalizers
	 * have run, and then notifies the profiler.  Polls instead of relying on a fixed time:
	 * a busy machine may delay any of the threads involved.
	 */
	static void settle(BooleanSupplier isSettled) throws InterruptedException {
		long end = System.nanoTime() + PATIENCE_NANOS;
		System.gc();
		while (!isSettled.getAsBoolean()) {
			if (System.nanoTime() - end > 0)
				throw new IllegalStateException("what is dead is not known as dead");
			Thread.sleep(POLL_MILLIS);
			System.gc();
		}
		if (!Native.flushRecording())
			throw new IllegalStateException("the recording was not flushed");
	}

	/** The same for programs without Cleaners and finalizers. */
	static void settle() throws InterruptedException {
		settle(() -> true);
	}

	/** The size in the heap of a byte array of that length. */
	public static long arrayBytes(int length) {
		return (ARRAY_HEADER + length + OBJECT_ALIGNMENT - 1) / OBJECT_ALIGNMENT
				* OBJECT_ALIGNMENT;
	}

	private static String known(long number) {
		return number == UNKNOWN ? "null" : Long.toString(number);
	}
}
