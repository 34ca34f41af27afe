/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recursive descent over the text emits states in order; what repeats or chooses gets a SPLIT in
 * front of it.  An atom that is repeated a counted number of times is read again for each time.
 * Every group emits a state, even an empty one, so that the bound on states bounds the work.
 */
#include "unify/shared/expression.h"

#include <stddef.h>
#include <string.h>

/* Largest number in braces (POSIX: RE_DUP_MAX is at least that). */
#define REPEAT_MAX 255
#define NO_LIMIT UINT32_MAX
/* Of a set of states. */
#define WORDS (TH_EXPRESSION_STATES_MAX / 64)

enum what {
	BYTE,    /* the byte a */
	ANY,     /* any byte */
	BRACKET, /* a byte that text[a] to text[b - 1], a bracket expression's inside, allows */
	BEGIN,   /* nothing, at the beginning */
	END,     /* nothing, at the end */
	SPLIT,   /* goes on at a and at b */
	JUMP,    /* goes on at a */
	MATCHED,
};

struct parser {
	struct th_expression *expression;
	const char *at;
	const char *problem;
};

/* Emitting */

static void
fail(struct parser *parser, const char *problem)
{
	if (!parser->problem)
		parser->problem = problem;
}

static uint32_t
emit(struct parser *parser, enum what what, uint32_t a, uint32_t b)
{
	struct th_expression *expression = parser->expression;

	/* One is kept for MATCHED. */
	if (expression->count == TH_EXPRESSION_STATES_MAX - 1) {
		fail(parser, "too long");
		return expression->count - 1;
	}
	expression->states[expression->count] = (struct th_expression_state){
		(uint16_t)what, (uint16_t)a, (uint16_t)b};
	return expression->count++;
}

/* Puts a SPLIT in front of the states from `start` on, which then stand one further. */
static void
insert_split(struct parser *parser, uint32_t start, uint32_t b)
{
	struct th_expression *expression = parser->expression;

	emit(parser, JUMP, 0, 0);
	if (parser->problem)
		return;
	memmove(&expression->states[start + 1], &expression->states[start],
		(expression->count - 1 - start) * sizeof(*expression->states));
	for (uint32_t i = start + 1; i < expression->count; i++) {
		struct th_expression_state *state = &expression->states[i];

		if (state->what != SPLIT && state->what != JUMP)
			continue;
		state->a += state->a >= start;
		state->b += state->b >= start;
	}
	expression->states[start] = (struct th_expression_state){
		SPLIT, (uint16_t)(start + 1), (uint16_t)b};
}

/* Atoms */

static void read_choice(struct parser *parser);

/* The inside of a bracket expression ends at the first ] that is not its first byte. */
static const char *
find_bracket_end(const char *inside)
{
	const char *at = inside + (*inside == '^');

	at += *at == ']';
	while (*at && *at != ']') {
		if (at[0] == '[' && at[1] == ':') {
			const char *close = strstr(at + 2, ":]");

			at = close ? close + 1 : at;
		}
		at++;
	}
	return *at ? at : NULL;
}

static void
read_bracket(struct parser *parser)
{
	const char *text = parser->expression->text;
	const char *inside = parser->at + 1;
	const char *end = find_bracket_end(inside);

	if (!end) {
		fail(parser, "[ without ]");
		return;
	}
	emit(parser, BRACKET, (uint32_t)(inside - text), (uint32_t)(end - text));
	parser->at = end + 1;
}

static void
read_group(struct parser *parser)
{
	parser->at++;
	emit(parser, JUMP, parser->expression->count + 1, 0);
	read_choice(parser);
	if (*parser->at != ')')
		fail(parser, "( without )");
	else
		parser->at++;
}

static void
read_escaped(struct parser *parser)
{
	if (!parser->at[1]) {
		fail(parser, "nothing behind \\");
		return;
	}
	emit(parser, BYTE, (unsigned char)parser->at[1], 0);
	parser->at += 2;
}

static void
read_atom(struct parser *parser)
{
	switch (*parser->at) {
	case '(':
		read_group(parser);
		return;
	case '[':
		read_bracket(parser);
		return;
	case '\\':
		read_escaped(parser);
		return;
	case '*':
	case '+':
	case '?':
	case '{':
		fail(parser, "nothing to repeat");
		return;
	case '.':
		emit(parser, ANY, 0, 0);
		break;
	case '^':
		emit(parser, BEGIN, 0, 0);
		break;
	case '$':
		emit(parser, END, 0, 0);
		break;
	default:
		emit(parser, BYTE, (unsigned char)*parser->at, 0);
	}
	parser->at++;
}

/* Repeating */

static bool
read_number(struct parser *parser, uint32_t *ret)
{
	const char *begin = parser->at;

	*ret = 0;
	for (; *parser->at >= '0' && *parser->at <= '9' && *ret <= REPEAT_MAX; parser->at++)
		*ret = *ret * 10 + (uint32_t)(*parser->at - '0');
	return parser->at > begin && *ret <= REPEAT_MAX;
}

/* {m}, {m,} or {m,n}; false and a problem when it is none of them. */
static bool
read_braces(struct parser *parser, uint32_t *least_ret, uint32_t *most_ret)
{
	parser->at++;
	bool is_good = read_number(parser, least_ret);
	*most_ret = *least_ret;
	if (is_good && *parser->at == ',') {
		parser->at++;
		*most_ret = NO_LIMIT;
		if (*parser->at != '}')
			is_good = read_number(parser, most_ret) && *most_ret >= *least_ret;
	}
	if (!is_good || *parser->at != '}') {
		fail(parser, "bad number in braces");
		return false;
	}
	parser->at++;
	return true;
}

/* Whether a repetition stands at the parser's place, and which. */
static bool
read_repetition(struct parser *parser, uint32_t *least_ret, uint32_t *most_ret)
{
	char sign = *parser->at;

	if (sign == '{')
		return read_braces(parser, least_ret, most_ret);
	if (!sign || !strchr("*+?", sign))
		return false;
	*least_ret = sign == '+';
	*most_ret = sign == '?' ? 1 : NO_LIMIT;
	parser->at++;
	return true;
}

/* Once more the atom that was read from `text`. */
static void
read_again(struct parser *parser, const char *text)
{
	const char *behind = parser->at;

	parser->at = text;
	read_atom(parser);
	parser->at = behind;
}

/* Any number of times: split, atom, jump back to the split. */
static void
emit_star(struct parser *parser, const char *text)
{
	uint32_t start = parser->expression->count;

	read_again(parser, text);
	insert_split(parser, start, parser->expression->count + 2);
	emit(parser, JUMP, start, 0);
}

static void
emit_optional(struct parser *parser, const char *text)
{
	uint32_t start = parser->expression->count;

	read_again(parser, text);
	insert_split(parser, start, parser->expression->count + 1);
}

/* An atom and all repetitions behind it. */
static void
read_piece(struct parser *parser)
{
	const char *text = parser->at;
	uint32_t start = parser->expression->count;
	uint32_t least, most;

	read_atom(parser);
	if (parser->problem || !read_repetition(parser, &least, &most))
		return;
	parser->expression->count = start;
	for (uint32_t i = 0; i < least && !parser->problem; i++)
		read_again(parser, text);
	if (most == NO_LIMIT)
		emit_star(parser, text);
	for (uint32_t i = least; most != NO_LIMIT && i < most && !parser->problem; i++)
		emit_optional(parser, text);
	if (!parser->problem && *parser->at && strchr("*+?{", *parser->at))
		fail(parser, "repeated twice");
}

static void
read_choice(struct parser *parser)
{
	uint32_t start = parser->expression->count;

	while (*parser->at && *parser->at != '|' && *parser->at != ')' && !parser->problem)
		read_piece(parser);
	if (*parser->at != '|' || parser->problem)
		return;
	parser->at++;
	/* The second branch begins behind the first, the new SPLIT and a JUMP over the second. */
	insert_split(parser, start, parser->expression->count + 2);
	uint32_t over = emit(parser, JUMP, 0, 0);
	read_choice(parser);
	parser->expression->states[over].a = (uint16_t)parser->expression->count;
}

bool
th_expression_compile(
	struct th_expression *expression, const char *text, const char **problem_ret)
{
	struct parser parser = {.expression = expression, .at = expression->text};
	size_t length = strlen(text);

	expression->count = 0;
	*problem_ret = "longer than 63 bytes";
	if (length >= sizeof(expression->text))
		return false;
	memcpy(expression->text, text, length + 1);
	read_choice(&parser);
	if (*parser.at == ')')
		fail(&parser, ") without (");
	expression->states[expression->count++] = (struct th_expression_state){MATCHED, 0, 0};
	*problem_ret = parser.problem;
	return !parser.problem;
}

/* Bytes that a bracket expression allows */

static bool
is_between(unsigned char byte, char low, char high)
{
	return byte >= (unsigned char)low && byte <= (unsigned char)high;
}

/* As in the C locale. */
static bool
is_of_class(unsigned char byte, const char *name, size_t length)
{
	bool upper = is_between(byte, 'A', 'Z');
	bool lower = is_between(byte, 'a', 'z');
	bool digit = is_between(byte, '0', '9');
	bool graph = is_between(byte, '!', '~');
	const struct {
		const char *name;
		bool holds;
	} classes[] = {
		{"alpha", upper || lower},
		{"digit", digit},
		{"alnum", upper || lower || digit},
		{"upper", upper},
		{"lower", lower},
		{"space", byte == ' ' || is_between(byte, '\t', '\r')},
		{"blank", byte == ' ' || byte == '\t'},
		{"punct", graph && !upper && !lower && !digit},
		{"graph", graph},
		{"print", graph || byte == ' '},
		{"cntrl", byte < ' ' || byte == 127},
		{"xdigit", digit || is_between(byte, 'a', 'f') || is_between(byte, 'A', 'F')},
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		if (strlen(classes[i].name) == length && !memcmp(classes[i].name, name, length))
			return classes[i].holds;
	}
	return false;
}

/* One item of a bracket expression: a class, a range or a byte.  Returns what follows it. */
static const char *
check_item(const char *at, const char *end, unsigned char byte, bool *holds)
{
	if (at[0] == '[' && at + 1 < end && at[1] == ':') {
		const char *close = strstr(at + 2, ":]");

		if (close && close < end) {
			*holds |= is_of_class(byte, at + 2, (size_t)(close - at - 2));
			return close + 2;
		}
	}
	if (at + 2 < end && at[1] == '-') {
		*holds |= is_between(byte, at[0], at[2]);
		return at + 3;
	}
	*holds |= byte == (unsigned char)at[0];
	return at + 1;
}

static bool
bracket_allows(const char *inside, const char *end, unsigned char byte)
{
	bool is_negated = *inside == '^';
	bool holds = false;

	for (const char *at = inside + is_negated; at < end;)
		at = check_item(at, end, byte, &holds);
	return holds != is_negated;
}

/* Matching */

/* A set of states. */
struct set {
	uint64_t words[WORDS];
};

static bool
has(const struct set *set, uint32_t state)
{
	return set->words[state / 64] >> state % 64 & 1;
}

static void
add(struct set *set, uint32_t state)
{
	set->words[state / 64] |= UINT64_C(1) << state % 64;
}

/* Adds a state and all that it leads to without taking a byte. */
static void
enter(const struct th_expression *expression, uint32_t start, bool is_begin, bool is_end,
	struct set *set)
{
	uint16_t waiting[TH_EXPRESSION_STATES_MAX + 1];
	uint32_t count = 0;

	if (!has(set, start))
		waiting[count++] = (uint16_t)start;
	add(set, start);
	while (count) {
		uint32_t at = waiting[--count];
		const struct th_expression_state *state = &expression->states[at];
		uint32_t next[2] = {at, at};

		if (state->what == SPLIT || state->what == JUMP)
			next[0] = state->a;
		if (state->what == SPLIT)
			next[1] = state->b;
		if ((state->what == BEGIN && is_begin) || (state->what == END && is_end))
			next[0] = at + 1;
		for (int i = 0; i < 2; i++) {
			if (!has(set, next[i]))
				waiting[count++] = (uint16_t)next[i];
			add(set, next[i]);
		}
	}
}

static bool
takes(const struct th_expression *expression, uint32_t state, unsigned char byte)
{
	const struct th_expression_state *what = &expression->states[state];

	switch (what->what) {
	case BYTE:
		return what->a == byte;
	case ANY:
		return true;
	case BRACKET:
		return bracket_allows(
			expression->text + what->a, expression->text + what->b, byte);
	default:
		return false;
	}
}

bool
th_expression_matches(const struct th_expression *expression, const char *text)
{
	struct set current = {{0}};

	for (const char *at = text;; at++) {
		struct set next = {{0}};
		bool is_end = !at[0];

		enter(expression, 0, at == text, is_end, &current);
		if (has(&current, expression->count - 1))
			return true;
		if (is_end)
			return false;
		for (uint32_t i = 0; i < expression->count; i++) {
			if (has(&current, i) && takes(expression, i, (unsigned char)at[0]))
				enter(expression, i + 1, false, !at[1], &next);
		}
		current = next;
	}
}
