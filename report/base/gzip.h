/* SPDX-License-Identifier: Apache-2.0 */
/* A gzip-compressed stream that is written to a file. */
#ifndef TH_REPORT_BASE_GZIP_H
#define TH_REPORT_BASE_GZIP_H

#include <stddef.h>
#include <stdio.h>

struct th_gzip;

/*
 * Begins a gzip member without name and time, so that equal contents give equal bytes. The
 * caller checks `file` for errors with ferror().
 */
struct th_gzip *th_gzip_create(FILE *file);

void th_gzip_write(struct th_gzip *gzip, const void *bytes, size_t length);

/* Writes the remaining data and the trailer; the file stays open. */
void th_gzip_destroy(struct th_gzip *gzip);

#endif
