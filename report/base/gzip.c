/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/gzip.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#include "report/base/allocate.h"

/* zlib's window of 32 KiB; 16 selects a gzip wrapper instead of zlib's. */
#define GZIP_WINDOW_BITS (15 + 16)
#define MEMORY_LEVEL 8 /* zlib's default */

struct th_gzip {
	FILE *file;
	z_stream stream;
	unsigned char output[1 << 16];
};

struct th_gzip *
th_gzip_create(FILE *file)
{
	struct th_gzip *gzip = th_allocate(1, sizeof(*gzip));

	gzip->file = file;
	if (deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW_BITS,
		    MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		th_out_of_memory();
	return gzip;
}

/*
 * Compresses the input of the stream until none is left; with Z_FINISH until all output is
 * written.
 */
static void
compress_input(struct th_gzip *gzip, int flush)
{
	do {
		gzip->stream.next_out = gzip->output;
		gzip->stream.avail_out = sizeof(gzip->output);
		deflate(&gzip->stream, flush);
		fwrite(gzip->output, 1, sizeof(gzip->output) - gzip->stream.avail_out,
			gzip->file);
	} while (!gzip->stream.avail_out);
}

void
th_gzip_write(struct th_gzip *gzip, const void *bytes, size_t length)
{
	const unsigned char *next = bytes;

	while (length) {
		uInt part = length < UINT_MAX ? (uInt)length : UINT_MAX;

		gzip->stream.next_in = (unsigned char *)(uintptr_t)next;
		gzip->stream.avail_in = part;
		compress_input(gzip, Z_NO_FLUSH);
		next += part;
		length -= part;
	}
}

void
th_gzip_destroy(struct th_gzip *gzip)
{
	compress_input(gzip, Z_FINISH);
	deflateEnd(&gzip->stream);
	free(gzip);
}
