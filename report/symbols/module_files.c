/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directories are those of GDB's manual, "Debugging Information in Separate Files".
 * libdwfl's own search is not used: it contacts debuginfod servers without a time limit, and in
 * some cases accepts a file by name without a checksum.
 */
#include "report/symbols/module_files.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "report/base/allocate.h"
#include "report/base/log_text.h"
#include "report/symbols/debuginfod.h"

#define SYSTEM_DEBUG_DIRECTORY "/usr/lib/debug"
/* Bytes read at once for a checksum. */
#define CHECKSUM_CHUNK (64 << 10)

/* Requirements for a candidate; try_file() fills in the result. */
struct wanted {
	const char *build_id; /* "" = unknown */
	bool by_checksum;     /* no build id: `checksum` must match the file's */
	uint32_t checksum;
	dev_t not_device; /* excluded file: the stripped one itself */
	ino_t not_inode;
	int fd;
	char *path;
};

bool
th_build_id_read(int fd, char text_ret[TH_BUILD_ID_TEXT])
{
	const void *bytes = NULL;
	ssize_t count;
	Elf *elf;
	bool is_elf;

	elf_version(EV_CURRENT);
	text_ret[0] = '\0';
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	is_elf = elf != NULL && elf_kind(elf) == ELF_K_ELF;
	count = is_elf ? dwelf_elf_gnu_build_id(elf, &bytes) : 0;
	for (ssize_t i = 0; i < count && i < TH_BUILD_ID_BYTES; i++)
		sprintf(text_ret + 2 * i, "%02x", ((const uint8_t *)bytes)[i]);
	elf_end(elf);
	return is_elf;
}

/* The checksum of .gnu_debuglink is zlib's CRC-32. */
static bool
has_checksum(int fd, uint32_t expected)
{
	uint8_t *chunk = th_allocate(CHECKSUM_CHUNK, 1);
	uLong crc = crc32(0, NULL, 0);
	off_t offset = 0;
	ssize_t count;

	while ((count = pread(fd, chunk, CHECKSUM_CHUNK, offset)) > 0) {
		crc = crc32(crc, chunk, (uInt)count);
		offset += count;
	}
	free(chunk);
	return count == 0 && crc == expected;
}

static bool
is_wanted(int fd, const struct wanted *wanted)
{
	char build_id[TH_BUILD_ID_TEXT];
	struct stat status;

	if (fstat(fd, &status) != 0 ||
		(status.st_dev == wanted->not_device && status.st_ino == wanted->not_inode))
		return false;
	if (!th_build_id_read(fd, build_id))
		return false;
	if (wanted->by_checksum)
		return has_checksum(fd, wanted->checksum);
	return strcmp(build_id, wanted->build_id) == 0;
}

/*
 * Opens a file that a log names, if it is a regular one; else -1. Opening a named pipe would
 * wait for a writer, and opening some devices has side effects.
 */
static int
open_regular(const char *path)
{
	struct stat status;
	int fd = -1;

	if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)))
		return fd;
	close(fd);
	return -1;
}

/* Takes over `path` (malloc'ed): true, and the result filled in, if the file matches. */
static bool
try_file(struct wanted *wanted, char *path)
{
	int fd = open_regular(path);

	if (fd >= 0 && is_wanted(fd, wanted)) {
		wanted->fd = fd;
		wanted->path = path;
		return true;
	}
	if (fd >= 0)
		close(fd);
	free(path);
	return false;
}

/* Length of the directory part of `path`, without the last slash. */
static int
directory_length(const char *path)
{
	const char *name = th_text_base_name(path);

	return name > path ? (int)(name - path) - 1 : 0;
}

static bool
try_build_id(struct wanted *wanted)
{
	if (strlen(wanted->build_id) < 3)
		return false;
	return try_file(wanted, th_format_new(SYSTEM_DEBUG_DIRECTORY "/.build-id/%.2s/%s.debug",
					wanted->build_id, wanted->build_id + 2));
}

/* A debug file called `name`, beside the module or in the system's directory. */
static bool
try_name(struct wanted *wanted, const char *module_path, const char *name)
{
	int length = directory_length(module_path);
	const char *here = length == 0 && module_path[0] != '/' ? "." : "";

	return try_file(wanted, th_format_new("%.*s%s/%s", length, module_path, here, name)) ||
	       try_file(wanted,
		       th_format_new("%.*s%s/.debug/%s", length, module_path, here, name)) ||
	       try_file(wanted, th_format_new(SYSTEM_DEBUG_DIRECTORY "%.*s/%s", length,
					module_path, name)) ||
	       try_file(wanted, th_format_new(SYSTEM_DEBUG_DIRECTORY "/%s", name));
}

static bool
find_debug_file(struct wanted *wanted, const char *module_path, const char *link_name)
{
	if (try_build_id(wanted) || (link_name && try_name(wanted, module_path, link_name)))
		return true;
	char *name = th_format_new("%s.debug", th_text_base_name(module_path));
	bool found = try_name(wanted, module_path, name);

	free(name);
	return found;
}

int
th_debug_file_open(const char *module_path, const char *build_id, const char *link_name,
	uint32_t link_checksum, char **path_ret)
{
	struct wanted wanted = {
		.build_id = build_id,
		.by_checksum = build_id[0] == '\0',
		.checksum = link_checksum,
		.fd = -1,
	};
	struct stat status;

	/* Without either, candidates cannot be checked. */
	if (wanted.by_checksum && !link_name)
		return -1;
	if (stat(module_path, &status) == 0) {
		wanted.not_device = status.st_dev;
		wanted.not_inode = status.st_ino;
	}
	if (!find_debug_file(&wanted, module_path, link_name))
		return th_debuginfod_open(module_path, build_id, path_ret);
	*path_ret = wanted.path;
	return wanted.fd;
}

/* The reason why the file at `path` is not the one that was loaded. */
static void
explain_mismatch(const char *path, struct th_module_file *ret)
{
	int fd = open_regular(path);

	ret->match = TH_MODULE_MISSING;
	if (fd < 0)
		return;
	th_build_id_read(fd, ret->found_id);
	ret->match = TH_MODULE_CHANGED;
	close(fd);
}

void
th_module_file_open(const char *path, const char *build_id, struct th_module_file *ret)
{
	struct wanted wanted = {.build_id = build_id, .fd = -1};

	*ret = (struct th_module_file){.fd = -1, .match = TH_MODULE_FOUND};
	if (!try_file(&wanted, th_format_new("%s", path))) {
		explain_mismatch(path, ret);
		if (build_id[0] != '\0' && !find_debug_file(&wanted, path, NULL))
			wanted.fd = th_debuginfod_open(path, build_id, &wanted.path);
	}
	ret->fd = wanted.fd;
	ret->path = wanted.path;
}
