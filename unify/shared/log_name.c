/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/shared/log_name.h"

#include <string.h>
#include <unistd.h>

struct text {
	char *bytes;
	size_t length;
	size_t capacity;
	bool is_cut;
};

static void
append(struct text *text, const char *part, size_t length)
{
	size_t room = text->capacity - text->length - 1;

	if (length > room) {
		text->is_cut = true;
		length = room;
	}
	memcpy(text->bytes + text->length, part, length);
	text->length += length;
	text->bytes[text->length] = '\0';
}

static void
append_host(struct text *text, bool is_pattern)
{
	char host[256] = "host";

	gethostname(host, sizeof(host) - 1);
	for (const char *c = host; *c; c++) {
		append(text, c, 1);
		if (is_pattern && *c == '%')
			append(text, "%", 1);
	}
}

bool
th_log_name_expand(const char *pattern, const char *pid, char *name, size_t capacity)
{
	struct text text = {.bytes = name, .length = strlen(name), .capacity = capacity};

	for (const char *c = pattern; *c; c++) {
		char kind = *c == '%' ? c[1] : '\0';

		if (kind == 'h')
			append_host(&text, !pid);
		else if (pid && kind == 'p')
			append(&text, pid, strlen(pid));
		else if (pid || (kind != 'p' && kind != '%'))
			append(&text, c, 1);
		else
			append(&text, c, 2);
		c += kind == 'h' || kind == 'p' || kind == '%';
	}
	return !text.is_cut;
}

static const char *
last_component(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

bool
th_log_name_has_pid(const char *pattern)
{
	for (const char *c = last_component(pattern); *c; c++) {
		if (c[0] == '%' && c[1] == 'p')
			return true;
		c += c[0] == '%' && c[1] == '%';
	}
	return false;
}

bool
th_log_name_insert(char *name, size_t capacity, const char *number)
{
	char *dot = strrchr(name + (last_component(name) - name), '.');
	size_t length = strlen(name);
	size_t at = dot ? (size_t)(dot - name) : length;
	size_t bytes = 1 + strlen(number);

	if (length + bytes >= capacity)
		return false;
	memmove(name + at + bytes, name + at, length - at + 1);
	name[at] = '.';
	memcpy(name + at + 1, number, bytes - 1);
	return true;
}
