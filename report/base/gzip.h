/* SPDX-License-Identifier: Apache-2.0 */
/* A stream compressed by gzip on its way to a file. */
#ifndef TH_REPORT_BASE_GZIP_H
#define TH_REPORT_BASE_GZIP_H

#include <stddef.h>
#include <stdio.h>

struct th_gzip;

/*
 * Begins a gzip member without name and time, so that equal contents are equal bytes.  Errors of
 * `file` are the caller's to check, by ferror().
 */
struct th_gzip *th_gzip_create(FILE *file);

void th_gzip_write(struct th_gzip *gzip, const void *bytes, size_t length);

/* Writes what is left and the trailer; the file stays open. */
void th_gzip_destroy(struct th_gzip *gzip);

#endif
