// SPDX-License-Identifier: Apache-2.0

/**
 * Garbage of one kind, all the time, for SECONDS.
 *
 * <pre>
 * arrays SECONDS    arrays of 1 to 2 MiB, of which the last 8 are kept: humongous under G1
 * lists SECONDS     lists of 20,000 small nodes, each dropped whole when the next is there
 * </pre>
 */
public final class Garbage {
	private static final int KEPT = 8;
	private static final int MEBIBYTE = 1 << 20;
	private static final int NODES = 20_000;

	private static final byte[][] kept = new byte[KEPT][];
	private static volatile Node list;

	private static final class Node {
		final Node next;

		Node(Node next) {
			this.next = next;
		}
	}

	private Garbage() {
	}

	private static void array(int number) {
		kept[number % KEPT] = new byte[MEBIBYTE + number % 3 * (MEBIBYTE / 2)];
	}

	private static void list() {
		Node first = null;
		for (int i = 0; i < NODES; i++)
			first = new Node(first);
		list = first;
	}

	public static void main(String[] arguments) {
		boolean makesArrays = arguments[0].equals("arrays");
		long end = System.nanoTime() + Long.parseLong(arguments[1]) * 1_000_000_000L;
		int made = 0;
		for (; System.nanoTime() - end < 0; made++) {
			if (makesArrays)
				array(made);
			else
				list();
		}
		System.out.println(made + " " + arguments[0]);
	}
}
