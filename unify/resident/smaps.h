/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parser of /proc/PID/smaps, the kernel's list of mappings with their resident bytes, and of
 * /proc/PID/maps, the same without any bytes.
 *
 * The sum of `resident` over all mappings is the RSS: the kernel counts page table entries, so
 * a page that is mapped twice counts twice in both.
 */
#ifndef TH_UNIFY_RESIDENT_SMAPS_H
#define TH_UNIFY_RESIDENT_SMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Maximum length of a stored path, with the terminator; lines of the kernel have up to 512
 * bytes.
 */
#define TH_SMAPS_PATH_MAX 256

struct th_smaps_entry {
	uintptr_t start;
	uintptr_t end;
	uint64_t offset;    /* in the file */
	uint64_t resident;  /* bytes with a page table entry */
	uint64_t swapped;   /* bytes in swap */
	uint64_t anonymous; /* part of `resident` that is not file pages */
	uint64_t huge;      /* bytes in hugetlbfs, which RSS does not include */
	bool is_readable;
	bool is_writable;
	bool is_accessible; /* any of read, write, execute */
	bool is_shared;
	bool has_file;
	char path[TH_SMAPS_PATH_MAX]; /* as in the kernel's line: "/lib/x.so", "[heap]", "" */
};

/* Called for each mapping in ascending order of addresses; false ends the parsing. */
typedef bool th_smaps_visit(const struct th_smaps_entry *entry, void *data);

/* An incremental parser: text is fed in pieces of any length. */
struct th_smaps_parser {
	th_smaps_visit *visit;
	void *data;
	bool has_entry;
	bool is_stopped;
	bool is_malformed; /* a malformed line was found; the rest is ignored */
	struct th_smaps_entry entry;
	size_t line_length;
	char line[512]; /* of longer lines only the beginning */
};

void th_smaps_parser_init(struct th_smaps_parser *parser, th_smaps_visit *visit, void *data);
void th_smaps_parser_feed(struct th_smaps_parser *parser, const char *text, size_t length);
/* Completes the last mapping.  False: the text is not smaps. */
bool th_smaps_parser_end(struct th_smaps_parser *parser);

/*
 * Reads the file at `path` (/proc/PID/smaps or maps) through `buffer`.  For smaps the kernel walks the
 * page tables of the whole process and looks at each page.  False: the file cannot be read or parsed. [any]
 */
bool th_smaps_read(
	const char *path, char *buffer, size_t capacity, th_smaps_visit *visit, void *data);

#endif
