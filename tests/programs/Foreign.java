// SPDX-License-Identifier: Apache-2.0

import java.lang.invoke.MethodHandle;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.util.Optional;

/**
 * Foreign COUNT [critical]: calls malloc(1000) COUNT times by java.lang.foreign, found in the default
 * lookup of the linker, and never frees the blocks; or getcwd(NULL, 1000), which allocates them, in
 * critical downcalls, which do not change the state of the thread. By reflection, as older JDKs do not
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

	public static void main(String[] arguments) throws Throwable {
		int count = Integer.parseInt(arguments[0]);
		if (arguments.length > 1)
			allocate(downcall("getcwd", 2, true), count, 0L, BYTES);
		else
			allocate(downcall("malloc", 1, false), count, BYTES);
		System.out.println("done");
	}
}
