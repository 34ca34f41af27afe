/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Java names as people write them, out of the signatures of the class file.
 *
 * Classes that the VM makes up as it goes carry an address or a number in their names
 * (`Foo$$Lambda/0x0000000800c03000`, `LambdaForm$MH/0x...`, `GeneratedMethodAccessor12`).  It is
 * cut off: it differs between runs, and for all that a report says they are one class.
 */
#ifndef TH_REPORT_SYMBOLS_JAVA_NAMES_H
#define TH_REPORT_SYMBOLS_JAVA_NAMES_H

#include "report/base/log_text.h"

/*
 * The class with that JVM signature: `[B` is "byte[]", `Ljava/lang/String;` is
 * "java.lang.String".  What is no signature comes back as it is.  The caller frees it.
 */
char *th_java_class_name(struct th_text signature);

/* "pkg.Class.method" for free(). */
char *th_java_method_name(struct th_text class_signature, struct th_text name);

#endif
