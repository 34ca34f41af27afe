/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers for people: three significant digits, binary units for bytes ("1.23 GiB"), powers of
 * a thousand for counts ("4.56 M").
 */
#ifndef TH_REPORT_BASE_FORMAT_H
#define TH_REPORT_BASE_FORMAT_H

#include <stdint.h>
#include <stdio.h>

/* Room for any number or interval below. */
struct th_number {
	char text[48];
};

/* The counted unit. */
enum th_unit {
	TH_UNIT_BYTES,
	TH_UNIT_OBJECTS,
};

/* "1.23 GiB", "512 B", "4.56 M", "12". */
struct th_number th_format_number(double value, enum th_unit unit);

/* An interval in the unit of its larger end: "1.19 .. 1.27 GiB". */
struct th_number th_format_interval(double low, double high, enum th_unit unit);

/* "12.3 %", "0.04 %", "<0.01 %"; "-" if `whole` is 0. */
struct th_number th_format_share(double part, double whole);

/* "1 h 02 min", "3 min 04 s", "12.3 s". */
struct th_number th_format_seconds(double seconds);

/* A short duration: "38 ms", "0.2 ms"; from a second on as th_format_seconds(). */
struct th_number th_format_pause(double seconds);

/*
 * A time of a recording in seconds, as --at takes it: "0.05", "10.24", "99999". As typed with up
 * to three decimals; measured ones have at least four significant digits. Never an exponent.
 */
struct th_number th_format_time(double seconds);

/* An integer with commas between thousands. */
struct th_number th_format_count(uint64_t count);

/* Columns of a UTF-8 string on a terminal, with one column per character. */
int th_format_columns(const char *text);

/*
 * Prints `text` in at most `columns` columns: of a longer one the beginning and the end, with
 * "..." between them, since names often differ only at their ends.
 */
void th_format_cut(FILE *file, const char *text, int columns);

#endif
