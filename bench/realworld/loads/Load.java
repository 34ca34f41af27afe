// SPDX-License-Identifier: Apache-2.0
package loads;

/** A fixed piece of real work. */
interface Load {
	/** Does it in a directory of its own; returns a checksum of what came out. */
	long run(String directory) throws Exception;
}
