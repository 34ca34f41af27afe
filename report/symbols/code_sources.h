/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose code a Java method is: of the Java runtime, of the program, or of a library, which is a jar
 * other than the program's.  Decided by the code source of its package; in logs without code
 * sources, and for classes without one, by the names of packages.
 */
#ifndef TH_REPORT_SYMBOLS_CODE_SOURCES_H
#define TH_REPORT_SYMBOLS_CODE_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "report/base/log_text.h"
#include "report/log/recording.h"

struct th_code_sources {
	struct th_strings *strings;
	struct th_id_map packages;     /* by string number, with dots */
	TH_ARRAY(uint32_t, locations); /* string numbers, by number of the package */
	uint32_t program;              /* location of its main class; 0 = not known */
	bool is_nested; /* the program's jar contains other locations, which are its parts */
};

struct th_code_owner {
	uint32_t library; /* string number, equal for methods of one library */
	bool is_runtime;  /* of Java */
	bool is_program;
};

/* The strings must outlive the sources. */
void th_code_sources_init(struct th_code_sources *sources, const struct th_recording *recording,
	struct th_strings *strings);
void th_code_sources_deinit(struct th_code_sources *sources);

/*
 * The owner of a method, by its name ("a.b.Class.method").  Without another jar the library is the
 * package of the Java runtime, or the first two parts of the package.
 */
struct th_code_owner th_code_sources_owner(struct th_code_sources *sources, const char *method);

#endif
