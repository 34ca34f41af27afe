/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `ld.so --list` loads a program and prints the path of each object, after applying run paths
 * and caches, but does not start the program.  The variable LD_TRACE_LOADED_OBJECTS has the
 * same effect, but a program that ignores it would be started.
 */
#include "report/run/launch_objects.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/run/launch_target.h"

/* Loaded objects */

__attribute__((noreturn)) static void
become_linker(const char *linker, const char *program, const char *preload, int output)
{
	int nowhere = open("/dev/null", O_RDWR);

	dup2(nowhere, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(nowhere, STDERR_FILENO);
	setenv("LD_PRELOAD", preload, 1);
	execl(linker, linker, "--list", program, (char *)NULL);
	_exit(EXIT_FAILURE);
}

/* The complete output of a descriptor; NULL: none. */
static char *
read_all(int descriptor)
{
	FILE *file = fdopen(descriptor, "r");
	char *text = NULL;
	size_t capacity = 0;

	if (!file) {
		close(descriptor);
		return NULL;
	}
	if (getdelim(&text, &capacity, '\0', file) < 0) {
		free(text);
		text = NULL;
	}
	fclose(file);
	return text;
}

static char *
ask_linker(const char *linker, const char *program, const char *preload)
{
	int ends[2];
	char *text;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return NULL;
	child = fork();
	if (child == 0)
		become_linker(linker, program, preload, ends[1]);
	close(ends[1]);
	text = read_all(ends[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		continue;
	return text;
}

/* The path in a line such as "\tNAME => PATH (ADDRESS)" or "\tPATH (ADDRESS)", else NULL. */
static char *
path_in(char *line)
{
	char *arrow = strstr(line, " => ");
	char *path = arrow != NULL ? arrow + 4 : line + strspn(line, "\t ");
	char *end = strrchr(path, '(');

	if (*path != '/' || !end || end == path)
		return NULL;
	end[-1] = '\0';
	return path;
}

void
th_launch_objects_list(const char *program, const char *preload, struct th_launch_objects *ret)
{
	char linker[PATH_MAX];
	char *rest;

	*ret = (struct th_launch_objects){0};
	th_array_append(ret, paths, (char *)program);
	if (!th_launch_target_linker(program, linker))
		return;
	ret->text = ask_linker(linker, program, preload);
	if (!ret->text)
		return;
	for (char *line = strtok_r(ret->text, "\n", &rest); line != NULL;
		line = strtok_r(NULL, "\n", &rest)) {
		char *path = path_in(line);

		if (path)
			th_array_append(ret, paths, path);
	}
}

void
th_launch_objects_deinit(struct th_launch_objects *objects)
{
	free(objects->paths);
	free(objects->text);
}

/* Symbols they define */

static void
look_at_symbol(Elf *elf, const GElf_Shdr *section, const GElf_Sym *symbol,
	const char *const *symbols, size_t count, bool *defined_ret)
{
	const char *name = elf_strptr(elf, section->sh_link, symbol->st_name);

	for (size_t i = 0; name != NULL && i < count; i++) {
		if (strcmp(name, symbols[i]) == 0)
			defined_ret[i] = true;
	}
}

static void
look_at_section(
	Elf *elf, Elf_Scn *scn, const char *const *symbols, size_t count, bool *defined_ret)
{
	GElf_Shdr section;
	Elf_Data *data;
	GElf_Sym symbol;

	if (gelf_getshdr(scn, &section) == NULL || section.sh_type != SHT_DYNSYM)
		return;
	data = elf_getdata(scn, NULL);
	for (int i = 0; data != NULL && gelf_getsym(data, i, &symbol) != NULL; i++) {
		if (symbol.st_shndx != SHN_UNDEF)
			look_at_symbol(elf, &section, &symbol, symbols, count, defined_ret);
	}
}

void
th_launch_objects_define(
	const char *path, const char *const *symbols, size_t count, bool *defined_ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;

	memset(defined_ret, 0, count * sizeof(*defined_ret));
	elf_version(EV_CURRENT);
	elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	if (elf) {
		for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn)) != NULL;)
			look_at_section(elf, scn, symbols, count, defined_ret);
		elf_end(elf);
	}
	if (fd >= 0)
		close(fd);
}
