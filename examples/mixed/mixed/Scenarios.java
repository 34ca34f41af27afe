// SPDX-License-Identifier: Apache-2.0
package mixed;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** The scenarios by name.  Each adds its own allocations to the ledger, and no others. */
final class Scenarios {
	private static final int[] SIZES = {16, 64, 200, 4096, 65536, 524288, 1048576, 4194304};
	private static final String BYTES = "byte[]";

	/** The work of one thread: its volume, and the ledger it is added to. */
	static final class Run {
		final Ledger ledger;
		final long volume;
		final double seconds;
		final JavaSites.Sink sink = new JavaSites.Sink();

		Run(Ledger ledger, long volume, double seconds) {
			this.ledger = ledger;
			this.volume = volume;
			this.seconds = seconds;
		}

		/** Number of blocks of `size` bytes that make up the volume; at least one. */
		long count(long size) {
			return Math.max(1, volume / size);
		}
	}

	interface Scenario {
		void run(Run run) throws Exception;
	}

	private static final Map<String, Scenario> TABLE = new LinkedHashMap<>();
	static {
		TABLE.put("demo", run -> Gallery.run(run.ledger, run.seconds));
		TABLE.put("sizes", Scenarios::sizes);
		TABLE.put("functions", Scenarios::functions);
		TABLE.put("twins", Scenarios::twins);
		TABLE.put("jni", Scenarios::jni);
		TABLE.put("path", Scenarios::path);
		TABLE.put("initializer", Scenarios::initializer);
		TABLE.put("deep", Scenarios::deep);
		TABLE.put("virtual", Scenarios::virtual);
		TABLE.put("threads", Scenarios::threads);
		TABLE.put("live", Scenarios::live);
	}

	private static final List<Object> RETAINED = new ArrayList<>();

	private Scenarios() {
	}

	static String names() {
		return String.join(" ", TABLE.keySet()) + " mix:SIZE,SIZE,...";
	}

	/** The scenario of that name; null if there is none. */
	static Scenario find(String name) {
		if (!name.startsWith("mix:"))
			return TABLE.get(name);
		int[] sizes = Arrays.stream(name.substring(4).split(",")).mapToInt(Integer::parseInt)
				.toArray();
		return run -> mix(run, sizes);
	}

	/** Every size separately, in both heaps. */
	private static void sizes(Run run) {
		for (int size : SIZES) {
			runNative(run, run.count(size), 0, "mixed_malloc_" + size);
			runJava(run, run.count(size), size);
		}
	}

	/** Sizes in turn, equally often: the small ones are a small part of all bytes. */
	private static void mix(Run run, int[] sizes) {
		long rounds = run.count(Arrays.stream(sizes).max().getAsInt());
		String[] functions = IntStream.of(sizes).mapToObj(size -> "mixed_malloc_" + size)
				.toArray(String[]::new);
		runNative(run, rounds, 0, functions);
		runJava(run, rounds, sizes);
	}

	/** Every function of the allocator. */
	private static void functions(Run run) {
		String[] functions = {"mixed_calloc_4096", "mixed_reallocarray_4096",
				"mixed_realloc_growth", "mixed_posix_memalign_4096",
				"mixed_aligned_alloc_4096", "mixed_memalign_4096", "mixed_new_4096",
				"mixed_strdup_200"};
		for (String function : functions)
			runNative(run, run.count(NativeSites.bytesPerCall(function)), 0, function);
	}

	/** Two sites of equal size in strict alternation. */
	private static void twins(Run run) {
		long rounds = run.count(1024);
		runNative(run, rounds, 0, "mixed_twin_left", "mixed_twin_right");
		for (long i = 0; i < rounds; i++) {
			run.sink.value = JavaSites.twinLeft();
			run.sink.value = JavaSites.twinRight();
		}
		run.ledger.addJava("mixed.JavaSites.twinLeft", BYTES, 1024, rounds, 0);
		run.ledger.addJava("mixed.JavaSites.twinRight", BYTES, 1024, rounds, 0);
	}

	/** Allocations by JNI and the JDK's own natives on behalf of others. */
	private static void jni(Run run) {
		int length = JavaSites.length(4096);
		for (long i = 0; i < run.count(4096); i++)
			run.sink.value = NativeSites.newByteArray(length);
		run.ledger.addJava("mixed_new_byte_array", BYTES, JavaSites.heapBytes(length),
				run.count(4096), 0, "mixed.NativeSites.newByteArray",
				"Java_mixed_NativeSites_newByteArray", "mixed_new_byte_array",
				"jni_NewByteArray");

		String text = "x".repeat(1023);
		NativeSites.stringChars(text, run.count(1024));
		run.ledger.addNative("mixed_string_chars", 1024, run.count(1024), 0);

		for (long i = 0; i < run.count(8192); i++)
			NativeSites.unsafeBlock(8192);
		run.ledger.addNative("mixed.NativeSites.unsafeBlock", 8192, run.count(8192), 0);

		for (long i = 0; i < run.count(65536); i++)
			NativeSites.directBuffer(65536);
		run.ledger.addNative("mixed.NativeSites.directBuffer", 65536, run.count(65536), 0);
	}

	/** Java, C, Java, C, Java, C, with an allocation in each heap at the end. */
	private static void path(Run run) {
		long walks = run.count((long) Path.ROUNDS * Path.BLOCK_BYTES);
		for (long i = 0; i < walks; i++)
			Path.first();
		run.ledger.addNative("mixed_path_three", Path.BLOCK_BYTES, walks * Path.ROUNDS, 0,
				Path.FRAMES);
		run.ledger.addJava("mixed_path_three", BYTES, JavaSites.heapBytes(Path.BLOCK_BYTES),
				walks * Path.ROUNDS, 0, Path.FRAMES);
	}

	/** Native code in a class initializer.  Runs once per process. */
	private static synchronized void initializer(Run run) {
		if (Initializer.Rounds.value != 0)
			return;
		Initializer.Rounds.value = run.count(Initializer.BLOCK_BYTES);
		if (Initializer.DONE)
			run.ledger.addNative("mixed_initializer_block", Initializer.BLOCK_BYTES,
					Initializer.Rounds.value, 0, Initializer.FRAMES);
	}

	/** Blocks at the end of deep recursions. */
	private static void deep(Run run) {
		long count = run.count(4096);
		runNative(run, count, 0, "mixed_deep");
		for (long i = 0; i < count; i++)
			run.sink.value = JavaSites.deep(400);
		run.ledger.addJava("mixed.JavaSites.deep", BYTES, 4096, count, 0);
	}

	/** Both heaps from virtual threads; no effect before JDK 21. */
	private static void virtual(Run run) throws Exception {
		if (!VirtualWork.isPossible())
			return;
		long rounds = Math.max(1, run.count(1400) / VirtualWork.THREADS);
		VirtualWork.runAll(rounds);
		long count = rounds * VirtualWork.THREADS;
		run.ledger.addNative("mixed_malloc_1400", 1400, count, 0, "mixed.VirtualWork.run",
				"mixed.NativeSites.runSites", "mixed_malloc_1400");
		run.ledger.addJava("mixed.VirtualWork.array", BYTES, 1400, count, 0,
				"mixed.VirtualWork.run", "mixed.VirtualWork.array");
	}

	/** Many short-lived threads that allocate far less than one sampling interval. */
	private static void threads(Run run) throws InterruptedException {
		long each = 16;
		long threads = run.count(each * 1024);
		for (long i = 0; i < threads; i++) {
			Thread thread = new Thread(() -> {
				JavaSites.Sink sink = new JavaSites.Sink();
				for (long round = 0; round < each; round++)
					sink.value = JavaSites.allocate(1024);
				NativeSites.runSites(new String[] {"mixed_malloc_1024"}, each, 0);
			}, "short-" + i);
			thread.start();
			thread.join();
		}
		run.ledger.addJava(JavaSites.name(1024), BYTES, 1024, threads * each, 0);
		run.ledger.addNative("mixed_malloc_1024", 1024, threads * each, 0);
	}

	/** Live blocks: all of one site, every fourth of another, none of a third. */
	private static void live(Run run) throws InterruptedException {
		runNative(run, run.count(200), 1, "mixed_malloc_200");
		runNative(run, run.count(65536), 4, "mixed_malloc_65536");
		runNative(run, run.count(4096), 0, "mixed_malloc_4096");
		keepJava(run, 1024, 1);
		keepJava(run, 65536, 4);
		runJava(run, run.count(4096), 4096);
		// Two collections, each followed by time to detect dead objects: what is not
		// kept is gone.
		for (int i = 0; i < 2; i++) {
			System.gc();
			Thread.sleep(300);
		}
	}

	private static long kept(long rounds, long keepEvery) {
		return keepEvery == 0 ? 0 : (rounds + keepEvery - 1) / keepEvery;
	}

	private static void runNative(Run run, long rounds, long keepEvery, String... functions) {
		NativeSites.runSites(functions, rounds, keepEvery);
		for (String function : functions) {
			long bytes = NativeSites.bytesPerCall(function);
			long blocks = NativeSites.blocksPerCall(function);
			if (blocks == 1)
				run.ledger.addNative(function, bytes, rounds, kept(rounds, keepEvery));
			else
				run.ledger.addNativeGrowth(function, rounds * blocks, rounds * bytes);
		}
	}

	private static void runJava(Run run, long rounds, int... sizes) {
		for (long i = 0; i < rounds; i++) {
			for (int size : sizes)
				run.sink.value = JavaSites.allocate(size);
		}
		for (int size : sizes)
			run.ledger.addJava(JavaSites.name(size), BYTES,
					JavaSites.heapBytes(JavaSites.length(size)), rounds, 0);
	}

	private static void keepJava(Run run, int size, int keepEvery) {
		int rounds = (int) run.count(size);
		Object[] kept = new Object[(int) kept(rounds, keepEvery)];
		for (int i = 0; i < rounds; i++) {
			byte[] array = JavaSites.allocate(size);
			run.sink.value = array;
			if (i % keepEvery == 0)
				kept[i / keepEvery] = array;
		}
		run.sink.value = null;
		synchronized (RETAINED) {
			RETAINED.add(kept);
		}
		run.ledger.addJava(JavaSites.name(size), BYTES,
				JavaSites.heapBytes(JavaSites.length(size)), rounds, kept.length);
	}
}
