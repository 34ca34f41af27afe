/* SPDX-License-Identifier: Apache-2.0 */
/* The types of an exported flight recording, and the metadata that describes them. */
#ifndef TH_REPORT_VIEWS_JFR_TYPES_H
#define TH_REPORT_VIEWS_JFR_TYPES_H

#include "report/base/bytes.h"

/* Numbers of types; 0 and 1 are the metadata and the constant pools. */
enum th_jfr_type {
	TH_JFR_METADATA = 0,
	TH_JFR_POOLS = 1,
	TH_JFR_BOOLEAN = 4,
	TH_JFR_INT = 10,
	TH_JFR_LONG = 11,
	TH_JFR_STRING = 20,
	/* With a constant pool each. */
	TH_JFR_CLASS,
	TH_JFR_THREAD,
	TH_JFR_CLASS_LOADER,
	TH_JFR_FRAME_TYPE,
	TH_JFR_STACK_TRACE,
	TH_JFR_METHOD,
	TH_JFR_PACKAGE,
	TH_JFR_SYMBOL,
	TH_JFR_GC_NAME,
	TH_JFR_GC_CAUSE,
	TH_JFR_GC_WHEN,
	TH_JFR_OLD_OBJECT,
	TH_JFR_POOL_END,
	/* Parts of others. */
	TH_JFR_STACK_FRAME = 50,
	TH_JFR_VIRTUAL_SPACE,
	/* Events. */
	TH_JFR_ALLOCATION_SAMPLE = 100,
	TH_JFR_OLD_OBJECT_SAMPLE,
	TH_JFR_MALLOC,
	TH_JFR_FREE,
	TH_JFR_MAPPED,
	TH_JFR_GARBAGE_COLLECTION,
	TH_JFR_HEAP_SUMMARY,
	/* Annotations. */
	TH_JFR_LABEL = 150,
	TH_JFR_CATEGORY,
	TH_JFR_TIMESTAMP,
	TH_JFR_TIMESPAN,
	TH_JFR_DATA_AMOUNT,
};

/* A number; JFR's ninth byte has 8 bits. */
void th_jfr_number(struct th_bytes *bytes, uint64_t value);

/* Numbers in a row, evaluated in any order. */
#define th_jfr_numbers(bytes, ...)                                \
	th_jfr_numbers_of(bytes, (const uint64_t[]){__VA_ARGS__}, \
		sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))
void th_jfr_numbers_of(struct th_bytes *bytes, const uint64_t *values, size_t count);

/* A string in UTF-8. */
void th_jfr_string(struct th_bytes *bytes, const char *text);

/* Appends an event of this type, with its size before it; `body`, without the type, becomes empty. */
void th_jfr_event(struct th_bytes *bytes, enum th_jfr_type type, struct th_bytes *body);

/* Appends the metadata event; times in ticks. */
void th_jfr_metadata(struct th_bytes *bytes, uint64_t start, uint64_t duration);

#endif
