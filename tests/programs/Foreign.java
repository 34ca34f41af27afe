// SPDX-License-Identifier: Apache-2.0

import java.lang.invoke.MethodHandle;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.util.Optional;

/**
 * Foreign COUNT [critical|upcall]: calls malloc(1000) COUNT times by java.lang.foreign, found in the default
 * lookup of the linker, and never frees the blocks; or getcwd(NULL, 1000), which allocates them, in
 * critical downcalls, which do not change the state of the thread; or malloc in the comparison of qsort,
 * an upcall. By reflection, as older JDKs do not
 * have these classes (22 and later do).
 */
public final class Foreign {
	private static final String PACKAGE = "java.lang.foreign.";
	private static final long BYTES = 1000;

	private Foreign() {
	}

	private static Object call(String type, Object on, String name, Class<?>[] types, Object... values)
			throws Exception {
		Method method = Class.forName(PACKAGE + type).getMethod(name, types);
		return method.invoke(on, values);
	}

	/** A function of libc with that many arguments of type long, which returns one. */
	static MethodHandle downcall(String function, int count, boolean isCritical) throws Exception {
		Class<?> layout = Class.forName(PACKAGE + "MemoryLayout");
		Class<?> layouts = Array.newInstance(layout, 0).getClass();
		Class<?> options = Array.newInstance(Class.forName(PACKAGE + "Linker$Option"), 0).getClass();
		Object number = Class.forName(PACKAGE + "ValueLayout").getField("JAVA_LONG").get(null);
		Object linker = call("Linker", null, "nativeLinker", new Class<?>[0]);
		Object lookup = call("Linker", linker, "defaultLookup", new Class<?>[0]);
		Optional<?> found = (Optional<?>) call("SymbolLookup", lookup, "find",
				new Class<?>[] {String.class}, function);
		Object parameters = Array.newInstance(layout, count);
		for (int i = 0; i < count; i++)
			Array.set(parameters, i, number);
		Object descriptor = call("FunctionDescriptor", null, "of",
				new Class<?>[] {layout, layouts}, number, parameters);
		Object chosen = Array.newInstance(options.getComponentType(), isCritical ? 1 : 0);
		if (isCritical)
			Array.set(chosen, 0, call("Linker$Option", null, "critical",
					new Class<?>[] {boolean.class}, false));
		return (MethodHandle) call("Linker", linker, "downcallHandle",
				new Class<?>[] {Class.forName(PACKAGE + "MemorySegment"),
						Class.forName(PACKAGE + "FunctionDescriptor"), options},
				found.orElseThrow(), descriptor, chosen);
	}

	private static void allocate(MethodHandle function, int count, Object... values) throws Throwable {
		for (int i = 0; i < count; i++)
			function.invokeWithArguments(values);
	}

	private static MethodHandle allocator;

	static long compare(long first, long second) {
		try {
			allocate(allocator, 1, BYTES);
		} catch (Throwable failure) {
			throw new IllegalStateException(failure);
		}
		return 0;
	}

	/** qsort() of two numbers, which calls compare(). */
	private static void sort(int count) throws Throwable {
		Class<?> layout = Class.forName(PACKAGE + "MemoryLayout");
		Class<?> layouts = Array.newInstance(layout, 0).getClass();
		Class<?> options = Array.newInstance(Class.forName(PACKAGE + "Linker$Option"), 0).getClass();
		Class<?> arenas = Class.forName(PACKAGE + "Arena");
		Object number = Class.forName(PACKAGE + "ValueLayout").getField("JAVA_LONG").get(null);
		Object parameters = Array.newInstance(layout, 2);
		Array.set(parameters, 0, number);
		Array.set(parameters, 1, number);
		Object descriptor = call("FunctionDescriptor", null, "of",
				new Class<?>[] {layout, layouts}, number, parameters);
		Object linker = call("Linker", null, "nativeLinker", new Class<?>[0]);
		MethodHandle compare = java.lang.invoke.MethodHandles.lookup().findStatic(Foreign.class,
				"compare", java.lang.invoke.MethodType.methodType(
						long.class, long.class, long.class));
		Object stub = call("Linker", linker, "upcallStub",
				new Class<?>[] {MethodHandle.class,
						Class.forName(PACKAGE + "FunctionDescriptor"), arenas, options},
				compare, descriptor, call("Arena", null, "global", new Class<?>[0]),
				Array.newInstance(options.getComponentType(), 0));
		long function = (Long) call("MemorySegment", stub, "address", new Class<?>[0]);
		allocator = downcall("malloc", 1, false);
		long numbers = (Long) allocator.invokeWithArguments(BYTES);
		allocate(downcall("qsort", 4, false), count, numbers, 2L, 8L, function);
	}

	public static void main(String[] arguments) throws Throwable {
		int count = Integer.parseInt(arguments[0]);
		if (arguments.length > 1 && arguments[1].equals("upcall"))
			sort(count);
		else if (arguments.length > 1)
			allocate(downcall("getcwd", 2, true), count, 0L, BYTES);
		else
			allocate(downcall("malloc", 1, false), count, BYTES);
		System.out.println("done");
	}
}
