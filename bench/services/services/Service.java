// SPDX-License-Identifier: Apache-2.0
package services;

/** A server and its clients in one process. */
interface Service extends AutoCloseable {
	/** Starts the server; then calls {@link Load#begin} and gives the load its steps. */
	void start(Load load, Leaks leaks) throws Exception;

	/** Stops the server after the load, as a service does that ends in good order. */
	@Override
	void close() throws Exception;
}
