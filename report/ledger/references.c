/* SPDX-License-Identifier: Apache-2.0 */
#include "report/ledger/references.h"

#include <string.h>

#include "report/base/allocate.h"
#include "report/base/format.h"
#include "unify/shared/clock.h"

#define QUARTERS 4
/* The warm-up is this part of the time. */
#define WARM_UP_PART 5
/* Growth begins where the number left the first one for good by more than this part of it. */
#define NOTABLE_PART 0.05

/* A number that changes at certain times. */
struct steps {
	const struct th_recording *recording;
	size_t count; /* those up to the end */
	size_t offset;
};

static uint64_t
value_at(const struct steps *steps, size_t i)
{
	uint64_t value;

	memcpy(&value, (const char *)&steps->recording->references[i] + steps->offset,
		sizeof(value));
	return value;
}

/* The smallest value in [from, to). */
static uint64_t
minimum(const struct steps *steps, uint64_t from, uint64_t to)
{
	const struct th_decoded_jni_references *items = steps->recording->references;
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < steps->count && items[i].time < to; i++) {
		uint64_t until = i + 1 < steps->count ? items[i + 1].time : UINT64_MAX;

		if (until > from && value_at(steps, i) < least)
			least = value_at(steps, i);
	}
	return least;
}

static bool
grows(const struct steps *steps, uint64_t start, uint64_t end)
{
	uint64_t warm = start + (end - start) / WARM_UP_PART;
	uint64_t floors[QUARTERS];

	if (end - start < TH_REFERENCES_LEAST_NS)
		return false;
	for (unsigned i = 0; i < QUARTERS; i++) {
		floors[i] = minimum(steps, warm + (end - warm) / QUARTERS * i,
			warm + (end - warm) / QUARTERS * (i + 1));
		if (i && floors[i] <= floors[i - 1])
			return false;
	}
	uint64_t whole = floors[QUARTERS - 1] - floors[0];
	uint64_t last = floors[QUARTERS - 1] - floors[QUARTERS - 2];
	return whole >= TH_REFERENCES_LEAST && last * 2 * (QUARTERS - 1) >= whole;
}

/* The last time at which the number was still about the first one. */
static uint64_t
beginning(const struct steps *steps, uint64_t start)
{
	uint64_t first = value_at(steps, 0);
	double near = (double)first +
		      NOTABLE_PART * (double)(value_at(steps, steps->count - 1) - first);

	for (size_t i = steps->count; i-- > 0;)
		if ((double)value_at(steps, i) <= near)
			return steps->recording->references[i].time;
	return start;
}

static struct th_reference_count
count(const struct steps *steps, uint64_t end)
{
	uint64_t start = steps->recording->start;
	struct th_reference_count found = {
		.first = value_at(steps, 0), .last = value_at(steps, steps->count - 1)};

	for (size_t i = 0; i < steps->count; i++)
		if (value_at(steps, i) > found.max)
			found.max = value_at(steps, i);
	found.is_leak = found.last > found.first && grows(steps, start, end);
	if (!found.is_leak)
		return found;
	uint64_t since = beginning(steps, start);
	found.since = (double)(since - start) / 1e9;
	if (end > since)
		found.rate = (double)(found.last - found.first) / ((double)(end - since) / 1e9);
	return found;
}

struct th_references
th_references_find(const struct th_recording *recording, uint64_t end)
{
	struct steps steps = {.recording = recording};
	struct th_references found = {.is_known = false};

	while (found.undetached < recording->undetached_count &&
		recording->undetached[found.undetached].time <= end)
		found.undetached++;
	while (steps.count < recording->references_count &&
		recording->references[steps.count].time <= end)
		steps.count++;
	if (!steps.count)
		return found;
	found.is_known = true;
	steps.offset = offsetof(struct th_decoded_jni_references, globals);
	found.globals = count(&steps, end);
	steps.offset = offsetof(struct th_decoded_jni_references, weaks);
	found.weaks = count(&steps, end);
	return found;
}

char *
th_reference_count_text(const struct th_reference_count *count)
{
	if (count->first == count->last)
		return th_format_new("%s", th_format_count(count->last).text);
	return th_format_new("%s -> %s", th_format_count(count->first).text,
		th_format_count(count->last).text);
}
