// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.math.BigInteger;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Several kinds of work in turn, each for as long as compilers need to optimize it. */
final class WarmUp implements Program {
	private static final int ROUNDS = 3000;

	private volatile Object sink;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		List<Runnable> kinds = List.of(this::format, this::sort, this::match, this::multiply,
				this::group, this::index);
		pace.run(ROUNDS, step -> {
			/* One more kind with every sixth of the time. */
			for (int i = 0; i <= step * kinds.size() / ROUNDS; i++)
				kinds.get(i).run();
		});
	}

	private void format() {
		sink = String.format(Locale.ROOT, "%s has %d and %.3f", "this", 42, 1.5);
	}

	private void sort() {
		sink = IntStream.range(0, 300).map(i -> i * 7919 % 1000).boxed().sorted()
				.collect(Collectors.toList());
	}

	private void match() {
		sink = Pattern.compile("(\\w+)-(\\d+)(?:,|$)").matcher("ab-12,cd-34,ef-56")
				.replaceAll("$2$1");
	}

	private void multiply() {
		sink = BigInteger.valueOf(3).pow(600).multiply(BigInteger.valueOf(7).pow(400));
	}

	private void group() {
		sink = Arrays.stream("the quick brown fox jumps over the lazy dog".split(" "))
				.collect(Collectors.groupingBy(String::length, TreeMap::new,
						Collectors.counting()));
	}

	private void index() {
		TreeMap<String, Integer> map = new TreeMap<>();
		for (int i = 0; i < 100; i++)
			map.merge("key" + i % 37, 1, Integer::sum);
		sink = map;
	}
}
