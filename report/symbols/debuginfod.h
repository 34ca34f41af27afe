/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files from servers (debuginfod), requested only if the variable DEBUGINFOD_URLS names
 * some and libdebuginfod is installed. That library caches downloaded files.
 */
#ifndef TH_REPORT_SYMBOLS_DEBUGINFOD_H
#define TH_REPORT_SYMBOLS_DEBUGINFOD_H

/*
 * Requests the debug file with a build id (hexadecimal); an open descriptor, or -1. Prints on
 * stderr which file it waits for. A request is aborted after TWINHEAP_DEBUGINFOD_SECONDS (30);
 * Ctrl-C aborts it and disables further ones, and ends the program only when pressed again.
 * `module_path` is for the message. *path_ret is malloc'ed.
 */
int th_debuginfod_open(const char *module_path, const char *build_id, char **path_ret);

/* Disables all further requests, whatever the environment says. */
void th_debuginfod_disable(void);

#endif
