/* SPDX-License-Identifier: Apache-2.0 */
/* Readable names of functions and modules; the caller frees them. */
#ifndef TH_REPORT_SYMBOLS_NAMES_H
#define TH_REPORT_SYMBOLS_NAMES_H

#include "report/base/log_text.h"

/*
 * The display name of the function with symbol `name`: C++ and Rust (both manglings) are
 * demangled, without parameter list, return type and hash; suffixes of compilers and linkers
 * (".constprop.0", ".cold", "@@GLIBC_2.34") are removed; std::string is written as std::string.
 * A name that is not mangled, or is damaged, is returned unchanged. Both the input and the
 * output are bounded: a longer name is abbreviated ("outer<...>::f") or cut.
 */
char *th_demangle(const char *name);

/* Whether a symbol is the mangled name of a function of C++ or Rust. */
bool th_is_mangled(const char *name);

/*
 * The path of a module without what differs from run to run in the names of temporary files:
 * "*" instead of a UUID, of 9 or more consecutive decimal digits, and of a word of 16 or more
 * hexadecimal digits (not letters only); without the kernel's " (deleted)".
 * libzstd-jni-1.5.6-107434532345982349587.so becomes libzstd-jni-1.5.6-*.so.
 */
char *th_module_stable_path(const char *path);

/*
 * Whether the file name of a module is one of the C and C++ runtimes, which have the first frames of every
 * thread.
 */
bool th_is_runtime_module(struct th_text file_name);

#endif
