/* SPDX-License-Identifier: Apache-2.0 */
/* native_image SECONDS: a program that looks like a GraalVM native image, by its section. */
#include <stdlib.h>
#include <unistd.h>

__attribute__((section(".svm_heap"), used)) static char image_heap[64];

int
main(int argc, char **argv)
{
	free(malloc(1 << 20));
	sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 0);
	return image_heap[0];
}
