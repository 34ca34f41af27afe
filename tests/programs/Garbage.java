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
 */
public final class Garbage {
	private static final int NODES = 20_000;
	private static final int KEPT_BYTES = 100_000;

	private static final List<byte[]> kept = new ArrayList<>();
	private static final byte[][] last = new byte[8][];
	static volatile Object sink;

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

	private static byte[] keep(int bytes) {
		byte[] array = new byte[bytes];
		kept.add(array);
		return array;
	}

	private static byte[] drop(int bytes) {
		return new byte[bytes];
	}

	private static void arrays(int bytes, int count) {
		for (int i = 0; i < count; i++)
			last[i % last.length] = i % 128 == 0 ? keep(bytes) : drop(bytes);
	}

	private static void lists(int count) {
		for (int i = 0; i < count; i++) {
			Node head = null;

			for (int k = 0; k < NODES; k++)
				head = new Node(head, k);
			sink = head;
			if (i % 32 == 0)
				keep(KEPT_BYTES);
		}
		sink = null;
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
		if (arguments[0].equals("arrays"))
			arrays(Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]));
		else
			lists(Integer.parseInt(arguments[1]));
		long bytes = 0;
		for (byte[] array : kept)
			bytes += array.length;
		System.out.printf("{\"kept\": %d, \"full\": %d}%n", bytes, collections("Old"));
		Thread.sleep(500); // references are cleared concurrently
	}
}
