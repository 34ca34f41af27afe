/* SPDX-License-Identifier: Apache-2.0 */
/* native_vanishing LIBRARY COUNT: loads a copy of libvanishing.so, deletes it, and uses it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int
main(int count, char **arguments)
{
	void *library = count == 3 ? dlopen(arguments[1], RTLD_LAZY) : NULL;
	void *address = library ? dlsym(library, "vanishing_work") : NULL;
	void (*work)(int) = NULL;

	if (!address || unlink(arguments[1])) {
		fprintf(stderr, "usage: native_vanishing LIBRARY COUNT\n");
		return 2;
	}
	memcpy(&work, &address, sizeof(work));
	work(atoi(arguments[2]));
	return 0;
}
