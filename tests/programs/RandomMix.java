// SPDX-License-Identifier: Apache-2.0

import java.lang.reflect.Field;
import java.util.Arrays;

/**
 * Allocates byte arrays of up to four sizes, each at a site of its own, in all threads at the same
 * time, and prints the bytes of each site.
 *
 * <pre>RandomMix SEED THREADS VOLUME ORDER SIZE:SHARE...</pre>
 *
 * VOLUME: bytes per thread.  ORDER: "turns" (the sizes in turn, so equally often; shares are not
 * used) or "random" (independently, so that each site gets its SHARE of the bytes on average).
 */
public final class RandomMix {
	private static final int SITES = 4;

	/** One thread's work.  A field per thread, so that threads do not share a cache line. */
	private static final class Worker extends Thread {
		private final int[] lengths;
		private final double[] bounds;
		private final long[] counts = new long[SITES];
		private final long volume;
		private long state;
		volatile Object sink;

		Worker(long seed, long volume, int[] lengths, double[] bounds) {
			this.state = seed;
			this.volume = volume;
			this.lengths = lengths;
			this.bounds = bounds;
		}

		/** SplitMix64 (Steele, Lea, Flood 2014), in [0, 1). */
		private double next() {
			long z = state += 0x9e3779b97f4a7c15L;
			z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
			z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
			return ((z ^ z >>> 31) >>> 11) * 0x1p-53;
		}

		private int choose(int last) {
			if (bounds == null)
				return last + 1 == lengths.length ? 0 : last + 1;
			double x = next();
			int site = 0;
			while (x >= bounds[site])
				site++;
			return site;
		}

		private Object allocate(int site) {
			switch (site) {
			case 0:
				return site0(lengths[0]);
			case 1:
				return site1(lengths[1]);
			case 2:
				return site2(lengths[2]);
			default:
				return site3(lengths[3]);
			}
		}

		@Override
		public void run() {
			long bytes = 0;
			int site = -1;
			while (bytes < volume) {
				site = choose(site);
				sink = allocate(site);
				counts[site]++;
				bytes += lengths[site];
			}
		}
	}

	private RandomMix() {
	}

	private static byte[] site0(int length) {
		return new byte[length];
	}

	private static byte[] site1(int length) {
		return new byte[length];
	}

	private static byte[] site2(int length) {
		return new byte[length];
	}

	private static byte[] site3(int length) {
		return new byte[length];
	}

	/** Bytes of an array's header: 12, 16 or 24, depending on the VM and its options. */
	@SuppressWarnings({"deprecation", "removal"})
	private static int header() throws ReflectiveOperationException {
		Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
		field.setAccessible(true);
		return ((sun.misc.Unsafe) field.get(null)).arrayBaseOffset(byte[].class);
	}

	/** Upper bounds of each site's part of [0, 1): objects are chosen by share / size. */
	private static double[] bounds(double[] shares, int[] sizes) {
		double[] bounds = new double[sizes.length];
		double sum = 0;
		for (int i = 0; i < sizes.length; i++)
			bounds[i] = sum += shares[i] / sizes[i];
		for (int i = 0; i < sizes.length; i++)
			bounds[i] /= sum;
		bounds[sizes.length - 1] = 1;
		return bounds;
	}

	public static void main(String[] arguments) throws Exception {
		long seed = Long.parseLong(arguments[0]);
		Worker[] workers = new Worker[Integer.parseInt(arguments[1])];
		long volume = Long.parseLong(arguments[2]);
		boolean isRandom = arguments[3].equals("random");
		int count = arguments.length - 4;
		int[] sizes = new int[count];
		double[] shares = new double[count];
		for (int i = 0; i < count; i++) {
			String[] parts = arguments[4 + i].split(":");
			sizes[i] = Integer.parseInt(parts[0]);
			shares[i] = Double.parseDouble(parts[1]);
		}
		int header = header();
		int[] lengths = Arrays.stream(sizes).map(size -> size - header).toArray();
		for (int i = 0; i < workers.length; i++)
			workers[i] = new Worker(seed + i, volume, lengths,
					isRandom ? bounds(shares, sizes) : null);
		for (Worker worker : workers)
			worker.start();
		for (Worker worker : workers)
			worker.join();
		for (int i = 0; i < count; i++) {
			long objects = 0;
			for (Worker worker : workers)
				objects += worker.counts[i];
			long bytes = objects * (sizes[i] + 7L & ~7L);
			System.out.println("{\"site\": \"RandomMix.site" + i + "\", \"heap\": \"java\", \"size\": "
					+ sizes[i] + ", \"objects\": " + objects + ", \"bytes\": " + bytes + "}");
		}
	}
}
