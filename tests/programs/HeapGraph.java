// SPDX-License-Identifier: Apache-2.0

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * Fills the heap with a map of OBJECTS objects in all, entries, keys and texts, then executes COMMAND,
 * in which the word PID is the process id, several times.  Loads the library of the system property
 * "load" at the end, if there is one.
 *
 * <pre>
 * HeapGraph OBJECTS TIMES COMMAND...
 * </pre>
 */
public final class HeapGraph {
	private static final int PER_ENTRY = 4;

	static Map<Integer, String> all = new HashMap<>();

	private HeapGraph() {
	}

	public static void main(String[] arguments) throws Exception {
		int entries = Integer.parseInt(arguments[0]) / PER_ENTRY;
		String[] command = Arrays.copyOfRange(arguments, 2, arguments.length);

		for (int i = 0; i < entries; i++)
			all.put(i, "text " + i);
		System.gc();
		for (int i = 0; i < command.length; i++)
			if (command[i].equals("PID"))
				command[i] = "" + ProcessHandle.current().pid();
		for (int i = Integer.parseInt(arguments[1]); i > 0; i--)
			new ProcessBuilder(command).inheritIO().start().waitFor();
		if (System.getProperty("load") != null)
			System.load(System.getProperty("load"));
	}
}
