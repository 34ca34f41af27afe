// SPDX-License-Identifier: Apache-2.0

import java.lang.invoke.MethodHandle;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.util.Optional;

/**
 * Foreign COUNT [critical]: calls malloc(1000) COUNT times by java.lang.foreign, found in the default
 * lookup of the linker, and never frees the blocks; in critical downcalls, which do not change the
 * state of the thread. By reflection, as older JDKs do not have these classes (22 and later do).
 */
public final class Foreign {
	private static final String PACKAGE = "java.lang.foreign.";

	private Foreign() {
	}

	private static Object call(String type, Object on, String name, Class<?>[] types, Object... values)
			throws Exception {
		Method method = Class.forName(PACKAGE + type).getMethod(name, types);
		return method.invoke(on, values);
	}

	private static void allocate(MethodHandle malloc, int count) throws Throwable {
		for (int i = 0; i < count; i++)
			malloc.invokeWithArguments(1000L);
	}

	public static void main(String[] arguments) throws Throwable {
		Class<?> layout = Class.forName(PACKAGE + "MemoryLayout");
		Class<?> layouts = Array.newInstance(layout, 0).getClass();
		Class<?> options = Array.newInstance(Class.forName(PACKAGE + "Linker$Option"), 0).getClass();
		Object pointer = Class.forName(PACKAGE + "ValueLayout").getField("ADDRESS").get(null);
		Object number = Class.forName(PACKAGE + "ValueLayout").getField("JAVA_LONG").get(null);
		Object linker = call("Linker", null, "nativeLinker", new Class<?>[0]);
		Object lookup = call("Linker", linker, "defaultLookup", new Class<?>[0]);
		Optional<?> found = (Optional<?>) call("SymbolLookup", lookup, "find",
				new Class<?>[] {String.class}, "malloc");
		Object parameters = Array.newInstance(layout, 1);
		Array.set(parameters, 0, number);
		Object descriptor = call("FunctionDescriptor", null, "of",
				new Class<?>[] {layout, layouts}, pointer, parameters);
		Object chosen = Array.newInstance(options.getComponentType(), arguments.length - 1);
		if (arguments.length > 1)
			Array.set(chosen, 0, call("Linker$Option", null, arguments[1],
					new Class<?>[] {boolean.class}, false));
		Object malloc = call("Linker", linker, "downcallHandle",
				new Class<?>[] {Class.forName(PACKAGE + "MemorySegment"),
						Class.forName(PACKAGE + "FunctionDescriptor"), options},
				found.orElseThrow(), descriptor, chosen);
		allocate((MethodHandle) malloc, Integer.parseInt(arguments[0]));
		System.out.println("done");
	}
}
