/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the files of a loaded module: the ELF file itself and, if it was stripped, its debug
 * file. Every file is checked before it is used, by build id, or by the checksum of
 * .gnu_debuglink if there is no build id.
 */
#ifndef TH_REPORT_SYMBOLS_MODULE_FILES_H
#define TH_REPORT_SYMBOLS_MODULE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest build id that is read, in bytes; linkers write 8, 16 or 20. */
#define TH_BUILD_ID_BYTES 64
#define TH_BUILD_ID_TEXT (2 * TH_BUILD_ID_BYTES + 1)

enum th_module_match {
	TH_MODULE_FOUND,
	TH_MODULE_MISSING, /* no file of that name */
	TH_MODULE_CHANGED, /* there is a file, but it is not the one that was loaded */
};

struct th_module_file {
	int fd;     /* -1: none */
	char *path; /* path of `fd`, malloc'ed; NULL if none */
	enum th_module_match
		match; /* of the module's own file, even if a debug file was found */
	char found_id[TH_BUILD_ID_TEXT]; /* when CHANGED: the build id of the existing file */
};

/*
 * Opens the ELF file that was loaded from `path` with build id `build_id` (lower-case
 * hexadecimal, "" = it had none), or failing that a debug file with this build id, which
 * provides the same names. The caller owns ret->fd and ret->path.
 */
void th_module_file_open(const char *path, const char *build_id, struct th_module_file *ret);

/*
 * Opens the debug file of the stripped file at `module_path` with that build id ("" = none);
 * link_name: its .gnu_debuglink, NULL = none, and the checksum in it. -1 if there is none.
 * *path_ret is malloc'ed.
 */
int th_debug_file_open(const char *module_path, const char *build_id, const char *link_name,
	uint32_t link_checksum, char **path_ret);

/*
 * Writes the build id of an open ELF file, "" if it has none; false if it is not an ELF file.
 */
bool th_build_id_read(int fd, char text_ret[TH_BUILD_ID_TEXT]);

#endif
