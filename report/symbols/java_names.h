/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readable Java names, from the signatures of the class file.
 *
 * Classes that the VM generates at run time have an address or a number in their names
 * (`Foo$$Lambda/0x0000000800c03000`, `LambdaForm$MH/0x...`, `GeneratedMethodAccessor12`). It is
 * removed: it differs between runs, and a report treats these classes as one.
 */
#ifndef TH_REPORT_SYMBOLS_JAVA_NAMES_H
#define TH_REPORT_SYMBOLS_JAVA_NAMES_H

#include "report/base/allocate.h"
#include "report/base/id_map.h"
#include "report/base/log_text.h"

/*
 * Classes that programs generate by the dozen have a number behind the name of the outermost class:
 * scripts, rules, proxies (`Script12$Inner`, `$Proxy7`).  64 that differ in nothing else are one
 * family, in whose names "#" stands for the number.  A zeroed table knows of none.
 */
struct th_java_families {
	struct th_id_map members;  /* hash of the name */
	struct th_id_map ids;      /* hash of the name without the number */
	TH_ARRAY(uint32_t, sizes); /* by family */
};

/* Counts a class, once. */
void th_java_families_add(struct th_java_families *families, struct th_text signature);
void th_java_families_deinit(struct th_java_families *families);

/*
 * The class with that JVM signature: `[B` is "byte[]", `Ljava/lang/String;` is
 * "java.lang.String". Text that is not a signature is returned unchanged. The caller frees it.
 */
char *th_java_class_name(const struct th_java_families *families, struct th_text signature);

/* "pkg.Class.method"; the caller frees it. */
char *th_java_method_name(const struct th_java_families *families,
	struct th_text class_signature, struct th_text name);

/* The source file of a class, which may have its number; the caller frees it. */
char *th_java_file_name(const struct th_java_families *families, struct th_text class_signature,
	struct th_text file);

#endif
