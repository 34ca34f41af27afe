/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native symbols, offline: from an address in an ELF file to its functions and source lines,
 * inlined ones included.
 *
 * The files are those of the machine that reads the log. A file that is not the one that was
 * loaded when the log was written (another build id) is never used; a matching debug file is.
 * The network is used only if DEBUGINFOD_URLS is set (debuginfod.h).
 */
#ifndef TH_REPORT_SYMBOLS_SYMBOLS_H
#define TH_REPORT_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct th_symbols;

/* One function at an address. The strings belong to the th_symbols that returned them. */
struct th_symbol {
	const char *function; /* for display: demangled, no parameter list; never NULL */
	const char *file;     /* source file as the compiler recorded it, or NULL */
	uint32_t line;        /* 1.., the line of the call or of the pc itself; 0 = not known */
	bool inlined;         /* its code was inlined into the next symbol of the array */
	bool is_named;        /* false: `function` is the stand-in "library.so+0xoffset" */
};

/*
 * Called once for each module with missing symbols: `text` is one line without newline that
 * names the file and the reason.
 */
typedef void th_symbols_warn(void *data, const char *text);

/* Creates an empty cache; `warn` may be NULL. */
struct th_symbols *th_symbols_create(th_symbols_warn *warn, void *data);

/* Closes every file and frees every string handed out. NULL is legal. */
void th_symbols_destroy(struct th_symbols *symbols);

/*
 * A cache for one more recording: the same, unless a file has changed since it was read, or the
 * cache is large; else, and for NULL, an empty one without `warn` in its place.
 */
struct th_symbols *th_symbols_reuse(struct th_symbols *symbols);
bool th_symbols_is_current(const struct th_symbols *symbols);

/*
 * Whether the caller has other names for the modules looked up from now on: a missing file then
 * causes no warning.
 */
void th_symbols_tolerate_missing(struct th_symbols *symbols, bool tolerate);

/*
 * The functions at `address` (an ELF virtual address inside the instruction in question, as in
 * a frame word of the log) of the module loaded from `path`, whose build id was `build_id`
 * (lower-case hexadecimal; NULL or "" if it had none). Innermost first: an inlined function is before the
 * one it was inlined into. Returns the number of symbols, at least 1; *frames_ret stays valid
 * until th_symbols_destroy(). `path` NULL or "": no module is known, the answer is the bare
 * address. Answers are cached.
 */
size_t th_symbols_lookup(struct th_symbols *symbols, const char *path, const char *build_id,
	uint64_t address, const struct th_symbol **frames_ret);

#endif
