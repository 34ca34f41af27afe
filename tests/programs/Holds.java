// SPDX-License-Identifier: Apache-2.0

import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Keeps objects in one way for each kind of holder, or drops them after a while.
 *
 * <pre>
 * Holds LIBRARY STEPS leak|clean [COMMAND... [-- COMMAND...]...]
 * </pre>
 *
 * Executes the commands at the end, while all is held; the word PID is the process id.
 */
public final class Holds {
	private static final int BYTES = 8192;
	private static final int KEPT = 20;

	static final Map<Integer, Session> SESSIONS = new ConcurrentHashMap<>();
	static final Bus BUS = new Bus();
	static final ThreadLocal<List<Buffer>> LOCAL = ThreadLocal.withInitial(ArrayList::new);
	static final ArrayDeque<Object> PLUGINS = new ArrayDeque<>();
	static final List<ByteBuffer> BUFFERS = Collections.synchronizedList(new ArrayList<>());
	static Link links;
	static Object sink;

	private Holds() {
	}

	static final class Session {
		final byte[] ticket = new byte[BYTES];
	}

	static final class Listener {
		final short[] state = new short[BYTES / 2];
	}

	static final class Bus {
		final List<Listener> listeners = new ArrayList<>();
	}

	static final class Buffer {
		final char[] text = new char[BYTES / 2];
	}

	/** Of a graph that only a JNI global reference holds. */
	static final class Node {
		final int[] numbers = new int[BYTES / 4];
		Node left;
		Node right;
	}

	/** A list in which each path is as long as the list. */
	static final class Link {
		final long[] words = new long[BYTES / 8];
		Link next;
	}

	/** Loaded again and again, each time by a loader of its own. */
	public static final class Plugin implements Runnable {
		static final double[] CACHE = new double[BYTES / 8];

		@Override
		public void run() {
			CACHE[0]++;
		}
	}

	static final class PluginLoader extends ClassLoader {
		PluginLoader() {
			super(Holds.class.getClassLoader());
		}

		Class<?> load() throws Exception {
			String name = "Holds$Plugin";

			try (InputStream stream = Holds.class.getResourceAsStream("/" + name + ".class")) {
				byte[] bytes = stream.readAllBytes();
				return defineClass(name, bytes, 0, bytes.length);
			}
		}
	}

	private static void addSession(int number, boolean leaking) {
		SESSIONS.put(number, new Session());
		if (!leaking)
			SESSIONS.remove(number - KEPT);
	}

	private static void addListener(boolean leaking) {
		BUS.listeners.add(new Listener());
		if (!leaking && BUS.listeners.size() > KEPT)
			BUS.listeners.remove(0);
	}

	private static void addBuffer(boolean leaking) {
		LOCAL.get().add(new Buffer());
		if (!leaking && LOCAL.get().size() > KEPT)
			LOCAL.get().remove(0);
	}

	private static void addGraph(boolean leaking) {
		Node root = new Node();

		root.left = new Node();
		root.right = new Node();
		root.right.left = new Node();
		Ledger.global(root, leaking);
		Ledger.cached(root.left.numbers);
	}

	private static void addLink(boolean leaking) {
		Link link = new Link();

		link.next = leaking ? links : null;
		links = link;
	}

	private static void addPlugin(boolean leaking) throws Exception {
		PLUGINS.add(new PluginLoader().load().getDeclaredConstructor().newInstance());
		((Runnable) PLUGINS.getLast()).run();
		if (!leaking && PLUGINS.size() > KEPT)
			PLUGINS.removeFirst();
	}

	private static void addDirect(boolean leaking) {
		for (int i = 0; i < 4; i++) {
			BUFFERS.add(ByteBuffer.allocateDirect(BYTES / 4));
			if (!leaking && BUFFERS.size() > KEPT)
				BUFFERS.remove(0);
		}
	}

	private static void addLocal(List<float[]> held, boolean leaking) {
		held.add(new float[BYTES / 4]);
		if (!leaking && held.size() > KEPT)
			held.remove(0);
	}

	private static void step(int number, ExecutorService pool, List<float[]> held, boolean leaking)
			throws Exception {
		addSession(number, leaking);
		addListener(leaking);
		pool.submit(() -> addBuffer(leaking)).get();
		addGraph(leaking);
		addLink(leaking);
		addPlugin(leaking);
		addDirect(leaking);
		addLocal(held, leaking);
		sink = new boolean[1 << 16];
		if (number % 20 == 0)
			System.gc();
		Thread.sleep(3);
	}

	private static void execute(Iterator<String> words) throws Exception {
		while (words.hasNext()) {
			List<String> command = new ArrayList<>();

			while (words.hasNext()) {
				String word = words.next();
				if (word.equals("--"))
					break;
				command.add(word.equals("PID") ? "" + ProcessHandle.current().pid() : word);
			}
			new ProcessBuilder(command).inheritIO().start().waitFor();
		}
	}

	public static void main(String[] arguments) throws Exception {
		boolean leaking = arguments[2].equals("leak");
		int steps = Integer.parseInt(arguments[1]);
		ExecutorService pool = Executors.newFixedThreadPool(4);
		List<float[]> held = new ArrayList<>();

		System.load(arguments[0]);
		for (int i = 0; i < steps; i++)
			step(i, pool, held, leaking);
		execute(Arrays.asList(arguments).subList(3, arguments.length).iterator());
		held.clear();
		/* Before teardown, so that what is live is not dropped. */
		Runtime.getRuntime().halt(0);
	}
}
