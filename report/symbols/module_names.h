/* SPDX-License-Identifier: Apache-2.0 */
/* Names of modules that are the same in every run. */
#ifndef TH_REPORT_SYMBOLS_MODULE_NAMES_H
#define TH_REPORT_SYMBOLS_MODULE_NAMES_H

/*
 * The path of a module without what differs from run to run in the names of temporary files:
 * "*" instead of a UUID, of 9 or more consecutive decimal digits, and of a word of 16 or more
 * hexadecimal digits (not letters only); without the kernel's " (deleted)".
 * libzstd-jni-1.5.6-107434532345982349587.so becomes libzstd-jni-1.5.6-*.so.  The caller frees
 * the result.
 */
char *th_module_stable_path(const char *path);

#endif
