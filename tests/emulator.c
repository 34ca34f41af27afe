/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Started by the kernel for each program of another processor (scripts/emulated), as EMULATOR PATH
 * ARGV0 ARGUMENT...: becomes qemu-user for it.  Linked statically, since LD_PRELOAD is for that program:
 * qemu, a program of this machine, must not load it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* qemu's own: -L, its value, -0, its value, -E, its value, the path. */
#define OPTIONS_MAX 8

int
main(int argc, char **argv)
{
	const char *preload = getenv("LD_PRELOAD");
	const char **words = calloc((size_t)argc + OPTIONS_MAX, sizeof(*words));
	char *setting = NULL;
	int count = 0;

	if (argc < 3 || !words)
		return 127;
	words[count++] = getenv("TH_EMULATOR");
	words[count++] = "-L";
	words[count++] = getenv("TH_EMULATOR_ROOT");
	words[count++] = "-0";
	words[count++] = argv[2];
	if (preload && asprintf(&setting, "LD_PRELOAD=%s", preload) > 0) {
		words[count++] = "-E";
		words[count++] = setting;
		unsetenv("LD_PRELOAD");
	}
	words[count++] = argv[1];
	for (int i = 3; i < argc; i++)
		words[count++] = argv[i];
	if (words[0] && words[2])
		execv(words[0], (char **)words);
	perror("emulator");
	return 127;
}
