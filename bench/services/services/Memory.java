// SPDX-License-Identifier: Apache-2.0
package services;

import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.NativeLong;
import com.sun.jna.Structure;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;

/** The memory of this process, from the kernel and the C library. */
public final class Memory {
	private static final Libc LIBC = Native.load("c", Libc.class);

	/** The part of the C library that is used. */
	public interface Libc extends Library {
		Mallinfo mallinfo2();
	}

	/** struct mallinfo2 of malloc.h. */
	@Structure.FieldOrder({"arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
			"uordblks", "fordblks", "keepcost"})
	public static final class Mallinfo extends Structure implements Structure.ByValue {
		public NativeLong arena;
		public NativeLong ordblks;
		public NativeLong smblks;
		public NativeLong hblks;
		public NativeLong hblkhd;
		public NativeLong usmblks;
		public NativeLong fsmblks;
		public NativeLong uordblks;
		public NativeLong fordblks;
		public NativeLong keepcost;
	}

	private Memory() {
	}

	/** Bytes in blocks that malloc has handed out, in all arenas; the library needs glibc 2.33. */
	static long mallocBytes() {
		Mallinfo info = LIBC.mallinfo2();
		return info.uordblks.longValue() + info.hblkhd.longValue();
	}

	/** Bytes in use for the classes of the Java VM. */
	private static long metaspaceBytes() {
		return ManagementFactory.getMemoryPoolMXBeans().stream()
				.filter(pool -> pool.getName().equals("Metaspace"))
				.mapToLong(pool -> pool.getUsage().getUsed()).sum();
	}

	/** A field of /proc/self/status, such as VmRSS. */
	static long status(String field) {
		try {
			for (String line : Files.readAllLines(Path.of("/proc/self/status")))
				if (line.startsWith(field + ":"))
					return Long.parseLong(line.replaceAll("[^0-9]", ""));
		} catch (IOException error) {
			throw new UncheckedIOException(error);
		}
		throw new IllegalStateException("no " + field + " in /proc/self/status");
	}

	/** What the process has in memory now, as a JSON object. */
	static String tell(double share) {
		return String.format("{\"kind\": \"memory\", \"share\": %.2f, \"rss\": %d,"
				+ " \"malloc\": %d, \"metaspace\": %d, \"threads\": %d}", share,
				status("VmRSS") * 1024, mallocBytes(), metaspaceBytes(), status("Threads"));
	}
}
