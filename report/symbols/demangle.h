/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions as people write them. */
#ifndef TH_REPORT_SYMBOLS_DEMANGLE_H
#define TH_REPORT_SYMBOLS_DEMANGLE_H

/*
 * The display name of the function with symbol `name`: C++ and Rust (both manglings) are
 * demangled, without parameter list, return type and hash; what compilers and linkers append
 * (".constprop.0", ".cold", "@@GLIBC_2.34") is cut off; std::string is written as such.  A
 * name that is not mangled, or is damaged, comes back as it is.  Both the input and the output
 * are bounded: a longer name is abbreviated ("outer<...>::f") or cut.
 *
 * Returns a string for free(), never NULL.
 */
char *th_demangle(const char *name);

#endif
