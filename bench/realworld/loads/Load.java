// SPDX-License-Identifier: Apache-2.0
package loads;

/** A fixed piece of real work. */
interface Load {
	/** Runs the load in a directory of its own; returns a checksum of the results. */
	long run(String directory) throws Exception;
}
