/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that `run` refuses because nothing can be preloaded into them.  They are copies of
 * this program, which do nothing when "nothing" is their first argument.
 */
#include "tests/unit/run/launch_fixture.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A copy of this program, modified by `change`. */
static void
make_program(const char *path, void (*change)(char *bytes))
{
	static char bytes[8 << 20];
	FILE *file = fopen(launch_self, "r");
	size_t length = fread(bytes, 1, sizeof(bytes), file);

	fclose(file);
	assert_in_range(length, sizeof(Elf64_Ehdr), sizeof(bytes) - 1);
	change(bytes);
	file = fopen(path, "w");
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	fclose(file);
	chmod(path, 0755);
}

static Elf64_Phdr *
find_interpreter(char *bytes)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;
	Elf64_Phdr *segment = (Elf64_Phdr *)(bytes + header->e_phoff);

	while (segment->p_type != PT_INTERP)
		segment++;
	return segment;
}

static void
make_static(char *bytes)
{
	find_interpreter(bytes)->p_type = PT_NULL;
}

static void
make_32_bit(char *bytes)
{
	bytes[EI_CLASS] = ELFCLASS32;
}

static void
make_foreign_processor(char *bytes)
{
	((Elf64_Ehdr *)bytes)->e_machine = EM_S390;
}

static void
make_same(char *bytes)
{
	(void)bytes;
}

static void
test_programs_that_cannot_be_preloaded(void **state)
{
	(void)state;
	make_program("static", make_static);
	RUN("./static", "nothing");
	assert_launch_refused(2, "./static: statically linked");
	make_program("narrow", make_32_bit);
	RUN("./narrow", "nothing");
	assert_launch_refused(2, "./narrow: a 32-bit program");
	make_program("foreign", make_foreign_processor);
	RUN("./foreign", "nothing");
	assert_launch_refused(2, "./foreign: a program for another processor");
	make_program("same", make_same);
	RUN("-q", "./same", "nothing");
	assert_int_equal(launched.status, 0);
}

static void
test_interpreter_of_a_script(void **state)
{
	char text[PATH_MAX];

	(void)state;
	make_program("static", make_static);
	snprintf(text, sizeof(text), "#! %s/static -x\nnothing\n", launch_directory);
	write_script("script", text);
	RUN("./script");
	assert_launch_refused(2, "static: statically linked");
}

static void
test_command_is_searched_along_path(void **state)
{
	char *before = strdup(getenv("PATH"));
	char path[256];

	(void)state;
	make_program("static", make_static);
	snprintf(path, sizeof(path), "/nowhere:%s:%s", launch_directory, before);
	setenv("PATH", path, 1);
	RUN("static");
	assert_launch_refused(2, "statically linked");
	setenv("PATH", before, 1);
	free(before);
}

static void
test_privileged_program(void **state)
{
	(void)state;
	if (getuid() != 0)
		skip(); /* only root can create one */
	make_program("privileged", make_same);
	assert_int_equal(chown("privileged", 12345, 12345), 0);
	chmod("privileged", 04755);
	RUN("./privileged", "nothing");
	assert_launch_refused(2, "./privileged: set-user-ID");
	chmod("privileged", 02755);
	RUN("./privileged", "nothing");
	assert_launch_refused(2, "./privileged: set-group-ID");
	assert_int_equal(chown("privileged", 0, 0), 0);
	chmod("privileged", 04755); /* owned by root: has no effect for root */
	RUN("-q", "./privileged", "nothing");
	assert_int_equal(launched.status, 0);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest few_tests[] = {
		cmocka_unit_test(test_everything_that_starts_a_command),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs_that_cannot_be_preloaded),
		cmocka_unit_test(test_interpreter_of_a_script),
		cmocka_unit_test(test_command_is_searched_along_path),
		cmocka_unit_test(test_privileged_program),
	};

	if (argc > 1 && strcmp(argv[1], "nothing") == 0)
		return 0;
	if (!launch_can_start_commands())
		return cmocka_run_group_tests(few_tests, launch_set_up, launch_tear_down);
	return cmocka_run_group_tests(tests, launch_set_up, launch_tear_down);
}
