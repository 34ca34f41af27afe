/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD is the library, the forwarding libraries that the allocator needs, the requested
 * allocator, and the previous value.  The underlying allocator is found in the dynamic linker's
 * list of objects: `ld.so --list` loads a program and prints the path of each object, after applying
 * run paths and caches, but does not start the program.  The variable LD_TRACE_LOADED_OBJECTS has the
 * same effect, but a program that ignores it would be started.
 */
#include "report/run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/base/line.h"
#include "report/base/log_text.h"

#define FORWARD_NEW "libtwinheap-new.so"
#define FORWARD_MALLOCX "libtwinheap-mallocx.so"

/* File names of an allocator, the most likely first. */
struct known {
	const char *name;
	const char *files[5];
};
static const struct known known_allocators[] = {
	{"jemalloc", {"libjemalloc.so.2", "libjemalloc.so", "libjemalloc.so.1"}},
	{"tcmalloc", {"libtcmalloc_minimal.so.4", "libtcmalloc.so.4", "libtcmalloc_minimal.so",
			     "libtcmalloc.so"}},
	{"mimalloc", {"libmimalloc.so.2", "libmimalloc.so", "libmimalloc.so.1"}},
};

static const char *const directories[] = {"/usr/local/lib/" TH_LAUNCH_MULTIARCH,
	"/usr/local/lib", "/usr/lib/" TH_LAUNCH_MULTIARCH, "/lib/" TH_LAUNCH_MULTIARCH,
	"/usr/lib64", "/lib64", "/usr/lib", "/lib"};

/* The requested allocator */

static bool
find_file(const char *file, char path_ret[PATH_MAX])
{
	for (size_t i = 0; i < sizeof(directories) / sizeof(*directories); i++) {
		int length = snprintf(path_ret, PATH_MAX, "%s/%s", directories[i], file);

		if (length < PATH_MAX && access(path_ret, R_OK) == 0)
			return true;
	}
	return false;
}

static bool
find_known(const struct known *known, char path_ret[PATH_MAX])
{
	for (const char *const *file = known->files; *file != NULL; file++) {
		if (find_file(*file, path_ret))
			return true;
	}
	return false;
}

struct th_error *
th_launch_allocator_find(const char *name, char path_ret[PATH_MAX])
{
	for (size_t i = 0; i < sizeof(known_allocators) / sizeof(*known_allocators); i++) {
		const struct known *known = &known_allocators[i];

		if (strcmp(name, known->name) != 0)
			continue;
		return find_known(known, path_ret)
			       ? NULL
			       : th_error_create(TH_ERROR_USAGE,
					 "--allocator %s: it is not installed (there is no %s)",
					 name, known->files[0]);
	}
	if (strchr(name, '/') ? access(name, R_OK) == 0 && realpath(name, path_ret)
			      : find_file(name, path_ret))
		return NULL;
	return th_error_create(TH_ERROR_USAGE,
		"--allocator %s: neither jemalloc, tcmalloc, mimalloc nor a library that can "
		"be read",
		name);
}

/* The underlying allocator */

enum symbol { MALLOC, OPERATOR_NEW, MALLOCX, SYMBOLS };
static const char *const symbols[SYMBOLS] = {"malloc", "_Znwm", "mallocx"};

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

/* Symbols of objects */

static void
look_at_symbol(
	Elf *elf, const GElf_Shdr *section, const GElf_Sym *symbol, bool defined_ret[SYMBOLS])
{
	const char *name = elf_strptr(elf, section->sh_link, symbol->st_name);

	for (size_t i = 0; name != NULL && i < SYMBOLS; i++)
		defined_ret[i] |= strcmp(name, symbols[i]) == 0;
}

static void
look_at_section(Elf *elf, Elf_Scn *scn, bool defined_ret[SYMBOLS])
{
	GElf_Shdr section;
	Elf_Data *data;
	GElf_Sym symbol;

	if (gelf_getshdr(scn, &section) == NULL || section.sh_type != SHT_DYNSYM)
		return;
	data = elf_getdata(scn, NULL);
	for (int i = 0; data != NULL && gelf_getsym(data, i, &symbol) != NULL; i++) {
		if (symbol.st_shndx != SHN_UNDEF)
			look_at_symbol(elf, &section, &symbol, defined_ret);
	}
}

/* Which of the symbols an object defines; an unreadable one defines none. */
static void
find_defined(const char *path, bool defined_ret[SYMBOLS])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;

	memset(defined_ret, 0, SYMBOLS * sizeof(*defined_ret));
	elf_version(EV_CURRENT);
	elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	if (elf) {
		for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn)) != NULL;)
			look_at_section(elf, scn, defined_ret);
		elf_end(elf);
	}
	if (fd >= 0)
		close(fd);
}

/* Whether a list of preloads, separated by spaces or colons, contains a file, by any path. */
static bool
is_named(const char *list, const char *file)
{
	while (*list != '\0') {
		size_t length = strcspn(list, " :");
		const char *entry = list;

		for (size_t i = 0; i < length; i++)
			entry = list[i] == '/' ? list + i + 1 : entry;
		if ((size_t)(list + length - entry) == strlen(file) &&
			th_text_begins(entry, file))
			return true;
		list += length + (list[length] != '\0');
	}
	return false;
}

/* Whether an object has a malloc that is neither ours nor libc's; sets which symbols it defines. */
static bool
is_allocator(const char *path, bool defined_ret[SYMBOLS])
{
	const char *name = th_text_base_name(path);

	if (th_text_begins(name, "libtwinheap") || th_text_begins(name, "libc.so.") ||
		th_text_begins(name, "ld-linux"))
		return false;
	find_defined(path, defined_ret);
	return defined_ret[MALLOC];
}

/*
 * The first such object in lookup order that the dynamic linker would load for `program` under
 * LD_PRELOAD=`preload`, without running any code of the program; NULL: none.  If the dynamic linker
 * fails, the program alone is searched.
 */
static const char *
find_underneath(
	const struct th_launch_program *program, const char *preload, bool defined_ret[SYMBOLS])
{
	char *text, *rest;
	const char *found = NULL;

	if (is_allocator(program->path, defined_ret))
		return program->path;
	text = *program->linker ? ask_linker(program->linker, program->path, preload) : NULL;
	for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line && !found;
		line = strtok_r(NULL, "\n", &rest)) {
		const char *path = path_in(line);

		if (path && is_allocator(path, defined_ret))
			found = th_text_format("%s", path);
	}
	free(text);
	if (!found)
		memset(defined_ret, 0, SYMBOLS * sizeof(*defined_ret));
	return found;
}

/* Appends ":DIRECTORY/NAME" to a list; DIRECTORY is that of `library`. */
static const char *
add_beside(const char *list, const char *library, const char *name)
{
	int directory = (int)(th_text_base_name(library) - library);
	const char *path = th_text_format("%.*s%s", directory, library, name);

	if (access(path, R_OK) == 0)
		return th_text_format("%s:%s", list, path);
	th_notice("%s is missing: part of the C heap is not recorded", path);
	return list;
}

const char *
th_launch_allocator_preload(const struct th_launch_program *program, const char *library,
	const char *allocator, const char *before)
{
	bool defined[SYMBOLS];
	const char *further = th_text_format(
		"%s%s%s", allocator, *allocator && *before ? ":" : "", before);
	const char *list = library;

	const char *underneath = find_underneath(program, further, defined);
	if (!underneath && *allocator) {
		/* No list from the dynamic linker; it will load at least this one. */
		find_defined(allocator, defined);
		underneath = allocator;
	}
	if (defined[OPERATOR_NEW])
		list = add_beside(list, library, FORWARD_NEW);
	/*
	 * Children inherit the list, where it would suggest an allocator that only this program
	 * has.
	 */
	if (defined[MALLOCX] && underneath && is_named(further, th_text_base_name(underneath)))
		list = add_beside(list, library, FORWARD_MALLOCX);
	return th_text_format("%s%s%s", list, *further ? ":" : "", further);
}
