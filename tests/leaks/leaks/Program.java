// SPDX-License-Identifier: Apache-2.0
package leaks;

/** One program of the corpus. */
public interface Program {
	/**
	 * Works at the given pace.  With `leaking`, it leaks, and reports to {@link Truth} what
	 * and how much; without, it does the same work and leaks nothing.
	 */
	void run(Pace pace, boolean leaking) throws Exception;
}
