/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and paragraphs for people (format.h). Formatted numbers are returned by value. */
#include "report/base/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

struct scale {
	double step;
	const char *units[7];
};

static const struct scale scales[] = {
	[TH_UNIT_BYTES] = {1024, {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"}},
	[TH_UNIT_OBJECTS] = {1000, {"", " k", " M", " G", " T", " P", " E"}},
};
#define UNITS_MAX 7
/* Longer times are printed as this one, which has room in struct th_number. */
#define LONGEST_TIME 1e15
/* Times that are whole thousandths of a second up to this error were typed. */
#define TYPED_ERROR 1e-6

/* The largest unit in which `value` is at least 1 when printed with three digits. */
static int
choose_unit(double value, const struct scale *scale)
{
	int unit = 0;

	while (unit + 1 < UNITS_MAX && fabs(value) >= 999.5) {
		value /= scale->step;
		unit++;
	}
	return unit;
}

/* Three significant digits; integers below a thousand are printed without decimals. */
static int
print_digits(char *text, size_t bytes, double value, int unit)
{
	double size = fabs(value);
	int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;

	if (unit == 0 && (size >= 9.95 || value == floor(value)))
		decimals = 0;
	return snprintf(text, bytes, "%.*f", decimals, value);
}

static double
in_unit(double value, const struct scale *scale, int unit)
{
	return value / pow(scale->step, unit);
}

struct th_number
th_format_number(double value, enum th_unit unit)
{
	const struct scale *scale = &scales[unit];
	int chosen = choose_unit(value, scale);
	struct th_number number;
	char digits[32];

	print_digits(digits, sizeof(digits), in_unit(value, scale, chosen), chosen);
	snprintf(number.text, sizeof(number.text), "%s%s", digits, scale->units[chosen]);
	return number;
}

struct th_number
th_format_interval(double low, double high, enum th_unit unit)
{
	const struct scale *scale = &scales[unit];
	int chosen = choose_unit(fmax(fabs(low), fabs(high)), scale);
	struct th_number number;
	char from[20];
	char to[20];

	print_digits(from, sizeof(from), in_unit(low, scale, chosen), chosen);
	print_digits(to, sizeof(to), in_unit(high, scale, chosen), chosen);
	snprintf(
		number.text, sizeof(number.text), "%s .. %s%s", from, to, scale->units[chosen]);
	return number;
}

struct th_number
th_format_share(double part, double whole)
{
	struct th_number number;
	double percent = whole > 0 ? 100 * part / whole : NAN;

	if (isnan(percent))
		return (struct th_number){"-"};
	if (percent > 0 && percent < 0.005)
		return (struct th_number){"<0.01 %"};
	int decimals = percent >= 9.995 || percent == 0 ? 1 : 2;
	snprintf(number.text, sizeof(number.text), "%.*f %%", decimals, percent);
	return number;
}

struct th_number
th_format_seconds(double seconds)
{
	struct th_number number;
	uint64_t whole = seconds > 0 && seconds < 1e15 ? (uint64_t)seconds : 0;

	if (whole >= 3600)
		snprintf(number.text, sizeof(number.text), "%" PRIu64 " h %02" PRIu64 " min",
			whole / 3600, whole / 60 % 60);
	else if (whole >= 60)
		snprintf(number.text, sizeof(number.text), "%" PRIu64 " min %02" PRIu64 " s",
			whole / 60, whole % 60);
	else
		snprintf(number.text, sizeof(number.text), "%.1f s", seconds);
	return number;
}

struct th_number
th_format_pause(double seconds)
{
	struct th_number number;

	if (seconds >= 1)
		return th_format_seconds(seconds);
	snprintf(number.text, sizeof(number.text), "%.*f ms", seconds < 0.01, seconds * 1e3);
	return number;
}

struct th_number
th_format_time(double seconds)
{
	struct th_number number;
	double thousandths = seconds * 1000;
	bool is_typed = fabs(thousandths - round(thousandths)) < TYPED_ERROR;
	int decimals = is_typed || seconds < 10 ? 3 : seconds < 100 ? 2 : 1;
	int length = snprintf(number.text, sizeof(number.text), "%.*f", decimals,
		fmin(seconds, LONGEST_TIME));

	while (number.text[length - 1] == '0')
		length--;
	number.text[length - (number.text[length - 1] == '.')] = '\0';
	return number;
}

struct th_number
th_format_count(uint64_t count)
{
	struct th_number number;
	char digits[24];
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, count);
	char *end = number.text;

	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*end++ = ',';
		*end++ = digits[i];
	}
	*end = '\0';
	return number;
}

static bool
starts_character(char byte)
{
	return ((unsigned char)byte & 0xc0) != 0x80;
}

int
th_format_columns(const char *text)
{
	int columns = 0;

	for (; *text; text++)
		columns += starts_character(*text);
	return columns;
}

/* The position after `columns` characters. */
static const char *
skip(const char *text, int columns)
{
	for (; columns > 0 && *text; columns--) {
		text++;
		while (!starts_character(*text))
			text++;
	}
	return text;
}

void
th_format_cut(FILE *file, const char *text, int columns)
{
	int all = th_format_columns(text);
	int head = columns > 3 ? (columns - 3) / 2 : 0;
	int tail = columns > 3 ? columns - 3 - head : 0;

	if (all <= columns)
		fputs(text, file);
	else
		fprintf(file, "%.*s...%s", (int)(skip(text, head) - text), text,
			skip(text, all - tail));
}
