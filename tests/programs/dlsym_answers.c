/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym_answers: calls dlsym in all possible ways and prints the results, one per line: the
 * lines must be the same whether or not dlsym is interposed.
 *
 * With libnext_first.so and libnext_second.so preloaded, next_number() after the program is 21
 * or 12: the first library found returns its digit and looks up the other's.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
call(void *function)
{
	int (*called)(void);

	memcpy(&called, &function, sizeof(called));
	return called ? called() : -1;
}

/* The file name of the object that contains an address. */
static const char *
object_of(void *address)
{
	Dl_info info;
	const char *slash;

	if (!address)
		return "none";
	if (!dladdr(address, &info))
		return "unknown";
	slash = strrchr(info.dli_fname, '/');
	return slash ? slash + 1 : info.dli_fname;
}

/* Without the path of the program, which comes first. */
static const char *
last_error(void)
{
	const char *text = dlerror();
	const char *colon = text ? strstr(text, ": ") : NULL;

	return colon ? colon + 2 : text ? text : "none";
}

static void
ask_next(void)
{
	void *libm = dlopen("libm.so.6", RTLD_NOW);

	printf("next_number behind the program: %d\n", call(dlsym(RTLD_NEXT, "next_number")));
	printf("next_number by default: %d\n", call(dlsym(RTLD_DEFAULT, "next_number")));
	printf("puts: %s\n", object_of(dlsym(RTLD_DEFAULT, "puts")));
	printf("puts, next: %s\n", object_of(dlsym(RTLD_NEXT, "puts")));
	printf("cos of libm: %s\n", object_of(dlsym(libm, "cos")));
	printf("cos, version: %s\n", object_of(dlvsym(libm, "cos", "GLIBC_2.2.5")));
	printf("next_number of libm: %s\n", object_of(dlsym(libm, "next_number")));
	printf("cos, no such version: %s\n", object_of(dlvsym(libm, "cos", "NONE_1")));
	dlclose(libm);
}

/* dlerror: NULL after success, the reason once after a failure, then NULL again. */
static void
ask_errors(void)
{
	dlerror();
	printf("found: %d\n", dlsym(RTLD_DEFAULT, "puts") != NULL);
	printf("error: %s\n", last_error());
	printf("found: %d\n", dlsym(RTLD_DEFAULT, "no_such_function_anywhere") != NULL);
	printf("error: %s\n", last_error());
	printf("error: %s\n", last_error());
	printf("found: %d\n", dlsym(RTLD_NEXT, "no_such_function_anywhere") != NULL);
	printf("found: %d\n", dlsym(RTLD_DEFAULT, "puts") != NULL);
	printf("error: %s\n", last_error());
}

/* A program without a Java VM finds none. */
static void
ask_java(void)
{
	void *program = dlopen(NULL, RTLD_NOW);
	void *libm = dlopen("libm.so.6", RTLD_NOW);

	dlerror();
	printf("VM by default: %s\n", object_of(dlsym(RTLD_DEFAULT, "JNI_CreateJavaVM")));
	printf("error: %s\n", last_error());
	printf("VM of the program: %s\n", object_of(dlsym(program, "JNI_CreateJavaVM")));
	printf("error: %s\n", last_error());
	printf("VM of libm: %s\n", object_of(dlsym(libm, "JNI_CreateJavaVM")));
	printf("error: %s\n", last_error());
	printf("VM, next: %s\n", object_of(dlsym(RTLD_NEXT, "JNI_CreateJavaVM")));
	printf("error: %s\n", last_error());
	printf("others: %s %s\n", object_of(dlsym(RTLD_DEFAULT, "JNI_CreateJavaVM2")),
		object_of(dlsym(RTLD_DEFAULT, "JNI_CreateJava")));
	dlclose(libm);
	dlclose(program);
}

int
main(void)
{
	ask_next();
	ask_errors();
	ask_java();
	return 0;
}
