// SPDX-License-Identifier: Apache-2.0
package realworld;

import leaks.Pace;
import leaks.Program;
import leaks.Texts;
import org.xerial.snappy.Snappy;

/** Round trips through snappy-java: leaks nothing. */
public final class SnappyRoundTrips implements Program {
	private static final int TRIPS = 2000;
	private static final int BYTES = 200_000;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		byte[] text = Texts.bytes(BYTES);
		pace.run(TRIPS, step -> Texts.check(Snappy.uncompress(Snappy.compress(text)), text));
	}
}
