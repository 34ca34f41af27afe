/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the counters in the header of a log that may still be written, one "NAME VALUE" per
 * line.
 *
 *     log_counters LOG
 */
#include <stdio.h>

#include "unify/shared/log_format.h"

static const char *const names[] = {
#define X(NAME, name, description) #name,
	TH_LOG_COUNTERS(X)
#undef X
};

int
main(int argc, char **argv)
{
	struct th_log_header header;
	FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;

	if (!file || fread(&header, sizeof(header), 1, file) != 1) {
		fprintf(stderr, "usage: log_counters LOG\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		printf("%s %llu\n", names[i], (unsigned long long)header.counters[i]);
	fclose(file);
	return 0;
}
