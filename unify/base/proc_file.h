/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small files of the kernel, read by system calls only: no stdio, no memory of the application.
 */
#ifndef TH_UNIFY_BASE_PROC_FILE_H
#define TH_UNIFY_BASE_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads a file from its start into `buffer`, at most `capacity` - 1 bytes, and terminates them
 * with NUL.  Returns the number of bytes, 0 if the file cannot be read.  Preserves errno. [any]
 */
size_t th_proc_file_read(const char *path, char *buffer, size_t capacity);

/* As th_digits_parse(), after leading blanks. [any] */
bool th_proc_number(const char **text, unsigned base, uint64_t *ret);

/*
 * The number in the first line of `text` that starts with `key`, as in "anon 4096" or "VmHWM:
 * 12 kB". [any]
 */
bool th_proc_field(const char *text, const char *key, uint64_t *ret);

/* Field 22 of the /proc/PID/stat file at `path`; 0 if it cannot be read. [any] */
uint64_t th_proc_start_time(const char *path);

#endif
