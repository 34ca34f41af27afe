// SPDX-License-Identifier: Apache-2.0
package leaks;

import java.net.http.HttpClient;
import java.util.ArrayList;
import java.util.List;

/**
 * An HttpClient for each session, all of which are kept: each has a thread, selectors and buffers.  The
 * clean twin has one for all.
 */
final class HttpClients implements Program {
	private static final int SESSIONS = 120;

	private final List<HttpClient> sessions = new ArrayList<>();
	private HttpClient shared;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		shared = leaking ? null : connect();
		pace.run(SESSIONS, step -> sessions.add(leaking ? connect() : shared));
		if (leaking)
			Truth.leak("threads", "leaks.HttpClients.connect", Truth.UNKNOWN, SESSIONS);
	}

	private static HttpClient connect() {
		return HttpClient.newHttpClient();
	}
}
