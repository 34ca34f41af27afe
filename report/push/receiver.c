/* SPDX-License-Identifier: Apache-2.0 */
/*
 * There is no queue of windows: one that was not taken becomes part of the next, so the memory
 * that an outage takes does not depend on its length.
 */
#include "report/push/receiver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opentelemetry/proto/collector/profiles/v1development/profiles_service.pb-c.h"
#include "report/base/format.h"
#include "report/push/http.h"
#include "unify/shared/clock.h"

#define FIRST_DELAY (TH_NS_PER_S)
#define LAST_DELAY (300 * TH_NS_PER_S)
/*
 * How often the same bytes are sent whose fate is unknown. Then they are probably the cause: their
 * values become part of the next window.
 */
#define REPEATS_MAX 5

/* A fifth more or less, so that the processes of a fleet do not return at the same time. */
static uint64_t
spread(uint64_t delay)
{
	return delay - delay / 5 + (uint64_t)random() % (delay / 5 * 2);
}

static void
fail(struct th_receiver *receiver, const struct th_http_answer *answer)
{
	uint64_t now = th_clock_now();
	uint64_t wait;

	snprintf(receiver->reason, sizeof(receiver->reason), "%s", answer->reason);
	if (!receiver->delay) {
		receiver->failing = now;
		th_notice("push: %s: %s; trying again, windows are merged meanwhile",
			receiver->destination.text, answer->reason);
	}
	receiver->delay = receiver->delay ? receiver->delay * 2 : FIRST_DELAY;
	if (receiver->delay > LAST_DELAY)
		receiver->delay = LAST_DELAY;
	wait = spread(receiver->delay);
	receiver->blocked = now + (answer->wait > wait ? answer->wait : wait);
}

static void
recover(struct th_receiver *receiver)
{
	if (receiver->delay)
		th_notice("push: %s: accepts again, after %s", receiver->destination.text,
			th_format_seconds(
				(double)(th_clock_now() - receiver->failing) / TH_NS_PER_S)
				.text);
	receiver->delay = 0;
}

/* OTLP: whether the answer to an accepted request says that profiles were rejected. */
static bool
is_partial(const struct th_receiver *receiver, struct th_http_answer *answer)
{
	/* A response for logs has the same fields. */
	if (receiver->destination.kind != TH_TO_OTLP ||
		answer->body_length == sizeof(answer->body))
		return false;
	Opentelemetry__Proto__Collector__Profiles__V1development__ExportProfilesServiceResponse
		*response =
			opentelemetry__proto__collector__profiles__v1development__export_profiles_service_response__unpack(
				NULL, answer->body_length, (const uint8_t *)answer->body);
	bool is_rejected = response && response->partial_success &&
			   response->partial_success->rejected_profiles;

	if (is_rejected)
		snprintf(answer->reason, sizeof(answer->reason), "%.200s",
			response->partial_success->error_message);
	if (response)
		opentelemetry__proto__collector__profiles__v1development__export_profiles_service_response__free_unpacked(
			response, NULL);
	return is_rejected;
}

static void
post(struct th_receiver *receiver, const struct th_request_body *body,
	struct th_http_answer *answer)
{
	struct th_labels headers = {0};

	th_labels_set(&headers, "Content-Type", body->content_type);
	th_labels_set(&headers, "Content-Encoding", body->is_gzipped ? "gzip" : NULL);
	th_labels_add(&headers, &receiver->destination.headers);
	th_http_post(
		&(struct th_http_request){
			.url = body->url,
			.headers = &headers,
			.body = body->bytes,
			.length = body->length,
			.timeout = receiver->timeout,
		},
		answer);
	th_labels_deinit(&headers);
	if (answer->outcome == TH_HTTP_ACCEPTED && is_partial(receiver, answer))
		answer->outcome = TH_HTTP_REJECTED;
}

static bool
handle(struct th_receiver *receiver, struct th_source *source, struct th_http_answer *answer)
{
	switch (answer->outcome) {
	case TH_HTTP_ACCEPTED:
		recover(receiver);
		th_source_accepted(source, receiver->state);
		return true;
	case TH_HTTP_REJECTED:
		th_notice("push: %s: rejects a window of process %u, which is lost: %s",
			receiver->destination.text, source->recording->process.pid,
			answer->reason);
		th_source_drop(source, receiver->state);
		return true;
	case TH_HTTP_UNKNOWN:
		if (++source->repeats >= REPEATS_MAX)
			th_source_merge(source);
		break;
	case TH_HTTP_REFUSED:
		th_source_merge(source);
		break;
	}
	fail(receiver, answer);
	return false;
}

/*
 * Findings are told once the values are accepted. A receiver that has no logs is told none; a
 * fault is no reason to wait with values.
 */
static void
send_findings(
	struct th_receiver *receiver, struct th_source *source, struct th_http_answer *answer)
{
	struct th_request_body request;

	if (receiver->takes_no_logs ||
		!th_source_findings(source, &receiver->destination, &request))
		return;
	post(receiver, &request, answer);
	th_request_body_deinit(&request);
	if (answer->outcome == TH_HTTP_ACCEPTED) {
		th_findings_accepted(&source->findings);
	} else {
		th_notice("push: %s: leaks cannot be sent as log records: %s",
			receiver->destination.text, answer->reason);
		receiver->takes_no_logs = answer->outcome == TH_HTTP_REJECTED ||
					  !strcmp(answer->reason, "HTTP status 404");
	}
}

bool
th_receiver_send(struct th_receiver *receiver, struct th_source *source)
{
	struct th_http_answer *answer = malloc(sizeof(*answer));
	bool is_sent = answer != NULL;

	while (is_sent && source->requests_sent < source->requests_count) {
		post(receiver, &source->requests[source->requests_sent], answer);
		is_sent = handle(receiver, source, answer);
	}
	if (is_sent && !source->is_lost)
		send_findings(receiver, source, answer);
	free(answer);
	return is_sent;
}
