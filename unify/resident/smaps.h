/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's own account of this process: /proc/self/smaps, mapping by mapping.
 *
 * The sum of `resident` over all mappings is the RSS: the kernel counts page table entries, so a
 * page that is mapped twice counts twice in both.
 */
#ifndef TH_UNIFY_RESIDENT_SMAPS_H
#define TH_UNIFY_RESIDENT_SMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest path kept, with the terminator, of a line of the kernel up to 512 bytes. */
#define TH_SMAPS_PATH_MAX 256

struct th_smaps_entry {
	uintptr_t start;
	uintptr_t end;
	uint64_t offset;    /* in the file */
	uint64_t resident;  /* bytes with a page table entry */
	uint64_t swapped;   /* bytes in swap */
	uint64_t anonymous; /* of `resident`: not the file's own pages */
	uint64_t huge;      /* bytes of hugetlbfs, which RSS does not count */
	bool is_readable;
	bool is_writable;
	bool is_accessible; /* any of read, write, execute */
	bool is_shared;
	bool has_file;
	char path[TH_SMAPS_PATH_MAX]; /* as the kernel names it: "/lib/x.so", "[heap]", "" */
};

/* Called with each mapping, in the order of addresses; false: that is enough. */
typedef bool th_smaps_visit(const struct th_smaps_entry *entry, void *data);

/* Text is fed in pieces of any length. */
struct th_smaps_parser {
	th_smaps_visit *visit;
	void *data;
	bool has_entry;
	bool is_stopped;
	bool is_malformed; /* a line was not understood; what follows is ignored */
	struct th_smaps_entry entry;
	size_t line_length;
	char line[512]; /* of longer ones the beginning is kept */
};

void th_smaps_parser_init(struct th_smaps_parser *parser, th_smaps_visit *visit, void *data);
void th_smaps_parser_feed(struct th_smaps_parser *parser, const char *text, size_t length);
/* The last mapping is complete.  False: the text was no smaps. */
bool th_smaps_parser_end(struct th_smaps_parser *parser);

/*
 * Reads /proc/self/smaps, or the file `path`, through `buffer`.  The kernel walks the page
 * tables of the whole process for it.  False: it cannot be read or understood. [any]
 */
bool th_smaps_read(
	const char *path, char *buffer, size_t capacity, th_smaps_visit *visit, void *data);

#endif
