// SPDX-License-Identifier: Apache-2.0
package servers;

import services.Scratch;

/** A server whose clients are in another process. */
interface Server extends AutoCloseable {
	/** Starts it with its files there; returns the TCP port of its clients. */
	int start(Scratch scratch) throws Exception;
}
