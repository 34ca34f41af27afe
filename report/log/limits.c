/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For each event a function is generated from its fields in log_format.h: no field can be forgotten,
 * and those without a limit cost nothing.
 */
#include "report/log/limits.h"

/* Amounts become signed numbers in JSON and in differences. */
#define AMOUNT_MAX ((uint64_t)INT64_MAX)

static bool
is_amount(uint64_t value)
{
	return value <= AMOUNT_MAX;
}

static bool
are_amounts(const struct th_words *values)
{
	for (uint32_t i = 0; i < values->count; i++)
		if (!is_amount(values->words[i]))
			return false;
	return true;
}

static bool
is_probability(double value)
{
	return value >= 0 && value <= 1;
}

/* `is_first`: the time of the event; others, such as that of a birth, may be before the start. */
static bool
limit_time(struct th_limits *limits, bool is_first, uint64_t *time)
{
	if (is_first && *time < limits->start) {
		*time = limits->start;
		limits->is_early = true;
	}
	if (is_first)
		limits->time = *time;
	return *time <= limits->start + TH_TIME_SPAN_MAX;
}

/* By data type, then by content type. */
#define LIMIT_U32(content, field) true
#define LIMIT_TEXT(content, field) true
#define LIMIT_U64(content, field) U64_##content(field)
#define LIMIT_F64(content, field) is_probability(event->field)
#define LIMIT_U64_ARRAY(content, field) ARRAY_##content(field)
#define U64_NONE(field) true
#define U64_ADDRESS(field) true
#define U64_SAMPLE(field) true
#define U64_BYTES(field) is_amount(event->field)
#define U64_COUNT(field) is_amount(event->field)
#define U64_NANOSECONDS(field) \
	limit_time(limits, (void *)&event->field == (void *)event, &event->field)
#define ARRAY_NONE(field) true
#define ARRAY_SAMPLE(field) true
#define ARRAY_LINES(field) true
#define ARRAY_FRAMES(field) true
#define ARRAY_COUNT(field) are_amounts(&event->field)

#define F(data, content, field, label) &&LIMIT_##data(content, field)
#define E(NUMBER, NAME, name, label, description)                                           \
	static bool limit_##name(struct th_limits *limits, struct th_decoded_##name *event) \
	{                                                                                   \
		(void)limits;                                                               \
		(void)event;                                                                \
		return true TH_FIELDS_##NAME(F);                                            \
	}
TH_EVENTS(E)
#undef E
#undef F

bool
th_limits_apply(struct th_limits *limits, uint32_t type, union th_decoded *event)
{
	switch (type) {
#define E(NUMBER, NAME, name, label, description) \
	case TH_EVENT_##NAME:                     \
		return limit_##name(limits, &event->name);
		TH_EVENTS(E)
#undef E
	default:
		return false;
	}
}
