/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks in the order of execvp(): find the file, follow the interpreters of scripts, then
 * examine the ELF file.  Each check either refuses the command with an error or passes it on.
 */
#include "report/run/launch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "report/base/log_text.h"

#if defined(__x86_64__)
#	define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#	define OWN_MACHINE EM_AARCH64
#else
#	error "unknown processor"
#endif

/* The search path of execvp() when PATH is not set. */
#define DEFAULT_PATH "/bin:/usr/bin"
/* The kernel reads at most this much of a script's first line (BINPRM_BUF_SIZE). */
#define FIRST_LINE_MAX 256
/* More segments than any linker writes. */
#define SEGMENTS_MAX 512

/* The error of a command that cannot be started, by errno `error`. */
static struct th_error *
refuse(const char *command, int error)
{
	if (error == ENOENT && !strchr(command, '/'))
		return th_error_create(TH_ERROR_NOT_FOUND, "%s: command not found", command);
	return th_error_create(error == ENOENT ? TH_ERROR_NOT_FOUND : TH_ERROR_NOT_EXECUTABLE,
		"%s: %s", command, strerror(error));
}

/* The executable file */

/* 0 if `path` is a file that may be executed, else an errno. */
static int
test_executable(const char *path)
{
	struct stat status;

	if (stat(path, &status) != 0)
		return errno == ENOTDIR ? ENOENT : errno;
	if (S_ISDIR(status.st_mode))
		return EISDIR;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

/* Finds the first executable `command` along PATH, like execvp().  0 or an errno. */
static int
search_path(const char *command, char path_ret[PATH_MAX])
{
	const char *list = getenv("PATH");
	int error = ENOENT;

	if (!list)
		list = DEFAULT_PATH;
	for (;;) {
		int length = (int)strcspn(list, ":");
		int written = snprintf(path_ret, PATH_MAX, "%.*s%s%s", length, list,
			length > 0 ? "/" : "./", command);
		int tested = written < PATH_MAX ? test_executable(path_ret) : ENAMETOOLONG;

		if (tested == 0)
			return 0;
		if (tested == EACCES)
			/* reported only if no later directory contains the command */
			error = EACCES;
		if (list[length] == '\0')
			return error;
		list += length + 1;
	}
}

static int
find_command(const char *command, char path_ret[PATH_MAX])
{
	if (command[0] == '\0')
		return ENOENT;
	if (strchr(command, '/') == NULL)
		return search_path(command, path_ret);
	if (snprintf(path_ret, PATH_MAX, "%s", command) >= PATH_MAX)
		return ENAMETOOLONG;
	return test_executable(path_ret);
}

/* ELF */

/* The interpreter of an ELF file of our own class and machine; false if it has none. */
static bool
read_interpreter(int fd, const Elf64_Ehdr *header, char path_ret[PATH_MAX])
{
	for (unsigned i = 0; i < header->e_phnum && i < SEGMENTS_MAX; i++) {
		off_t offset = (off_t)(header->e_phoff + (uint64_t)i * header->e_phentsize);
		Elf64_Phdr segment;
		ssize_t length;

		if (pread(fd, &segment, sizeof(segment), offset) != sizeof(segment))
			return false;
		if (segment.p_type != PT_INTERP || segment.p_filesz >= PATH_MAX)
			continue;
		length = pread(fd, path_ret, segment.p_filesz, (off_t)segment.p_offset);
		path_ret[length > 0 ? length : 0] = '\0';
		return length > 0;
	}
	return false;
}

/* The dynamic linker may be run as a program itself; it then honors LD_PRELOAD. */
static bool
is_dynamic_linker(const char *path)
{
	const char *name = th_text_base_name(path);

	return th_text_begins(name, "ld-") || th_text_begins(name, "ld.so");
}

static struct th_error *
check_elf(const char *path, int fd, const Elf64_Ehdr *header, struct th_launch_program *ret)
{
	snprintf(ret->path, sizeof(ret->path), "%s", path);
	if (header->e_ident[EI_CLASS] == ELFCLASS32)
		return th_error_create(TH_ERROR_USAGE,
			"%s: a 32-bit program, which cannot load a 64-bit library", path);
	if (header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_machine != OWN_MACHINE)
		return th_error_create(TH_ERROR_USAGE,
			"%s: a program for another processor, which cannot load this library",
			path);
	if (read_interpreter(fd, header, ret->linker) || is_dynamic_linker(path))
		return NULL;
	return th_error_create(
		TH_ERROR_USAGE, "%s: statically linked, so LD_PRELOAD has no effect", path);
}

/* Privileges */

/* In secure-execution mode, ld.so(8), the dynamic linker ignores LD_PRELOAD. */
static struct th_error *
check_privileges(const char *path)
{
	struct stat status;
	const char *what = NULL;

	if (stat(path, &status) != 0)
		return NULL;
	if ((status.st_mode & S_ISUID) && status.st_uid != getuid())
		what = "set-user-ID";
	else if ((status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP) &&
		 status.st_gid != getgid())
		what = "set-group-ID";
	else if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
		what = "privileged (it has file capabilities)";
	if (!what)
		return NULL;
	return th_error_create(
		TH_ERROR_USAGE, "%s: %s, so LD_PRELOAD has no effect", path, what);
}

/* Scripts */

/* The interpreter in a script's first line, `line` = "#!...", terminated in place. */
static const char *
script_interpreter(char *line)
{
	char *start = line + 2 + strspn(line + 2, " \t");

	start[strcspn(start, " \t\r\n")] = '\0';
	return start;
}

static struct th_error *
check_file(const char *path, bool is_interpreter, struct th_launch_program *ret);

static struct th_error *
check_contents(const char *path, int fd, bool is_interpreter, struct th_launch_program *ret)
{
	union {
		Elf64_Ehdr header;
		char text[FIRST_LINE_MAX + 1];
	} head = {.text = ""};
	ssize_t length = pread(fd, head.text, FIRST_LINE_MAX, 0);

	if (length >= (ssize_t)sizeof(head.header) &&
		memcmp(head.header.e_ident, ELFMAG, SELFMAG) == 0) {
		struct th_error *error = check_privileges(path);

		return error ? error : check_elf(path, fd, &head.header, ret);
	}
	if (length > 2 && head.text[0] == '#' && head.text[1] == '!' && !is_interpreter)
		return check_file(script_interpreter(head.text), true, ret);
	return NULL; /* execvp() passes it to the shell, or the kernel knows its format */
}

static struct th_error *
check_file(const char *path, bool is_interpreter, struct th_launch_program *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	struct th_error *error = check_contents(path, fd, is_interpreter, ret);
	close(fd);
	return error;
}

struct th_error *
th_launch_target_check(const char *command, struct th_launch_program *ret)
{
	char path[PATH_MAX];
	int error = find_command(command, path);

	*ret = (struct th_launch_program){.path = ""};
	return error ? refuse(command, error) : check_file(path, false, ret);
}
