/* SPDX-License-Identifier: Apache-2.0 */
/* What holds the objects of a finding, in the outputs of leaks and holders (view_holders.c). */
#ifndef TH_REPORT_VIEWS_HOLDER_PARTS_H
#define TH_REPORT_VIEWS_HOLDER_PARTS_H

#include <jansson.h>
#include <stdio.h>

#include "report/holders/holders.h"

/*
 * The lines of a finding in `leaks`: its largest holders, each in one line; without a walk, for a
 * leak, the command that finds them.  `number` of the finding, from 1.  Nothing if it has no Java
 * objects.
 */
void th_holder_parts_lines(FILE *file, const struct th_held_samples *held,
	const struct th_listed *listed, const struct th_finding *finding, size_t number);

/* The same of a finding that is of class loaders; nothing if it is not. */
void th_holder_parts_tallied_lines(
	FILE *file, const struct th_held_samples *held, const struct th_tallied *tallied);

/*
 * The holders with all elements of their paths, at most `top`; what a path shares with the one above
 * is printed once.
 */
void th_holder_parts_print(FILE *file, const struct th_held_samples *held,
	const struct th_holders *holders, uint64_t top);

/* One line: "static gw.Gateway.SESSIONS -> java.util.HashMap.table -> ..."; the caller frees it. */
char *th_holder_parts_path(struct th_frames *frames, const struct th_holder *holder);

/*
 * The holders of a finding: [{"path", "objects", "bytes", "root_frames"}], or the largest ones as
 * lines of text, ["99 % by static gw.Gateway.SESSIONS -> ..."].  NULL: there was no walk, or it has no
 * Java objects.  A new reference.
 */
json_t *th_holder_parts_finding_json(const struct th_held_samples *held,
	const struct th_listed *listed, const struct th_finding *finding, bool as_lines);

/* The same of class loaders. */
json_t *th_holder_parts_tallied_json(
	const struct th_held_samples *held, const struct th_tallied *tallied, bool as_lines);

#endif
