/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files from servers (debuginfod), asked only when the variable DEBUGINFOD_URLS names some
 * and libdebuginfod is installed.  What was fetched stays in that library's cache.
 */
#ifndef TH_REPORT_SYMBOLS_DEBUGINFOD_H
#define TH_REPORT_SYMBOLS_DEBUGINFOD_H

/*
 * Asks for the debug file with a build id (hexadecimal); an open descriptor, or -1.  Says in one
 * line on stderr what it waits for.  A file is given up after TWINHEAP_DEBUGINFOD_SECONDS (30);
 * Ctrl-C gives up this one and asks for no other, and ends the program only when pressed again.
 * `module_path` is for the line.  *path_ret is malloc'ed.
 */
int th_debuginfod_open(const char *module_path, const char *build_id, char **path_ret);

/* Asks for nothing from now on, whatever the environment says. */
void th_debuginfod_disable(void);

#endif
