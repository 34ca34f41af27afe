/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of C++ and Rust: the decoding is libiberty's. Its callback interface is used because
 * it allocates nothing and because a name of a few hundred bytes can expand to gigabytes of text
 * (each substitution may double what it refers to): the callback leaves by longjmp when the text
 * exceeds DECODED_MAX. The rest is presentation: std::string instead of the instantiation behind
 * it, no inline version namespaces, no default allocators, and abbreviated long names.
 *
 * Modules: File.createTempFile of Java inserts a random number of up to 20 digits, of which all but
 * one in ten million have more than 12; it may follow a digit of the name immediately.  A date in a
 * version has 8.
 */
#include "report/symbols/names.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"

/* C++ and Rust */

/*
 * A longer symbol is shown undecoded. The longest ones in libjvm, LLVM and Boost are shorter.
 */
#define MANGLED_MAX 8192
/*
 * libiberty's limit on recursion rejects every name of more than 1024 bytes, which are common
 * in real libraries. Without it the worst of nested types, templates and expressions in
 * MANGLED_MAX bytes took less than 2 MiB of stack.
 */
#define DECODE_OPTIONS (DMGL_ANSI | DMGL_NO_RECURSE_LIMIT)
/* Text decoded before abbreviation. */
#define DECODED_MAX (32 << 10)
/* Maximum length of the result: a few lines of a terminal. */
#define DISPLAY_MAX 512
#define ELLIPSIS "..."

struct decoding {
	char text[DECODED_MAX + 1];
	size_t length;
	jmp_buf full;
};

static void
append(const char *text, size_t length, void *data)
{
	struct decoding *decoding = data;
	size_t room = DECODED_MAX - decoding->length;
	size_t taken = length < room ? length : room;

	if (taken) /* with 0 bytes, `text` may be NULL */
		memcpy(decoding->text + decoding->length, text, taken);
	decoding->length += taken;
	if (taken < length)
		longjmp(decoding->full, 1);
}

bool
th_is_mangled(const char *name)
{
	return th_text_begins(name, "_Z") || th_text_begins(name, "_R") ||
	       th_text_begins(name, "___Z") || th_text_begins(name, "_GLOBAL_");
}

/* Fills decoding->text, without a terminator; false if `name` is not a valid mangled name. */
static bool
decode(const char *name, struct decoding *decoding)
{
	decoding->length = 0;
	if (setjmp(decoding->full) != 0)
		return true; /* more than DECODED_MAX: the start of it is used */
	if (rust_demangle_callback(name, DECODE_OPTIONS, append, decoding))
		return true;
	decoding->length = 0;
	return cplus_demangle_v3_callback(name, DECODE_OPTIONS, append, decoding) != 0;
}

/* Removes `length` bytes at `at` from a string. */
static void
cut(char *at, size_t length)
{
	memmove(at, at + length, strlen(at + length) + 1);
}

/*
 * Bytes at `at` that contain angle brackets without being a template's: the name of an operator
 * (when preceded by "operator", searched from the start of `text`) or an arrow. 0 = none.
 */
static size_t
operator_length(const char *text, const char *at)
{
	static const char *const operators[] = {
		"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"};
	static const char word[] = "operator";
	const size_t word_length = sizeof(word) - 1;

	if (th_text_begins(at, "->"))
		return 2;
	if ((size_t)(at - text) < word_length ||
		memcmp(at - word_length, word, word_length) != 0)
		return 0;
	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++) {
		if (th_text_begins(at, operators[i]))
			return strlen(operators[i]);
	}
	return 0;
}

/* `at` points at an opening bracket of a template: the byte after the closing one, or NULL. */
static char *
skip_arguments(const char *text, char *at)
{
	size_t depth = 0;

	while (*at != '\0') {
		size_t skip = operator_length(text, at);

		if (skip != 0) {
			at += skip;
			continue;
		}
		depth += *at == '<';
		depth -= *at == '>';
		at++;
		if (depth == 0)
			return at;
	}
	return NULL;
}

/* std::__cxx11:: and std::__1:: are versions of std:: */
static void
drop_version_namespaces(char *text)
{
	static const char *const versions[] = {"std::__cxx11::", "std::__1::", "std::__ndk1::"};

	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		char *at = text;

		while ((at = strstr(at, versions[i])) != NULL)
			cut(at + strlen("std::"), strlen(versions[i]) - strlen("std::"));
	}
}

static void
name_strings(char *text)
{
	static const char pattern[] =
		"std::basic_string<char, std::char_traits<char>, std::allocator<char> >";
	static const char name[] = "std::string";
	char *at = text;

	while ((at = strstr(at, pattern)) != NULL) {
		memcpy(at, name, sizeof(name) - 1);
		at += sizeof(name) - 1;
		cut(at, sizeof(pattern) - sizeof(name));
		if (th_text_begins(at, " >"))
			cut(at, 1); /* a blank that separated two closing brackets */
	}
}

/* vector<T, std::allocator<T> > is vector<T>: drops an allocator argument in last position. */
static void
drop_allocators(char *text)
{
	static const char pattern[] = ", std::allocator<";
	char *at = text;

	while ((at = strstr(at, pattern)) != NULL) {
		char *end = skip_arguments(text, at + sizeof(pattern) - 2);

		if (end && (th_text_begins(end, " >") || th_text_begins(end, ">")))
			cut(at, (size_t)(end - at) + (*end == ' '));
		else
			at += sizeof(pattern) - 1;
	}
}

/* "> >" was needed before C++11. */
static void
join_brackets(char *text)
{
	char *at = text;

	while ((at = strstr(at, "> >")) != NULL) {
		if (at > text && operator_length(text, at) == 0)
			cut(at + 1, 1);
		else
			at += 2;
	}
}

/*
 * Copies `text` to `output` (or only counts, if NULL), with the arguments of templates nested
 * `depth_max` deep or deeper replaced by an ellipsis. Returns the length, and how deep they are nested.
 */
static size_t
elide(const char *text, size_t depth_max, char *output, size_t *deepest_ret)
{
	size_t depth = 0, length = 0;
	const char *at = text;

	*deepest_ret = 0;
	while (*at != '\0') {
		size_t skip = operator_length(text, at);
		size_t step = skip != 0 ? skip : 1;
		bool opens = skip == 0 && *at == '<';
		bool closes = skip == 0 && *at == '>' && depth > 0;

		depth -= closes;
		if (depth < depth_max) {
			if (output)
				memcpy(output + length, at, step);
			length += step;
		}
		depth += opens;
		*deepest_ret = depth > *deepest_ret ? depth : *deepest_ret;
		if (opens && depth == depth_max) {
			if (output)
				memcpy(output + length, ELLIPSIS, strlen(ELLIPSIS));
			length += strlen(ELLIPSIS);
		}
		at += step;
	}
	return length;
}

/*
 * `text` as a new string of at most DISPLAY_MAX bytes: innermost arguments are dropped first.
 */
static char *
abbreviate(const char *text)
{
	size_t length = strlen(text);
	size_t depth, deepest;

	if (length <= DISPLAY_MAX)
		return th_format_new("%s", text);
	elide(text, SIZE_MAX, NULL, &depth);
	while (depth > 1 && elide(text, depth, NULL, &deepest) > DISPLAY_MAX)
		depth--;
	depth = depth > 0 ? depth : SIZE_MAX;
	char *output = th_allocate(elide(text, depth, NULL, &deepest) + 1, 1);
	length = elide(text, depth, output, &deepest);
	if (length > DISPLAY_MAX)
		strcpy(output + DISPLAY_MAX - strlen(ELLIPSIS), ELLIPSIS);
	return output;
}

/* Length of `name` without symbol version and without the suffixes of compilers' clones. */
static size_t
stem_length(const char *name)
{
	static const char *const suffixes[] = {".constprop.", ".isra.", ".part.", ".cold",
		".lto_priv.", ".llvm.", ".localalias", ".clone.", ".actor", ".destroy"};
	size_t length = strcspn(name, "@");

	if (length == 0)
		return strlen(name);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		const char *found = strstr(name, suffixes[i]);

		if (found && found > name && (size_t)(found - name) < length)
			length = (size_t)(found - name);
	}
	return length;
}

/* Tidies text with templates in it, decoded or from debug information. */
static void
tidy(char *text)
{
	drop_version_namespaces(text);
	name_strings(text);
	drop_allocators(text);
	join_brackets(text);
}

char *
th_demangle(const char *name)
{
	char stem[MANGLED_MAX + 1];
	struct decoding decoding;
	size_t length = stem_length(name);

	if (length > MANGLED_MAX)
		return abbreviate(name);
	memcpy(stem, name, length);
	stem[length] = '\0';
	if (!th_is_mangled(stem) || !decode(stem, &decoding)) {
		tidy(stem);
		return abbreviate(stem);
	}
	decoding.text[decoding.length] = '\0';
	tidy(decoding.text);
	return abbreviate(decoding.text);
}

/* Modules */

#define RANDOM_DIGITS 9
#define RANDOM_HEXADECIMALS 16

#define DELETED " (deleted)"

static bool
is_word(char c)
{
	return isalnum((unsigned char)c);
}

/* Length of the UUID at the start of `text`; 0: there is none. */
static size_t
uuid_length(const char *text)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	size_t i = 0;

	while (form[i] &&
		(form[i] == 'x' ? isxdigit((unsigned char)text[i]) : text[i] == form[i]))
		i++;
	return form[i] ? 0 : i;
}

static size_t
digits_length(const char *text)
{
	size_t length = strspn(text, "0123456789");

	return length >= RANDOM_DIGITS ? length : 0;
}

static size_t
hexadecimals_length(const char *text)
{
	size_t length = strspn(text, "0123456789abcdefABCDEF");

	return length >= RANDOM_HEXADECIMALS && !is_word(text[length]) &&
			       strcspn(text, "0123456789") < length
		       ? length
		       : 0;
}

/* Length of the random part at `text`, which follows the character `before`. */
static size_t
random_length(const char *text, char before)
{
	size_t length = 0;

	if (!is_word(before)) {
		length = uuid_length(text);
		length = length ? length : hexadecimals_length(text);
	}
	return length ? length : digits_length(text);
}

char *
th_module_stable_path(const char *path)
{
	char *stable = th_format_new("%s", path);
	size_t length = strlen(stable);
	char *to = stable;
	char before = '\0';

	if (length >= strlen(DELETED) && !strcmp(stable + length - strlen(DELETED), DELETED))
		stable[length - strlen(DELETED)] = '\0';
	for (const char *from = stable; *from;) {
		size_t random = random_length(from, before);

		before = from[random ? random - 1 : 0];
		*to++ = random ? '*' : *from;
		from += random ? random : 1;
	}
	*to = '\0';
	return stable;
}

bool
th_is_runtime_module(struct th_text name)
{
	static const char *const prefixes[] = {
		"libc.so",
		"libc-",
		"libc.musl",
		"libpthread",
		"libstdc++.so",
		"libgcc_s.so",
		"libm.so",
		"libm-",
		"ld-linux",
		"ld-musl",
		"[vdso]",
	};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t length = strlen(prefixes[i]);

		if (name.length >= length && !memcmp(name.bytes, prefixes[i], length))
			return true;
	}
	return false;
}
