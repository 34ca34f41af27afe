/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of native functions that are in the log itself (SYMBOL events), for modules whose files
 * are gone or stripped.
 */
#ifndef TH_REPORT_SYMBOLS_RECORDED_NAMES_H
#define TH_REPORT_SYMBOLS_RECORDED_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "report/log/recording.h"

struct th_recorded_names;

/* The recording must outlive the names. */
struct th_recorded_names *th_recorded_names_create(const struct th_recording *recording);
void th_recorded_names_destroy(struct th_recorded_names *names);

/*
 * The name, as in the symbol table, of the function around a native frame word; NULL: the log
 * has none.  `path` and `build_id` are those of its module, whose file is used only for
 * functions of a VM that have a name and no size in the log.  Valid as
 * long as the recording.
 */
const struct th_text *th_recorded_names_find(
	struct th_recorded_names *names, uint64_t word, const char *path, const char *build_id);

/* Whether the log has names of functions of this module (by id). */
bool th_recorded_names_has_module(struct th_recorded_names *names, uint32_t module);

#endif
