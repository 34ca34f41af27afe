// SPDX-License-Identifier: Apache-2.0
package mixed;

import java.io.PrintStream;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The allocations of every site, known by arithmetic rather than observation: the number of
 * calls times the size of one call.  Printed at the end, one JSON object per line.
 */
final class Ledger {
	/** For `live`: the number left at the end depends on when the VM collects. */
	static final long UNKNOWN = -1;

	enum Heap {
		JAVA,
		NATIVE
	}

	/**
	 * Totals of one site.  A site is named by a function that occurs in its stacks only.
	 */
	private static final class Entry {
		final Heap heap;
		final String type;
		final long size;
		final List<String> path;
		long objects;
		long bytes;
		long liveObjects;
		long liveBytes;
		boolean liveKnown = true;

		Entry(Heap heap, String type, long size, List<String> path) {
			this.heap = heap;
			this.type = type;
			this.size = size;
			this.path = path;
		}

		String toJson(String site) {
			StringBuilder text = new StringBuilder(200);
			text.append("{\"site\": \"").append(site);
			text.append("\", \"heap\": \"").append(heap.name().toLowerCase());
			text.append("\", \"class\": ").append(type == null ? "null" : "\"" + type + "\"");
			text.append(", \"size\": ").append(size);
			text.append(", \"objects\": ").append(objects);
			text.append(", \"bytes\": ").append(bytes);
			text.append(", \"live_objects\": ").append(liveKnown ? liveObjects : "null");
			text.append(", \"live_bytes\": ").append(liveKnown ? liveBytes : "null");
			if (!path.isEmpty())
				text.append(", \"path\": [\"").append(String.join("\", \"", path)).append("\"]");
			return text.append("}").toString();
		}
	}

	private final Map<String, Entry> entries = new LinkedHashMap<>();

	/** Adds `objects` native blocks of `size` bytes, of which `live` are never freed. */
	void addNative(String function, long size, long objects, long live, String... path) {
		add(Heap.NATIVE, function, null, size, objects, objects * size, live, path);
	}

	/** Adds native blocks of different sizes that total `bytes`; all of them are freed. */
	void addNativeGrowth(String function, long objects, long bytes) {
		add(Heap.NATIVE, function, null, 0, objects, bytes, 0);
	}

	/** Adds `objects` Java objects of `size` bytes, of which `live` stay reachable. */
	void addJava(String method, String type, long size, long objects, long live, String... path) {
		add(Heap.JAVA, method, type, size, objects, objects * size, live, path);
	}

	private synchronized void add(Heap heap, String site, String type, long size, long objects,
			long bytes, long live, String... path) {
		Entry entry = entries.computeIfAbsent(heap + site,
				key -> new Entry(heap, type, size, List.of(path)));
		entry.objects += objects;
		entry.bytes += bytes;
		entry.liveKnown &= live != UNKNOWN;
		entry.liveObjects += live;
		entry.liveBytes += live * size;
	}

	synchronized void print(PrintStream out) {
		entries.forEach((key, entry) -> {
			String site = key.substring(entry.heap.name().length());
			out.println(entry.toJson(site));
		});
	}
}
