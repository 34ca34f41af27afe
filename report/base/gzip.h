/* SPDX-License-Identifier: Apache-2.0 */
/* A gzip-compressed stream that is written to a file. */
#ifndef TH_REPORT_BASE_GZIP_H
#define TH_REPORT_BASE_GZIP_H

#include <stdio.h>

/*
 * A stream that writes a gzip member to `file` without name and time, so that equal contents give equal
 * bytes.  fclose() writes the remaining data and the trailer, and leaves `file` open, which the caller
 * checks for errors with ferror().
 */
FILE *th_gzip_open(FILE *file);

#endif
