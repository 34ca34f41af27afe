/* SPDX-License-Identifier: Apache-2.0 */
/* Leaks of a recording as log records of OpenTelemetry, each once. */
#ifndef TH_REPORT_PUSH_FINDINGS_H
#define TH_REPORT_PUSH_FINDINGS_H

#include "report/base/labels.h"
#include "report/profile/profile.h"
#include "report/push/http.h"

/* Zeroed: nothing was sent. `hashes` is to be freed. */
struct th_findings {
	TH_ARRAY(uint64_t,
		hashes); /* of findings that were accepted, then of those in the request */
	size_t accepted;
};

/*
 * Makes the request, `POST URL/v1/logs` in JSON, with the leaks that were not accepted; false:
 * there are none. `now` in ns since 1970.
 */
bool th_findings_request(struct th_findings *findings, const struct th_profile *profile,
	const char *url, const struct th_labels *labels, uint64_t now,
	struct th_http_request *request_ret);

#endif
