/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small files of the kernel, read by system calls alone: no stdio, no memory of the application.
 */
#ifndef TH_UNIFY_BASE_PROC_FILE_H
#define TH_UNIFY_BASE_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads a file from its start into `buffer`, at most `capacity` - 1 bytes, and ends them with
 * NUL.  Returns how many, 0 when it cannot be read.  Preserves errno. [any]
 */
size_t th_proc_file_read(const char *path, char *buffer, size_t capacity);

/*
 * One read(2), begun again when signals interrupt it, but not without end; 0 at the end or on
 * failure. [any]
 */
size_t th_proc_file_chunk(int descriptor, char *buffer, size_t capacity);

/*
 * The decimal number at *text, blanks before it skipped; *text is behind it afterwards.  False:
 * there is none, or it does not fit. [any]
 */
bool th_proc_number(const char **text, uint64_t *ret);

/* The same for a hexadecimal number without prefix. [any] */
bool th_proc_hexadecimal(const char **text, uint64_t *ret);

/*
 * The number behind the first line of `text` that begins with `key`, as in "anon 4096" or
 * "VmHWM:  12 kB". [any]
 */
bool th_proc_field(const char *text, const char *key, uint64_t *ret);

/* Field 22 of /proc/PID/stat, which is at `path`; 0 when it cannot be read. [any] */
uint64_t th_proc_start_time(const char *path);

#endif
