// SPDX-License-Identifier: Apache-2.0

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Allocates on stacks of all kinds: inlined, recursive, synchronized, below reflection, method
 * handles, lambdas, proxies, class initializers and constructors that throw, in several threads,
 * and in virtual threads that have been unmounted where there are any.
 *
 * <pre>Walks SECONDS [storm]</pre>
 *
 * storm: while the stacks of all threads are asked for and the heap is collected, again and again.
 */
public final class Walks {
	private static volatile Object sink;
	private static volatile int rare;

	private Walks() {
	}

	static class Base {
		final byte[] field = new byte[300];
		final Object[] more;

		Base(int size) {
			more = new Object[size];
			if (size % 5 == 0) {
				throw new IllegalStateException("of a constructor");
			}
		}
	}

	static final class Derived extends Base {
		final int[] last;

		Derived(int size) {
			super(size);
			last = new int[size];
		}
	}

	interface Shape {
		Object make(int size);
	}

	static final class First implements Shape {
		@Override
		public Object make(int size) {
			return new byte[size];
		}
	}

	static final class Second implements Shape {
		@Override
		public synchronized Object make(int size) {
			return new long[size];
		}
	}

	static final class Third implements Shape {
		@Override
		public Object make(int size) {
			// Not compiled at first: a frame that is deoptimized where it is.
			return rare == 77 ? new Shape[size] : Arrays.asList(new char[size], size);
		}
	}

	private static final Shape[] SHAPES = {new First(), new Second(), new Third()};

	static void shapes(int round) {
		for (int i = 0; i < 30; i++) {
			sink = SHAPES[i % SHAPES.length].make(100 + round % 50);
		}
	}

	static void constructors(int round) {
		try {
			sink = new Derived(50 + round % 10);
		} catch (IllegalStateException error) {
			sink = error.getStackTrace();
		}
	}

	static int recurse(int depth) {
		if (depth == 0) {
			sink = new byte[500];
			return 0;
		}
		return recurse(depth - 1) + 1;
	}

	static synchronized int lockedRecursion(int depth) {
		if (depth == 0) {
			sink = new String[60];
			return 0;
		}
		return depth % 2 == 0 ? lockedRecursion(depth - 1) : recurse(depth - 1);
	}

	static Object clones(int round) {
		int[] array = new int[100];
		List<Object> list = new ArrayList<>();
		for (int i = 0; i < 20; i++) {
			list.add(array.clone());
			list.add(Arrays.copyOf(array, 40));
			list.add(new int[3][20]);
			list.add("text" + round + i);
		}
		return list;
	}

	static Object streams() {
		return IntStream.range(0, 200)
			.mapToObj(i -> "key" + i)
			.filter(text -> text.length() > 3)
			.collect(Collectors.groupingBy(String::length));
	}

	static Object boxes() {
		Map<Long, Object> map = new HashMap<>();
		for (long i = 0; i < 300; i++) {
			map.computeIfAbsent(i * 7, key -> new Object[] {key});
		}
		return map;
	}

	public static Object target(int size) {
		return new byte[size];
	}

	private static final MethodHandle HANDLE;
	private static final Method METHOD;

	static {
		try {
			HANDLE = MethodHandles.lookup().findStatic(Walks.class, "target",
				MethodType.methodType(Object.class, int.class));
			METHOD = Walks.class.getMethod("target", int.class);
		} catch (ReflectiveOperationException error) {
			throw new AssertionError(error);
		}
	}

	static void reflection() throws Throwable {
		for (int i = 0; i < 30; i++) {
			sink = METHOD.invoke(null, 200);
			sink = (Object) HANDLE.invokeExact(200);
			sink = HANDLE.invoke(Integer.valueOf(200));
		}
		Shape shape = (Shape) Proxy.newProxyInstance(Walks.class.getClassLoader(),
			new Class<?>[] {Shape.class}, (proxy, method, arguments) -> target(300));
		sink = shape.make(1);
	}

	static void round(int round) {
		try {
			shapes(round);
			constructors(round);
			recurse(round % 90);
			lockedRecursion(round % 40);
			sink = clones(round);
			sink = streams();
			sink = boxes();
			reflection();
		} catch (Throwable error) {
			throw new AssertionError(error);
		}
		if (round == 400) {
			rare = 77;
		}
	}

	/** A stack as deep as that of a server, then the rounds. */
	static void descend(int depth, int rounds) {
		if (depth > 0) {
			descend(depth - 1, rounds);
			return;
		}
		for (int i = 0; i < rounds; i++) {
			round(i);
		}
	}

	/** Below frames that stay in the heap when the thread is mounted again. */
	static void unmounted(int depth) {
		if (depth > 0) {
			unmounted(depth - 1);
			return;
		}
		for (int i = 0; i < 40; i++) {
			try {
				Thread.sleep(1);
			} catch (InterruptedException error) {
				return;
			}
			recurse(3);
			sink = streams();
		}
	}

	static void inPool(ExecutorService pool, int tasks, Runnable task) throws Exception {
		List<Future<?>> futures = new ArrayList<>();
		for (int i = 0; i < tasks; i++) {
			Callable<Object> callable = () -> {
				task.run();
				return null;
			};
			futures.add(pool.submit(callable));
		}
		for (Future<?> future : futures) {
			future.get();
		}
		pool.shutdown();
	}

	static void virtually(int tasks) throws Exception {
		ExecutorService pool;
		try {
			pool = (ExecutorService) Executors.class
				.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
		} catch (ReflectiveOperationException error) {
			return; // an older release
		}
		inPool(pool, tasks, () -> unmounted(120));
	}

	static void storm() {
		for (int turn = 0;; turn++) {
			sink = Thread.getAllStackTraces();
			if (turn % 16 == 0) {
				System.gc();
			}
		}
	}

	public static void main(String[] arguments) throws Exception {
		int seconds = Integer.parseInt(arguments[0]);
		int rounds = seconds > 0 ? 100 : 30;
		if (arguments.length > 1) {
			Thread thread = new Thread(Walks::storm);
			thread.setDaemon(true);
			thread.start();
		}
		long end = System.nanoTime() + seconds * 1_000_000_000L;
		do {
			inPool(Executors.newFixedThreadPool(3), 6, () -> descend(60, rounds));
			inPool(new ForkJoinPool(2), 4, () -> descend(5, rounds));
			descend(0, 2 * rounds);
			virtually(rounds / 5);
		} while (System.nanoTime() < end);
	}
}
