// SPDX-License-Identifier: Apache-2.0

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;

/**
 * Produces garbage that a collector reclaims easily, keeps a small part of it, and prints the
 * collections that ran.
 *
 * <pre>
 * Garbage arrays BYTES COUNT    arrays, of which the last eight and one in 128 are kept
 * Garbage lists COUNT           lists of 20,000 nodes; with one in 32 an array of 100,000 bytes is
 *                               kept; a full collection at the end
 * </pre>
 *
 * A COUNT such as 60s is a time: for so long, and only the last eight arrays are kept.
 */
public final class Garbage {
	private static final int NODES = 20_000;
	private static final int KEPT_BYTES = 100_000;

	private static final long SECOND = 1_000_000_000;

	private static final List<byte[]> kept = new ArrayList<>();
	private static final byte[][] last = new byte[8][];
	static volatile Object sink;
	private static long count;
	private static long end; // 0: by count

	private Garbage() {
	}

	private static final class Node {
		final Node next;
		final long number;

		Node(Node next, long number) {
			this.next = next;
			this.number = number;
		}
	}

	private static void limit(String text) {
		boolean isTime = text.endsWith("s");
		long number = Long.parseLong(isTime ? text.substring(0, text.length() - 1) : text);
		if (isTime)
			end = System.nanoTime() + number * SECOND;
		else
			count = number;
	}

	private static boolean goesOn(int done) {
		return end == 0 ? done < count : System.nanoTime() < end;
	}

	private static boolean keeps(int number, int period) {
		return end == 0 && number % period == 0;
	}

	private static byte[] keep(int bytes) {
		byte[] array = new byte[bytes];
		kept.add(array);
		return array;
	}

	private static byte[] drop(int bytes) {
		return new byte[bytes];
	}

	private static void arrays(int bytes) {
		for (int i = 0; goesOn(i); i++)
			last[i % last.length] = keeps(i, 128) ? keep(bytes) : drop(bytes);
	}

	private static void lists() {
		for (int i = 0; goesOn(i); i++) {
			Node head = null;

			for (int k = 0; k < NODES; k++)
				head = new Node(head, k);
			sink = head;
			if (keeps(i, 32))
				keep(KEPT_BYTES);
		}
		sink = null;
		if (end == 0)
			System.gc();
	}

	private static long collections(String word) {
		long sum = 0;

		for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans())
			if (bean.getName().contains(word))
				sum += bean.getCollectionCount();
		return sum;
	}

	public static void main(String[] arguments) throws InterruptedException {
		limit(arguments[arguments.length - 1]);
		if (arguments[0].equals("arrays"))
			arrays(Integer.parseInt(arguments[1]));
		else
			lists();
		long bytes = 0;
		for (byte[] array : kept)
			bytes += array.length;
		System.out.printf("{\"kept\": %d, \"full\": %d}%n", bytes, collections("Old"));
		Thread.sleep(500); // references are cleared concurrently
	}
}
