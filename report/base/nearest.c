/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/nearest.h"

#include <stdio.h>
#include <string.h>

#include "report/base/line.h"

/* Longer words are not compared. */
#define LONGEST 31

void
th_nearest_init(struct th_nearest *nearest, const char *word)
{
	*nearest = (struct th_nearest){.word = word};
}

void
th_nearest_init_option(struct th_nearest *nearest, const char *option)
{
	const char *name = option + strspn(option, "-");

	th_nearest_init(nearest, nearest->option);
	snprintf(nearest->option, sizeof(nearest->option), "%.*s", (int)strcspn(name, "="),
		name);
}

static size_t
smallest(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* The optimal string alignment distance of two words of at most LONGEST characters. */
static size_t
distance(const char *a, const char *b)
{
	size_t rows[LONGEST + 1][LONGEST + 1];
	size_t height = strlen(a);
	size_t width = strlen(b);

	for (size_t i = 0; i <= height; i++) {
		for (size_t j = 0; j <= width; j++) {
			if (!i || !j) {
				rows[i][j] = i + j;
				continue;
			}
			rows[i][j] = smallest(rows[i - 1][j] + 1, rows[i][j - 1] + 1,
				rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				rows[i][j] = smallest(
					rows[i][j], rows[i][j], rows[i - 2][j - 2] + 1);
		}
	}
	return rows[height][width];
}

void
th_nearest_offer(struct th_nearest *nearest, const char *known)
{
	size_t length = strlen(nearest->word);
	size_t steps;

	/* The word itself, which is wrong, is an option of another command. */
	if (length < 2 || length > LONGEST || strlen(known) > LONGEST ||
		!strcmp(known, nearest->word))
		return;
	/* The beginning of a word is an abbreviation of it. */
	steps = strncmp(known, nearest->word, length) ? distance(nearest->word, known) : 1;
	if (steps > 1 + length / 4 || (nearest->found && steps >= nearest->distance))
		return;
	nearest->found = known;
	nearest->distance = steps;
}

const char *
th_nearest_text(const struct th_nearest *nearest, const char *dashes, const char *verb)
{
	if (!nearest->found)
		return th_text_format(", see twinheap %s%s--help", verb, verb[0] ? " " : "");
	return th_text_format("; did you mean %s%s?", dashes, nearest->found);
}
