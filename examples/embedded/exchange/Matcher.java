// SPDX-License-Identifier: Apache-2.0
package exchange;

import java.util.ArrayList;
import java.util.List;

/** The Java half of an order matcher whose main program is C; see embedded.c. */
public final class Matcher {
	private static final int KEPT_EVERY = 4;

	private static final List<byte[]> TRADES = new ArrayList<>();

	private Matcher() {
	}

	/** Called from C for each order; calls back for the order's text. */
	public static void match(int number) {
		String text = describe(number);
		byte[] trade = new byte[512];
		for (int i = 0; i < text.length(); i++)
			trade[i] = (byte) text.charAt(i);
		if (number % KEPT_EVERY == 0)
			TRADES.add(trade);
	}

	/** The number of trades kept. */
	public static int kept() {
		return TRADES.size();
	}

	/** The text of an order, from C. */
	private static native String describe(int number);
}
