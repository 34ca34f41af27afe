// SPDX-License-Identifier: Apache-2.0
package services;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.LongAdder;

/** Whether a service leaks, and what it has leaked so far. */
final class Leaks {
	/** Memory of the Java VM: the resident set of the twin shows it. */
	static final long UNKNOWN = -1;

	private final boolean areOn;
	private final Map<String, Count> counts = new TreeMap<>();

	private static final class Count {
		final LongAdder objects = new LongAdder();
		final LongAdder bytes = new LongAdder();
		volatile boolean isKnown = true;
	}

	Leaks(boolean areOn) {
		this.areOn = areOn;
	}

	/** Whether the next object leaks: one of `period` by number, and none in the clean twin. */
	boolean has(int number, int period) {
		return areOn && number % period == 0;
	}

	boolean areOn() {
		return areOn;
	}

	/** Counts an object of the leak of that name. */
	void add(String name, long bytes) {
		Count count;
		synchronized (counts) {
			count = counts.computeIfAbsent(name, any -> new Count());
		}
		count.objects.increment();
		if (bytes == UNKNOWN)
			count.isKnown = false;
		else
			count.bytes.add(bytes);
	}

	/** One JSON object for each leak. */
	void tell() {
		counts.forEach((name, count) -> System.out.printf(
				"{\"kind\": \"leak\", \"name\": \"%s\", \"objects\": %d, \"bytes\": %s}%n",
				name, count.objects.sum(),
				count.isKnown ? Long.toString(count.bytes.sum()) : "null"));
	}
}
