/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_mapper: maps 8 MiB 40 times, unmaps the last 2 MiB of each, and runs until it is
 * killed: 320 MiB mapped, 240 MiB left, none of it resident.
 */
#include <sys/mman.h>
#include <unistd.h>

#define MAPPINGS 40
#define WHOLE_BYTES (8u << 20)
#define PART_BYTES (2u << 20)
#define PAUSE_US 20000

static __attribute__((noinline)) char *
mapping_site(void)
{
	char *start = mmap(
		NULL, WHOLE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return start == MAP_FAILED ? NULL : start;
}

int
main(void)
{
	for (int i = 0; i < MAPPINGS; i++) {
		char *start = mapping_site();

		if (!start || munmap(start + WHOLE_BYTES - PART_BYTES, PART_BYTES))
			return 1;
		usleep(PAUSE_US);
	}
	for (;;)
		pause();
}
