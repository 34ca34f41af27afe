/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Its relocation takes 0.3 s: the resolver of an indirect function, which the loader calls meanwhile,
 * sleeps.  The slots of the functions called below are relocated after that.
 */
#include <jni.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#define BLOCKS 1024
#define BLOCK_BYTES 8192

JNIEXPORT void JNICALL Java_SlowLoad_allocate(JNIEnv *env, jclass type);
void slow_load_blocks(void);

static void *volatile kept[BLOCKS];

static void
nothing(void)
{
}

/* No function of another object can be called here, hence no nanosleep(). */
static void
sleep_a_while(void)
{
	const struct timespec time = {0, 300000000};
#if defined __x86_64__
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_nanosleep), "D"(&time), "S"(NULL)
			 : "rcx", "r11", "memory");
#elif defined __aarch64__
	register long number __asm__("x8") = SYS_nanosleep;
	register const struct timespec *first __asm__("x0") = &time;
	register void *second __asm__("x1") = NULL;

	__asm__ volatile("svc 0" : "+r"(first) : "r"(second), "r"(number) : "memory");
#endif
}

__attribute__((used)) static void (*resolve(void))(void)
{
	sleep_a_while();
	return nothing;
}

static void indirect(void) __attribute__((ifunc("resolve")));

/* In the object's data, which is relocated before the table of procedures. */
static void (*volatile in_data)(void) = indirect;

__attribute__((noinline)) void
slow_load_blocks(void)
{
	for (int i = 0; i < BLOCKS; i++)
		kept[i] = malloc(BLOCK_BYTES);
}

JNIEXPORT void JNICALL
Java_SlowLoad_allocate(JNIEnv *env, jclass type)
{
	(void)env;
	(void)type;
	in_data();
	slow_load_blocks();
}
