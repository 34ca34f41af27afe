/* SPDX-License-Identifier: Apache-2.0 */
/* Readable names of functions. */
#ifndef TH_REPORT_SYMBOLS_DEMANGLE_H
#define TH_REPORT_SYMBOLS_DEMANGLE_H

/*
 * The display name of the function with symbol `name`: C++ and Rust (both manglings) are
 * demangled, without parameter list, return type and hash; suffixes of compilers and linkers
 * (".constprop.0", ".cold", "@@GLIBC_2.34") are removed; std::string is written as std::string.
 * A name that is not mangled, or is damaged, is returned unchanged. Both the input and the
 * output are bounded: a longer name is abbreviated ("outer<...>::f") or cut.
 *
 * Returns a malloc'ed string, never NULL.
 */
char *th_demangle(const char *name);

#endif
