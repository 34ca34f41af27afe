/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/e2e/stacks.h"

#include <string.h>

#include "tests/e2e/harness.h"

/* Frames printed of an unexpected stack. */
#define FRAMES_SHOWN 40

const char *
th_text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/*
 * Frames of the VM, and those added by the report, are in brackets; Java methods contain a dot.
 */
static const char *
kind_of(const char *name)
{
	if (name[0] == '[' || strncmp(name, "jni_", 4) == 0)
		return "vm";
	return strchr(name, '.') ? "java" : "native";
}

/* Later JDKs call main() through a helper of the launcher, which is ignored. */
static bool
is_launcher_helper(const json_t *frame)
{
	return strcmp(th_text_of(frame, "name"), "invokeStaticMainWithArgs") == 0;
}

static bool
is_expected(const json_t *frame, const char *name)
{
	if (strcmp(th_text_of(frame, "kind"), kind_of(name)) != 0)
		return false;
	return strcmp(name, TH_ANY_VM_FRAME) == 0 ||
	       strcmp(th_text_of(frame, "name"), name) == 0;
}

/* Whether the stack's frames, from the first expected one on, are exactly these. */
static bool
is_exact(const json_t *stack, const char *const *frames)
{
	const json_t *list = json_object_get(stack, "frames");
	size_t count = json_array_size(list);
	size_t i = 0;

	while (i < count && !is_expected(json_array_get(list, i), frames[0]))
		i++;
	for (; i < count && *frames; i++) {
		const json_t *frame = json_array_get(list, i);

		if (is_launcher_helper(frame))
			continue;
		if (!is_expected(frame, *frames))
			return false;
		frames++;
	}
	return i == count && !*frames;
}

static void
print_stack(const json_t *stack)
{
	const json_t *list = json_object_get(stack, "frames");

	print_message("unexpected, %.0f samples, thread %s:\n",
		th_figure_read(stack, "alloc_bytes").samples, th_text_of(stack, "thread"));
	for (size_t i = 0; i < json_array_size(list) && i < FRAMES_SHOWN; i++)
		print_message("    %s\n", th_text_of(json_array_get(list, i), "name"));
}

static bool
is_of_site(const json_t *stack, const struct th_expected_stack *expected)
{
	return strcmp(th_text_of(stack, "heap"), expected->heap) == 0 &&
	       th_stack_has_path(stack, TH_WORDS(expected->site)) &&
	       !(expected->without && th_stack_has_path(stack, TH_WORDS(expected->without)));
}

/* Fails the test unless nearly all samples of the site have exactly the expected stack. */
static void
check_stack(const struct th_recording *recording, const struct th_expected_stack *expected)
{
	const json_t *stacks = json_object_get(recording->report, "stacks");
	double all = 0;
	double exact = 0;

	for (size_t i = 0; i < json_array_size(stacks); i++) {
		const json_t *stack = json_array_get(stacks, i);
		double samples;

		if (!is_of_site(stack, expected))
			continue;
		samples = th_figure_read(stack, "alloc_bytes").samples;
		all += samples;
		if (is_exact(stack, expected->frames) &&
			strcmp(th_text_of(stack, "thread"), expected->thread) == 0)
			exact += samples;
		else
			print_stack(stack);
	}
	print_message(
		"%s, %s: %.0f of %.0f samples\n", expected->site, expected->heap, exact, all);
	assert_true(all >= TH_SITE_SAMPLES_MIN);
	assert_true(exact + 1 >= TH_EXACT_SHARE * all);
}

void
th_recording_check_stacks(
	const struct th_recording *recording, const struct th_expected_stack *expected)
{
	for (; expected->heap; expected++)
		check_stack(recording, expected);
}
