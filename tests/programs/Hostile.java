// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;

/**
 * A Java program that is difficult to record: each case prints one line, always the same, and
 * at the end one JSON object for each of the two sites that allocated throughout.
 *
 * <pre>
 * Hostile LIBRARY all          every case in turn
 * Hostile LIBRARY crash        a native method writes to address 0
 * Hostile LIBRARY escape       a C++ exception leaves a native method
 * Hostile LIBRARY attach       4000 native threads attach and detach; prints what the VM then holds
 * Hostile LIBRARY sampled      the same while an agent of this program samples objects
 * </pre>
 */
public final class Hostile {
	private static final int BLOCK_BYTES = 4096;
	private static final int HEADER_BYTES = 16;
	private static final int STACK_BYTES = 384 << 10;
	private static final int BLOCKS_PER_MOMENT = 200;
	private static final int LOADERS = 40;
	private static final int REDEFINITIONS = 25;
	private static final int THREADS = 60;
	private static final int CHILDREN = 6;
	private static final int ATTACHED = 20;
	private static final int ATTACH_TURNS = 200;

	static volatile Object sink;
	private static long blocks;

	private Hostile() {
	}

	/** Runs a callback below C++ frames with destructors; true if it threw. */
	private static native boolean callThrough(Runnable callback, int depth);

	/**
	 * Throws and catches C++ exceptions through `frames` frames; returns the number of
	 * destructors run.
	 */
	private static native int throwAndCatch(int depth);

	/** Redefines the class with the same bytes, by JVMTI. */
	private static native int redefine(Class<?> type, byte[] bytes);

	/** Native threads that attach themselves, call a callback and detach. */
	private static native int attachThreads(Runnable callback, int count);

	/** Blocks of 1000 bytes that are kept. */
	private static native void allocate(int count);

	/** From now on all objects are sampled, for an agent that ignores them; false: it cannot. */
	private static native boolean sampleObjects();

	private static native void crash();

	private static native void escape();

	private static native long nativeBytes();

	private static byte[] block() {
		return new byte[BLOCK_BYTES - HEADER_BYTES];
	}

	/** Ordinary allocations, concurrent with every case. */
	private static synchronized void work(int count) {
		for (int i = 0; i < count; i++)
			sink = block();
		blocks += count;
		allocate(count);
	}

	private static void say(String moment, Object result) {
		work(BLOCKS_PER_MOMENT);
		System.out.println(moment + ": " + result);
	}

	/* Exceptions */

	private static void fail() {
		work(1);
		throw new IllegalStateException("thrown through native frames");
	}

	private static String exceptions() {
		int thrown = 0;
		for (int i = 0; i < 20; i++)
			thrown += callThrough(Hostile::fail, 10) ? 1 : 0;
		boolean through = false;
		try {
			callThrough(() -> callThrough(Hostile::rethrow, 5), 5);
		} catch (IllegalStateException exception) {
			through = true;
		}
		return thrown + " " + through + " " + throwAndCatch(30);
	}

	private static void rethrow() {
		if (callThrough(Hostile::fail, 3))
			throw new IllegalStateException("again");
	}

	/* Recursion */

	private static int dig(int depth) {
		Object here = new int[] {depth};
		sink = here;
		return dig(depth + 1) + ((int[]) here)[0];
	}

	private static void digThroughNative() {
		sink = new int[16];
		callThrough(Hostile::digThroughNative, 1);
	}

	private static String recursion() {
		int[] overflows = new int[1];
		Thread thread = new Thread(null, () -> {
			for (int i = 0; i < 3; i++) {
				try {
					dig(0);
				} catch (StackOverflowError error) {
					overflows[0]++;
				}
			}
		}, "deep", STACK_BYTES);
		thread.start();
		join(thread);
		return overflows[0] + " overflows";
	}

	/**
	 * The error passes through all native frames, and is caught where the first was called.
	 */
	private static String recursionThroughNative() {
		Object[] seen = new Object[1];
		Thread thread = new Thread(null, Hostile::digThroughNative, "deep", STACK_BYTES);
		thread.setUncaughtExceptionHandler((where, error) -> seen[0] = error.getClass());
		thread.start();
		join(thread);
		return String.valueOf(seen[0]);
	}

	/* Classes */

	/** Loaded many times, and redefined. */
	public static final class Guest implements Runnable {
		static volatile Object kept;

		@Override
		public void run() {
			kept = new byte[100];
		}
	}

	private static byte[] bytesOf(Class<?> type) throws IOException {
		String name = "/" + type.getName().replace('.', '/') + ".class";
		try (InputStream stream = type.getResourceAsStream(name)) {
			return stream.readAllBytes();
		}
	}

	private static final class Loader extends ClassLoader {
		private final byte[] bytes;

		Loader(byte[] bytes) {
			super(Hostile.class.getClassLoader());
			this.bytes = bytes;
		}

		Runnable guest() throws ReflectiveOperationException {
			Class<?> type = defineClass(Guest.class.getName(), bytes, 0, bytes.length);
			return (Runnable) type.getDeclaredConstructor().newInstance();
		}
	}

	private static String classes() throws Exception {
		byte[] bytes = bytesOf(Guest.class);
		int loaded = 0;
		for (int i = 0; i < LOADERS; i++) {
			Runnable guest = new Loader(bytes).guest();
			guest.run();
			loaded += guest.getClass() == Guest.class ? 0 : 1;
			if (i % 10 == 9)
				System.gc();
		}
		return loaded + " loaded";
	}

	private static String redefinition() throws Exception {
		byte[] bytes = bytesOf(Guest.class);
		Thread user = new Thread(() -> {
			Runnable guest = new Guest();
			while (!Thread.currentThread().isInterrupted())
				guest.run();
		});
		user.start();
		int errors = 0;
		for (int i = 0; i < REDEFINITIONS; i++)
			errors += redefine(Guest.class, bytes) == 0 ? 0 : 1;
		user.interrupt();
		join(user);
		return errors + " errors";
	}

	/* Threads and processes */

	private static void join(Thread thread) {
		boolean interrupted = false;
		while (thread.isAlive()) {
			try {
				thread.join();
			} catch (InterruptedException exception) {
				interrupted = true;
			}
		}
		if (interrupted)
			Thread.currentThread().interrupt();
	}

	private static String threads() {
		List<Thread> all = new ArrayList<>();
		for (int i = 0; i < THREADS; i++) {
			Thread thread = new Thread(() -> work(1));
			thread.start();
			all.add(thread);
		}
		all.forEach(Hostile::join);
		return all.size() + " and " + attachThreads(() -> work(1), ATTACHED);
	}

	private static String processes() throws Exception {
		StringBuilder text = new StringBuilder();
		for (int i = 0; i < CHILDREN; i++) {
			Process child = new ProcessBuilder("sh", "-c", "cat; exit " + i).start();
			child.getOutputStream().close();
			text.append(child.waitFor());
		}
		return text.toString();
	}

	private static void all() throws Exception {
		say("exceptions", exceptions());
		say("recursion", recursion());
		say("recursion through native code", recursionThroughNative());
		say("classes", classes());
		say("redefinition", redefinition());
		say("threads", threads());
		say("processes", processes());
	}

	/** Prints by how much the VM's memory has grown, of which it must keep account. */
	private static void attach() throws Exception {
		long before = 0;
		for (int i = 0; i < ATTACH_TURNS; i++) {
			if (i == ATTACH_TURNS / 10)
				before = Churn.allocated();
			attachThreads(() -> sink = "here", ATTACHED);
			work(BLOCKS_PER_MOMENT / 10);
		}
		System.out.printf("{\"grown\": %d, \"bytes\": %d}%n", Churn.allocated() - before,
			blocks * BLOCK_BYTES);
	}

	private static void printSite(String site, String heap, long objects, long bytes) {
		System.out.printf("{\"site\": \"%s\", \"heap\": \"%s\", \"objects\": %d, \"bytes\": %d}%n",
			site, heap, objects, bytes);
	}

	public static void main(String[] arguments) throws Exception {
		System.load(arguments[0]);
		switch (arguments[1]) {
		case "crash":
			work(BLOCKS_PER_MOMENT);
			crash();
			break;
		case "escape":
			work(BLOCKS_PER_MOMENT);
			escape();
			break;
		case "sampled":
			if (!sampleObjects())
				throw new IllegalStateException("objects cannot be sampled");
			attach();
			return;
		case "attach":
			attach();
			return;
		default:
			all();
			break;
		}
		printSite("Hostile.block", "java", blocks, blocks * BLOCK_BYTES);
		printSite("hostile_site", "native", nativeBytes() / 1000, nativeBytes());
	}
}
