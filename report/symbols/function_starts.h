/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Function starts of an ELF file without symbols: the search table of its unwind information,
 * which stripping does not remove, lists the start of every function. Together with the names
 * that the log has for some addresses (SYMBOL events) it names all addresses of these
 * functions, and no other function.
 */
#ifndef TH_REPORT_SYMBOLS_FUNCTION_STARTS_H
#define TH_REPORT_SYMBOLS_FUNCTION_STARTS_H

#include <stdint.h>

struct th_function_starts;

/*
 * Reads the table of the module that was loaded from `path` with that build id. NULL when the
 * file is missing, has another build id, or has no such table.
 */
struct th_function_starts *th_function_starts_open(const char *path, const char *build_id);

/* NULL is legal. */
void th_function_starts_close(struct th_function_starts *starts);

/*
 * ELF virtual address of the start of the function around `address`; UINT64_MAX if `starts` is
 * NULL or no function starts before it.
 */
uint64_t th_function_starts_find(const struct th_function_starts *starts, uint64_t address);

#endif
