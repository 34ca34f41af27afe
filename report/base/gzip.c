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

struct gzip {
	FILE *file;
	z_stream stream;
	unsigned char output[1 << 16];
};

/*
 * Compresses the input of the stream until none is left; with Z_FINISH until all output is
 * written.
 */
static void
compress_input(struct gzip *gzip, int flush)
{
	do {
		gzip->stream.next_out = gzip->output;
		gzip->stream.avail_out = sizeof(gzip->output);
		deflate(&gzip->stream, flush);
		fwrite(gzip->output, 1, sizeof(gzip->output) - gzip->stream.avail_out,
			gzip->file);
	} while (!gzip->stream.avail_out);
}

static ssize_t
take(void *cookie, const char *bytes, size_t length)
{
	struct gzip *gzip = cookie;
	size_t part;

	for (size_t at = 0; at < length; at += part) {
		part = length - at < UINT_MAX ? length - at : UINT_MAX;
		gzip->stream.next_in = (unsigned char *)(uintptr_t)bytes + at;
		gzip->stream.avail_in = (uInt)part;
		compress_input(gzip, Z_NO_FLUSH);
	}
	return (ssize_t)length;
}

static int
finish(void *cookie)
{
	struct gzip *gzip = cookie;

	compress_input(gzip, Z_FINISH);
	deflateEnd(&gzip->stream);
	free(gzip);
	return 0;
}

FILE *
th_gzip_open(FILE *file)
{
	struct gzip *gzip = th_allocate(1, sizeof(*gzip));
	const cookie_io_functions_t functions = {.write = take, .close = finish};
	FILE *stream = fopencookie(gzip, "w", functions);

	gzip->file = file;
	if (!stream || deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
			       GZIP_WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		th_out_of_memory();
	return stream;
}
