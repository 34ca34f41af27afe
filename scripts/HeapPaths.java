// SPDX-License-Identifier: Apache-2.0

import java.io.File;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.netbeans.lib.profiler.heap.FieldValue;
import org.netbeans.lib.profiler.heap.GCRoot;
import org.netbeans.lib.profiler.heap.Heap;
import org.netbeans.lib.profiler.heap.HeapFactory;
import org.netbeans.lib.profiler.heap.Instance;
import org.netbeans.lib.profiler.heap.JavaClass;
import org.netbeans.lib.profiler.heap.JavaFrameGCRoot;
import org.netbeans.lib.profiler.heap.ObjectArrayInstance;
import org.netbeans.lib.profiler.heap.ObjectFieldValue;

/**
 * Asks the heap library of NetBeans, which VisualVM uses, for the path from the nearest root to each
 * instance of some classes in a heap dump.
 *
 * <pre>
 * HeapPaths DUMP CLASS...
 * </pre>
 *
 * Prints a line for each class: its number of instances, those with the most frequent path, the longest
 * path in references, and that path; repeated references are written once.
 */
public final class HeapPaths {
	private static final int STEPS_MAX = 100_000;

	private HeapPaths() {
	}

	/** How one object refers to another. */
	private static String reference(Heap heap, Instance from, Instance to) {
		List<FieldValue> values = new ArrayList<>();

		if (from instanceof ObjectArrayInstance)
			return from.getJavaClass().getName();
		for (Object value : from.getFieldValues())
			values.add((FieldValue) value);
		JavaClass type = heap.getJavaClassByID(from.getInstanceId());
		if (type != null)
			for (Object value : type.getStaticFieldValues())
				values.add((FieldValue) value);
		for (FieldValue value : values)
			if (value instanceof ObjectFieldValue && to.equals(((ObjectFieldValue) value).getInstance()))
				return (value.getField().isStatic() ? "static " : "")
						+ value.getField().getDeclaringClass().getName() + "."
						+ value.getField().getName();
		return "?";
	}

	private static String describe(Heap heap, Instance root) {
		Object found = heap.getGCRoot(root);
		GCRoot one = found instanceof GCRoot ? (GCRoot) found : null;

		if (one == null)
			return "no root";
		if (one instanceof JavaFrameGCRoot)
			return one.getKind() + " (frame " + ((JavaFrameGCRoot) one).getFrameNumber() + ")";
		return one.getKind() + " (" + root.getJavaClass().getName() + ")";
	}

	/** Root first. */
	private static List<String> path(Heap heap, Instance instance) {
		List<String> steps = new ArrayList<>();
		Instance at = instance;

		while (!at.isGCRoot() && steps.size() < STEPS_MAX) {
			Instance next = at.getNearestGCRootPointer();

			if (next == null || next.equals(at))
				return Collections.singletonList("no path");
			steps.add(reference(heap, next, at));
			at = next;
		}
		steps.add(describe(heap, at));
		Collections.reverse(steps);
		return steps;
	}

	private static String text(List<String> steps) {
		StringBuilder text = new StringBuilder();
		String before = null;

		for (String step : steps) {
			if (!step.equals(before))
				text.append(text.length() == 0 ? "" : " -> ").append(step);
			before = step;
		}
		return text.toString();
	}

	private static void print(Heap heap, String name) {
		Map<String, Integer> counts = new TreeMap<>();
		JavaClass type = heap.getJavaClassByName(name);
		int longest = 0;
		String most = "no instance";

		for (Object object : type == null ? List.of() : type.getInstances()) {
			List<String> steps = path(heap, (Instance) object);
			String text = text(steps);

			longest = Math.max(longest, steps.size() - 1);
			counts.merge(text, 1, Integer::sum);
			if (counts.get(text) > counts.getOrDefault(most, 0))
				most = text;
		}
		int sum = counts.values().stream().mapToInt(Integer::intValue).sum();
		System.out.println(name + "\t" + sum + "\t" + counts.getOrDefault(most, 0) + "\t" + longest + "\t"
				+ most);
	}

	public static void main(String[] arguments) throws Exception {
		Heap heap = HeapFactory.createHeap(new File(arguments[0]));

		for (int i = 1; i < arguments.length; i++)
			print(heap, arguments[i]);
	}
}
