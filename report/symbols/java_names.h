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

#include "report/base/log_text.h"

/*
 * The class with that JVM signature: `[B` is "byte[]", `Ljava/lang/String;` is
 * "java.lang.String". Text that is not a signature is returned unchanged. The caller frees it.
 */
char *th_java_class_name(struct th_text signature);

/* "pkg.Class.method"; the caller frees it. */
char *th_java_method_name(struct th_text class_signature, struct th_text name);

#endif
