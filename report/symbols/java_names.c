/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes class signatures and removes the parts of generated names that differ between runs
 * (java_names.h). The without_ functions return the length of the part of a name to keep.
 */
#include "report/symbols/java_names.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "unify/shared/hash.h"

static const char *
primitive_name(char signature)
{
	static const char *const names[UCHAR_MAX + 1] = {
		['B'] = "byte",
		['C'] = "char",
		['D'] = "double",
		['F'] = "float",
		['I'] = "int",
		['J'] = "long",
		['S'] = "short",
		['V'] = "void",
		['Z'] = "boolean",
	};

	return names[(unsigned char)signature];
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
	struct th_text stem = {name, (uint32_t)start};

	if (start == length)
		return length;
	if (th_text_ends(stem, "$$Lambda$"))
		return start - 1;
	if (th_text_ends(stem, "/GeneratedMethodAccessor") ||
		th_text_ends(stem, "/GeneratedConstructorAccessor") ||
		th_text_ends(stem, "/GeneratedSerializationConstructorAccessor"))
		return start;
	return length;
}

static uint32_t
dimensions_of(struct th_text signature)
{
	uint32_t count = 0;

	/* The class file format allows 255 dimensions. */
	while (count < signature.length && count < 255 && signature.bytes[count] == '[')
		count++;
	return count;
}

/* The class of an array's elements, or the class itself: "java/lang/String", or "B" for byte. */
static struct th_text
element_of(struct th_text signature)
{
	uint32_t dimensions = dimensions_of(signature);
	struct th_text element = {signature.bytes + dimensions, signature.length - dimensions};

	if (element.length >= 2 && element.bytes[0] == 'L' &&
		element.bytes[element.length - 1] == ';') {
		element.bytes++;
		element.length -= 2;
	}
	return element;
}

/* Families */

/* More than the numbered classes of one name that people write, such as Scala's Tuple22. */
#define FAMILY_LEAST 64

/* The digits at the end of the outermost class: `Script12$Inner`, `$Proxy7`; empty: none. */
static struct th_text
number_in(struct th_text name)
{
	struct th_text simple = th_text_last_part(name);
	const char *end = simple.length > 1 ? memchr(simple.bytes + 1, '$', simple.length - 1)
					    : NULL;
	size_t outer = end ? (size_t)(end - simple.bytes) : simple.length;
	size_t start = without_digits(simple.bytes, outer);

	return (struct th_text){simple.bytes + start, start ? (uint32_t)(outer - start) : 0};
}

static uint64_t
family_of(struct th_text name, struct th_text number)
{
	size_t before = (size_t)(number.bytes - name.bytes);
	size_t after = name.length - before - number.length;
	uint64_t hash = th_hash_bytes(TH_HASH_START, name.bytes, before);

	return th_hash_bytes(hash ^ TH_HASH_START, number.bytes + number.length, after);
}

void
th_java_families_add(struct th_java_families *families, struct th_text signature)
{
	struct th_text name = element_of(signature);
	struct th_text number = number_in(name);
	bool is_new;

	if (!number.length)
		return;
	th_id_map_intern(&families->members,
		th_hash_bytes(TH_HASH_START, name.bytes, name.length), &is_new);
	if (!is_new)
		return;
	uint32_t family = th_id_map_enter(
		&families->ids, family_of(name, number), families, sizes, 0);
	families->sizes[family]++;
}

void
th_java_families_deinit(struct th_java_families *families)
{
	th_id_map_deinit(&families->members);
	th_id_map_deinit(&families->ids);
	free(families->sizes);
}

/* The number in the name of a class of a family; empty: it belongs to none. */
static struct th_text
number_of_member(const struct th_java_families *families, struct th_text name)
{
	struct th_text number = number_in(name);
	uint32_t family = number.length
				  ? th_id_map_find(&families->ids, family_of(name, number))
				  : TH_ID_MAP_NONE;

	if (family == TH_ID_MAP_NONE || families->sizes[family] < FAMILY_LEAST)
		number.length = 0;
	return number;
}

/* The text with "#" for the digits in it, if there are any. */
static char *
mask(struct th_text text, struct th_text digits)
{
	if (!digits.length)
		return th_text_clean(text);
	uint32_t before = (uint32_t)(digits.bytes - text.bytes);
	char *head = th_text_clean((struct th_text){text.bytes, before});
	char *tail = th_text_clean((struct th_text){
		digits.bytes + digits.length, text.length - before - digits.length});
	char *masked = th_format_new("%s#%s", head, tail);
	free(head);
	free(tail);
	return masked;
}

char *
th_java_file_name(const struct th_java_families *families, struct th_text class_signature,
	struct th_text file)
{
	struct th_text name = element_of(class_signature);
	struct th_text number = number_of_member(families, name);
	struct th_text simple = th_text_last_part(name);
	uint32_t before = (uint32_t)(number.bytes - simple.bytes);
	uint32_t length = before + number.length;
	bool has_number = number.length && file.length >= length &&
			  !memcmp(file.bytes, simple.bytes, length);

	return mask(
		file, (struct th_text){file.bytes + before, has_number ? number.length : 0});
}

/* Names */

/* The element class of a signature, normalized, with dots. */
static char *
element_name(const struct th_java_families *families, struct th_text signature)
{
	struct th_text name = element_of(signature);

	if (signature.length - dimensions_of(signature) == 1 && primitive_name(*name.bytes))
		return th_format_new("%s", primitive_name(*name.bytes));
	name.length = (uint32_t)without_hidden_suffix(name.bytes, name.length);
	name.length = (uint32_t)without_running_number(name.bytes, name.length);
	char *result = mask(name, number_of_member(families, name));
	for (char *at = result; *at; at++) {
		if (*at == '/')
			*at = '.';
	}
	return result;
}

char *
th_java_class_name(const struct th_java_families *families, struct th_text signature)
{
	uint32_t dimensions = dimensions_of(signature);
	char *element = element_name(families, signature);
	size_t length = strlen(element);
	char *name = th_allocate(length + 2 * (size_t)dimensions + 1, 1);

	memcpy(name, element, length);
	for (uint32_t i = 0; i < dimensions; i++)
		memcpy(name + length + 2 * (size_t)i, "[]", 2);
	free(element);
	return name;
}

char *
th_java_method_name(const struct th_java_families *families, struct th_text class_signature,
	struct th_text name)
{
	char *class_name = th_java_class_name(families, class_signature);
	char *method = th_text_clean(name);
	char *result = th_format_new("%s.%s", class_name, method);

	free(class_name);
	free(method);
	return result;
}
