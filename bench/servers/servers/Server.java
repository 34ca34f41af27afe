// SPDX-License-Identifier: Apache-2.0
package servers;

import services.Scratch;

/** A server whose clients are in another process. */
interface Server {
	/** Starts it with its files there; returns the TCP port of its clients. */
	int start(Scratch scratch) throws Exception;

	/** Stops it after a start. */
	void close() throws Exception;
}
