/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes class signatures and removes the parts of generated names that differ between runs
 * (java_names.h). The without_ functions return the length of the part of a name to keep.
 */
#include "report/symbols/java_names.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"

static const char *
primitive_name(char signature)
{
	static const struct {
		char signature;
		const char *name;
	} primitives[] = {
		{'B', "byte"},
		{'C', "char"},
		{'D', "double"},
		{'F', "float"},
		{'I', "int"},
		{'J', "long"},
		{'S', "short"},
		{'V', "void"},
		{'Z', "boolean"},
	};

	for (size_t i = 0; i < sizeof(primitives) / sizeof(primitives[0]); i++) {
		if (primitives[i].signature == signature)
			return primitives[i].name;
	}
	return NULL;
}

static bool
ends_with(const char *name, size_t length, const char *suffix)
{
	size_t suffix_length = strlen(suffix);

	return length >= suffix_length &&
	       !memcmp(name + length - suffix_length, suffix, suffix_length);
}

/* Length of `name` without decimal digits at its end. */
static size_t
without_digits(const char *name, size_t length)
{
	while (length && name[length - 1] >= '0' && name[length - 1] <= '9')
		length--;
	return length;
}

/* Length of `name` without the "/0x0000000800c03000" or "/12345" of a hidden class. */
static size_t
without_hidden_suffix(const char *name, size_t length)
{
	size_t start = length;

	while (start && strchr("0123456789abcdefABCDEF", name[start - 1]))
		start--;
	if (start == length)
		return length;
	if (start >= 2 && name[start - 1] == 'x' && name[start - 2] == '0')
		start -= 2;
	else if (without_digits(name, length) != start)
		return length;
	return start >= 2 && strchr("/.+", name[start - 1]) ? start - 1 : length;
}

/* Length of `name` without the running number of a class that the VM generated. */
static size_t
without_running_number(const char *name, size_t length)
{
	size_t start = without_digits(name, length);

	if (start == length)
		return length;
	if (ends_with(name, start, "$$Lambda$"))
		return start - 1;
	if (ends_with(name, start, "/GeneratedMethodAccessor") ||
		ends_with(name, start, "/GeneratedConstructorAccessor") ||
		ends_with(name, start, "/GeneratedSerializationConstructorAccessor"))
		return start;
	return length;
}

/* The element class of a signature without its brackets, normalized, with dots. */
static char *
element_name(struct th_text signature)
{
	const char *name = signature.bytes;
	size_t length = signature.length;

	if (length == 1 && primitive_name(name[0]))
		return th_format_new("%s", primitive_name(name[0]));
	if (length >= 2 && name[0] == 'L' && name[length - 1] == ';') {
		name++;
		length -= 2;
	}
	length = without_hidden_suffix(name, length);
	length = without_running_number(name, length);
	char *result = th_text_clean((struct th_text){name, (uint32_t)length});
	for (char *at = result; *at; at++) {
		if (*at == '/')
			*at = '.';
	}
	return result;
}

char *
th_java_class_name(struct th_text signature)
{
	uint32_t dimensions = 0;

	/* The class file format allows 255 dimensions. */
	while (dimensions < signature.length && dimensions < 255 &&
		signature.bytes[dimensions] == '[')
		dimensions++;
	char *element = element_name(
		(struct th_text){signature.bytes + dimensions, signature.length - dimensions});
	size_t length = strlen(element);
	char *name = th_allocate(length + 2 * (size_t)dimensions + 1, 1);
	memcpy(name, element, length);
	for (uint32_t i = 0; i < dimensions; i++)
		memcpy(name + length + 2 * (size_t)i, "[]", 2);
	free(element);
	return name;
}

char *
th_java_method_name(struct th_text class_signature, struct th_text name)
{
	char *class_name = th_java_class_name(class_signature);
	char *method = th_text_clean(name);
	char *result = th_format_new("%s.%s", class_name, method);

	free(class_name);
	free(method);
	return result;
}
