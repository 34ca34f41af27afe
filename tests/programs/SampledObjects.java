// SPDX-License-Identifier: Apache-2.0

import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.util.function.Supplier;

import sun.misc.Unsafe;

/**
 * Allocates in every way available to Java code, the VM and JNI, each from a separate method,
 * and prints the number of objects of each class, their bytes, their frames, and their line.
 *
 * <pre>SampledObjects LIBRARY    the path of libsampled.so</pre>
 */
public final class SampledObjects {
	/** Number of runs of each site. */
	private static final int ROUNDS = 40;
	/** Length of the arrays in each dimension. */
	private static final int LENGTH = 10;
	private static final int LARGE = 1 << 20;
	private static final int DEPTH = 30;

	private static final Unsafe UNSAFE = findUnsafe();
	private static final Constructor<Plain> CONSTRUCTOR = findConstructor();
	private static final Supplier<Plain> MAKER = Plain::new;
	private static final Plain ORIGINAL = new Plain();
	private static final int[] ORIGINAL_ARRAY = new int[LENGTH];

	private static volatile Object sink;
	/** The line at which the current site calls here(); 0: not yet called. */
	private static int line;

	/** An object of 24 bytes: a header of 12 or 16, and fields. */
	static class Plain implements Cloneable {
		long value = 1;

		@Override
		public Plain clone() {
			try {
				return (Plain) super.clone();
			} catch (CloneNotSupportedException error) {
				throw new IllegalStateException(error);
			}
		}
	}

	/** The class of an object is that of the called constructor, not of its super(). */
	static final class Derived extends Plain {
		long second = 2;
	}

	private SampledObjects() {
	}

	private static Unsafe findUnsafe() {
		try {
			Field field = Unsafe.class.getDeclaredField("theUnsafe");
			field.setAccessible(true);
			return (Unsafe) field.get(null);
		} catch (ReflectiveOperationException error) {
			throw new ExceptionInInitializerError(error);
		}
	}

	private static Constructor<Plain> findConstructor() {
		try {
			return Plain.class.getDeclaredConstructor();
		} catch (ReflectiveOperationException error) {
			throw new ExceptionInInitializerError(error);
		}
	}

	/** Records the line of its first caller. */
	private static Object here(Object object) {
		if (line == 0)
			line = new Throwable().getStackTrace()[1].getLineNumber();
		return object;
	}

	// Arrays: one of each type, one with two dimensions and one with three

	private static void booleans() {
		sink = new boolean[LENGTH];
		sink = new boolean[2][LENGTH];
		sink = new boolean[2][3][LENGTH];
	}

	private static void bytes() {
		sink = new byte[LENGTH];
		sink = new byte[2][LENGTH];
		sink = new byte[2][3][LENGTH];
	}

	private static void chars() {
		sink = new char[LENGTH];
		sink = new char[2][LENGTH];
		sink = new char[2][3][LENGTH];
	}

	private static void shorts() {
		sink = new short[LENGTH];
		sink = new short[2][LENGTH];
		sink = new short[2][3][LENGTH];
	}

	private static void ints() {
		sink = new int[LENGTH];
		sink = new int[2][LENGTH];
		sink = new int[2][3][LENGTH];
	}

	private static void longs() {
		sink = new long[LENGTH];
		sink = new long[2][LENGTH];
		sink = new long[2][3][LENGTH];
	}

	private static void floats() {
		sink = new float[LENGTH];
		sink = new float[2][LENGTH];
		sink = new float[2][3][LENGTH];
	}

	private static void doubles() {
		sink = new double[LENGTH];
		sink = new double[2][LENGTH];
		sink = new double[2][3][LENGTH];
	}

	private static void plains() {
		sink = new Plain[LENGTH];
		sink = new Plain[2][LENGTH];
		sink = new Plain[2][3][LENGTH];
	}

	private static void emptyArray() {
		sink = here(new int[0]);
	}

	/** Too large for any TLAB. */
	private static void largeArray() {
		sink = here(new byte[LARGE]);
	}

	private static void openArray() {
		sink = here(new int[3][2][]);
	}

	/** Not deeper: compiled code would first put the dimensions into an array. */
	private static void deepArray() {
		sink = here(new int[1][2][2][2][LENGTH]);
	}

	// Objects

	private static void plain() {
		sink = here(new Plain());
	}

	private static void derived() {
		sink = here(new Derived());
	}

	private static void boxed() {
		sink = here(Long.valueOf(1L << 40));
	}

	private static void made() {
		sink = here(MAKER.get());
	}

	private static void cloned() {
		sink = here(ORIGINAL.clone());
	}

	private static void clonedArray() {
		sink = here(ORIGINAL_ARRAY.clone());
	}

	// Through the VM

	private static void reflected() throws ReflectiveOperationException {
		sink = here(CONSTRUCTOR.newInstance());
	}

	private static void reflectedArray() {
		sink = here(Array.newInstance(short.class, LENGTH));
	}

	private static void reflectedArrays() {
		sink = here(Array.newInstance(short.class, 2, 3, LENGTH));
	}

	private static void unconstructed() throws InstantiationException {
		sink = here(UNSAFE.allocateInstance(Plain.class));
	}

	// Through JNI

	private static native Object newObject(Class<?> type);

	private static native Object allocObject(Class<?> type);

	private static native Object newIntArray(int length);

	private static native Object newObjectArray(Class<?> type, int length);

	// Recursion: an object at each level

	private static void recurse(int depth) {
		sink = here(new long[LENGTH]);
		if (depth > 1)
			recurse(depth - 1);
	}

	// Output

	/** Arrays of references are all alike, but 28-ea refuses to answer for arrays of arrays. */
	private static long arrayBytes(Class<?> type, long length) {
		Class<?> like = type.getComponentType().isPrimitive() ? type : Object[].class;
		long end = UNSAFE.arrayBaseOffset(like) + length * UNSAFE.arrayIndexScale(like);
		return (end + 7) & ~7L;
	}

	/** The fields of Plain and of Derived end where the object ends. */
	private static long objectBytes(Class<?> type, String last) {
		try {
			return UNSAFE.objectFieldOffset(type.getDeclaredField(last)) + 8;
		} catch (ReflectiveOperationException error) {
			throw new IllegalStateException(error);
		}
	}

	/** A name without a dot or an underscore is a method of this class. */
	private static String quote(String names) {
		StringBuilder text = new StringBuilder("\"SampledObjects.main\"");
		for (String name : names.split(" "))
			text.append(", \"").append(name.matches("\\w+") && !name.contains("_")
					? "SampledObjects." : "").append(name).append('"');
		return text.toString();
	}

	/**
	 * Prints objects and bytes per round, allocated below exactly these frames or, if the
	 * names end with a star, below others as well.  Resets the line.
	 */
	private static void say(String names, String type, long objects, long bytes) {
		boolean isOpen = names.endsWith(" *");
		String path = quote(isOpen ? names.substring(0, names.length() - 2) : names);
		System.out.println("{\"class\": \"" + type + "\", \"objects\": " + objects * ROUNDS
				+ ", \"bytes\": " + bytes * ROUNDS + ", \"line\": " + line
				+ ", \"open\": " + isOpen + ", \"path\": [" + path + "]}");
		line = 0;
	}

	private static void sayPlain(String names) {
		say(names, "SampledObjects$Plain", 1, objectBytes(Plain.class, "value"));
	}

	private static void sayArray(String names, Class<?> type, long length) {
		say(names, type.getTypeName(), 1, arrayBytes(type, length));
	}

	/**
	 * Prints the allocations of a method whose arrays have one, two and three dimensions.
	 */
	private static void sayDimensions(String name, Class<?> one) {
		Class<?> two = Array.newInstance(one, 0).getClass();
		Class<?> three = Array.newInstance(two, 0).getClass();
		String names = "primitives " + name;
		say(names, one.getTypeName(), 9, 9 * arrayBytes(one, LENGTH));
		say(names, two.getTypeName(), 3, arrayBytes(two, 2) + 2 * arrayBytes(two, 3));
		say(names, three.getTypeName(), 1, arrayBytes(three, 2));
	}

	// The sites in turn

	private static void primitives() {
		for (int i = 0; i < ROUNDS; i++) {
			booleans();
			bytes();
			chars();
			shorts();
			ints();
			longs();
			floats();
			doubles();
			plains();
		}
		sayDimensions("booleans", boolean[].class);
		sayDimensions("bytes", byte[].class);
		sayDimensions("chars", char[].class);
		sayDimensions("shorts", short[].class);
		sayDimensions("ints", int[].class);
		sayDimensions("longs", long[].class);
		sayDimensions("floats", float[].class);
		sayDimensions("doubles", double[].class);
		sayDimensions("plains", Plain[].class);
	}

	private static void arrays() {
		for (int i = 0; i < ROUNDS; i++)
			emptyArray();
		sayArray("arrays emptyArray", int[].class, 0);
		for (int i = 0; i < ROUNDS; i++)
			openArray();
		sayArray("arrays openArray", int[][][].class, 3);
		say("arrays openArray", "int[][]", 3, 3 * arrayBytes(int[][].class, 2));
		for (int i = 0; i < ROUNDS; i++)
			deepArray();
		sayArray("arrays deepArray", int[][][][][].class, 1);
		say("arrays deepArray", "int[]", 8, 8 * arrayBytes(int[].class, LENGTH));
	}

	private static void objects() {
		for (int i = 0; i < ROUNDS; i++)
			plain();
		sayPlain("objects plain");
		for (int i = 0; i < ROUNDS; i++)
			derived();
		say("objects derived", "SampledObjects$Derived", 1,
				objectBytes(Derived.class, "second"));
		for (int i = 0; i < ROUNDS; i++)
			boxed();
		say("objects boxed java.lang.Long.valueOf", "java.lang.Long", 1,
				objectBytes(Plain.class, "value"));
		for (int i = 0; i < ROUNDS; i++)
			made();
		sayPlain("objects made *");
		for (int i = 0; i < ROUNDS; i++)
			cloned();
		sayPlain("objects cloned SampledObjects$Plain.clone *");
		for (int i = 0; i < ROUNDS; i++)
			clonedArray();
		sayArray("objects clonedArray *", int[].class, LENGTH);
	}

	private static void throughVm() throws Exception {
		for (int i = 0; i < ROUNDS; i++)
			reflected();
		sayPlain("throughVm reflected java.lang.reflect.Constructor.newInstance *");
		for (int i = 0; i < ROUNDS; i++)
			reflectedArray();
		sayArray("throughVm reflectedArray java.lang.reflect.Array.newInstance *", short[].class,
				LENGTH);
		for (int i = 0; i < ROUNDS; i++)
			reflectedArrays();
		say("throughVm reflectedArrays java.lang.reflect.Array.newInstance *", "short[]", 6,
				6 * arrayBytes(short[].class, LENGTH));
		for (int i = 0; i < ROUNDS; i++)
			unconstructed();
		sayPlain("throughVm unconstructed sun.misc.Unsafe.allocateInstance *");
	}

	private static void throughJni() {
		for (int i = 0; i < ROUNDS; i++)
			sink = newObject(Plain.class);
		sayPlain("throughJni newObject Java_SampledObjects_newObject jni_NewObject");
		for (int i = 0; i < ROUNDS; i++)
			sink = allocObject(Plain.class);
		sayPlain("throughJni allocObject Java_SampledObjects_allocObject jni_AllocObject");
		for (int i = 0; i < ROUNDS; i++)
			sink = newIntArray(LENGTH);
		sayArray("throughJni newIntArray Java_SampledObjects_newIntArray jni_NewIntArray",
				int[].class, LENGTH);
		for (int i = 0; i < ROUNDS; i++)
			sink = newObjectArray(Plain.class, LENGTH);
		sayArray("throughJni newObjectArray Java_SampledObjects_newObjectArray jni_NewObjectArray",
				Plain[].class, LENGTH);
	}

	/** Each level has its own stack, with one more frame. */
	private static void recursion() {
		StringBuilder names = new StringBuilder("recursion");
		for (int i = 0; i < ROUNDS; i++)
			recurse(DEPTH);
		int allocating = line;
		for (int depth = 1; depth <= DEPTH; depth++) {
			names.append(" recurse");
			line = allocating;
			sayArray(names.toString(), long[].class, LENGTH);
		}
	}

	private static void large() {
		for (int i = 0; i < ROUNDS; i++)
			largeArray();
		sayArray("large largeArray", byte[].class, LARGE);
	}

	public static void main(String[] arguments) throws Exception {
		System.load(arguments[0]);
		primitives();
		arrays();
		objects();
		throughVm();
		throughJni();
		recursion();
		large();
	}
}
