// SPDX-License-Identifier: Apache-2.0
package leaks;

/** One program of the corpus. */
public interface Program {
	/**
	 * Works at the given pace. With `leaking`, loses what it should have given back, and tells
	 * {@link Truth} what and how much; without, does the same work and loses nothing.
	 */
	void run(Pace pace, boolean leaking) throws Exception;
}
