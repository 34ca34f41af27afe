/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/vm/missed_names.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "unify/log/log.h"

#define START "this Java VM lacks names that the library uses:"
/* Of some 60 names; what does not fit is left out. */
#define TEXT_BYTES 2048

/* By the threads that start the agent and the VM, one after the other. */
static struct {
	char text[TEXT_BYTES]; /* " TYPE::NAME NAME" */
	size_t length;
	bool is_logged;
} missed;

static void
note(const char *names)
{
	char text[sizeof(START) + TEXT_BYTES];

	snprintf(text, sizeof(text), START "%s", names);
	th_log_note(0, text);
}

void
th_missed_names_add(const char *type, const char *name)
{
	char word[128];
	int length = snprintf(
		word, sizeof(word), " %s%s%s", type ? type : "", type ? "::" : "", name);

	if (length < 0 || (size_t)length >= sizeof(word) ||
		missed.length + (size_t)length >= sizeof(missed.text) ||
		strstr(missed.text, word))
		return;
	memcpy(missed.text + missed.length, word, (size_t)length + 1);
	missed.length += (size_t)length;
	if (missed.is_logged)
		note(word);
}

void
th_missed_names_log(void)
{
	if (missed.length)
		note(missed.text);
	missed.is_logged = true;
}
