/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps, unmaps and protects parts of one address range at random, many of them across gaps, and
 * prints the final contents of /proc/self/maps for that range.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/programs/choose.h"

#define PAGE 4096
#define PAGES 512
#define LONGEST 40
#define CALLS 20000
#define ACCESS (PROT_READ | PROT_WRITE)
#define KIND (MAP_PRIVATE | MAP_ANONYMOUS)

static void
change(char *place)
{
	char *start = place + choose(PAGES - LONGEST) * PAGE;
	size_t bytes = (1 + choose(LONGEST)) * PAGE;
	int access = choose(2) ? ACCESS : PROT_NONE;

	switch (choose(5)) {
	case 0:
	case 1:
		mmap(start, bytes, access, KIND | MAP_FIXED, -1, 0);
		break;
	case 2:
		munmap(start, bytes);
		break;
	default:
		mprotect(start, bytes, access);
	}
}

/* Adds the part of a line of /proc/self/maps that is in the range. */
static void
count(const char *line, uintptr_t place, uint64_t bytes[2])
{
	unsigned long start, end;
	char access[8];

	if (sscanf(line, "%lx-%lx %7s", &start, &end, access) != 3)
		return;
	start = start > place ? start : place;
	end = end < place + PAGES * PAGE ? end : place + PAGES * PAGE;
	if (start < end)
		bytes[!strncmp(access, "---", 3)] += end - start;
}

int
main(void)
{
	char *place = mmap(NULL, PAGES * PAGE, PROT_NONE, KIND | MAP_NORESERVE, -1, 0);
	uint64_t bytes[2] = {0, 0};
	char line[512];

	if (place == MAP_FAILED)
		return 1;
	for (int i = 0; i < CALLS; i++)
		change(place);
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof(line), maps))
		count(line, (uintptr_t)place, bytes);
	printf("{\"accessible\": %llu, \"reserved\": %llu}\n", (unsigned long long)bytes[0],
		(unsigned long long)bytes[1]);
	return !maps || fclose(maps);
}
