/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaks of a recording as log records of OpenTelemetry: one for each finding, when it is found
 * first.
 */
#ifndef TH_REPORT_PUSH_FINDINGS_H
#define TH_REPORT_PUSH_FINDINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/push/destination.h"

/* Zeroed: nothing was told. */
struct th_findings {
	TH_ARRAY(uint64_t, told);   /* hashes of findings that were accepted */
	TH_ARRAY(uint64_t, staged); /* of those in the current request */
};

void th_findings_deinit(struct th_findings *findings);

/*
 * Makes the request, `POST URL/v1/logs` in JSON, with the leaks that were not told; false: there
 * are none. `now` in ns since 1970.
 */
bool th_findings_request(struct th_findings *findings, const struct th_profile *profile,
	const struct th_destination *destination, const struct th_labels *labels, uint64_t now,
	struct th_request_body *request_ret);

/* The request was accepted. */
void th_findings_accepted(struct th_findings *findings);

#endif
