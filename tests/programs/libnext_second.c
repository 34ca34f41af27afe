/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other of two libraries that define the same function and call the next definition; each
 * returns its own decimal digit. libnext_first.c is the first.
 */
#include <dlfcn.h>
#include <string.h>

int next_number(void);

int
next_number(void)
{
	int (*next)(void);
	void *found = dlsym(RTLD_NEXT, "next_number");

	memcpy(&next, &found, sizeof(next));
	return 2 + (next ? 10 * next() : 0);
}
