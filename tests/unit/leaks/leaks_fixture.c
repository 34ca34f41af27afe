/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the logs of leaks_fixture.h and runs `leaks` on them in memory. */
#include "tests/unit/leaks/leaks_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
add_stacks(struct log_builder *log)
{
	const uint64_t main = th_frame_java(METHOD_MAIN, 0);
	const uint64_t work = th_frame_java(METHOD_WORK, 0);
	const uint64_t line = th_frame_java(METHOD_WORK, 5);
	const uint64_t c = th_frame_native(MODULE_WORK, 0x10);
	const uint64_t stacks[][4] = {
		[STACK_WORK] = {c, work, main},
		[STACK_OTHER] = {th_frame_native(MODULE_WORK, 0x20), work, main},
		[STACK_C] = {c},
		[STACK_VM] = {th_frame_native(MODULE_VM, 0x10), work, main},
		[STACK_JAVA] = {work, main},
		[STACK_PUT] = {th_frame_java(METHOD_PUT, 0), work, main},
		[STACK_LINE] = {line, main},
		[STACK_LOAD] = {th_frame_java(METHOD_LOAD, 0), work, main},
		[STACK_PEER] = {c, th_frame_java(METHOD_INIT, 0), work, main},
		[STACK_NATIVE] = {c, th_frame_java(METHOD_MAKE, TH_BCI_NATIVE), work, main},
	};

	for (uint32_t i = STACK_WORK; i <= STACK_NATIVE; i++) {
		uint32_t count = 0;

		while (count < 4 && stacks[i][count])
			count++;
		log_stack(log, i, stacks[i], count);
	}
}

void
leaks_begin_sampled(struct log_builder *log, uint64_t interval)
{
	log_init(log, interval);
	log_jvm(log, 25, TH_JVM_SAMPLED_ALLOC | TH_JVM_JAVA_FRAMES);
	log_thread(log, 1, "main");
	log_module(log, MODULE_WORK, "/nonexistent/libwork.so");
	log_module(log, MODULE_VM, "/nonexistent/libjvm.so");
	log_method(log, METHOD_MAIN, "Lapp/Main;", "main");
	log_method(log, METHOD_WORK, "Lapp/Work;", "work");
	log_method(log, METHOD_PUT, "Ljava/util/HashMap;", "put");
	log_method(log, METHOD_LOAD, "Ljava/lang/ClassLoader;", "loadClass");
	log_method(log, METHOD_INIT, "Lapp/Peer;", "<init>");
	log_method(log, METHOD_MAKE, "Lapp/Peer;", "make");
	log_class(log, CLASS_BYTES, "[B");
	log_class(log, CLASS_PEER, "Lapp/Peer;");
	log_class(log, CLASS_NODE, "Ljava/util/HashMap$Node;");
	add_stacks(log);
}

void
leaks_begin(struct log_builder *log)
{
	leaks_begin_sampled(log, 0);
}

void
leaks_add(struct log_builder *log, struct leaks_series series)
{
	for (uint32_t ms = series.from; ms < series.to; ms += series.every) {
		struct log_sample sample = {.ms = ms,
			.size = BLOCK,
			.interval = series.interval,
			.thread = 1,
			.stack = series.stack,
			.class = series.class};
		uint64_t id = series.class ? log_java(log, sample) : log_native(log, sample);

		if (!series.life || ms + series.life > END_MS)
			continue;
		if (series.class)
			log_java_death(log, ms + series.life, id);
		else
			log_free(log, ms + series.life, id);
	}
}

void
leaks_add_leak(struct log_builder *log, uint32_t stack)
{
	leaks_add(log, (struct leaks_series){.stack = stack, .to = END_MS, .every = 100});
}

void
leaks_collect(struct log_builder *log, uint32_t ms, uint32_t number, const char *kind)
{
	log_collection(log, ms, ms + 1, number, kind);
}

void
leaks_add_peers(struct log_builder *log, uint32_t life)
{
	leaks_add(log, (struct leaks_series){.stack = STACK_PEER, .to = 4000, .every = 100});
	leaks_add(log, (struct leaks_series){.stack = STACK_JAVA,
			       .class = CLASS_PEER,
			       .to = 4000,
			       .every = 100,
			       .life = life});
	for (uint32_t i = 1; i <= 9; i++)
		leaks_collect(log, 1000 * i, i, FULL);
}

void
leaks_find(struct leaks_found *found, struct log_builder *log)
{
	log_end(log, END_MS);
	show(&found->shown, log, NULL);
	th_leaks_init(&found->leaks, found->shown.profile);
	found->findings_count = found->leaks.findings_count;
	assert_true(
		found->findings_count <= sizeof(found->findings) / sizeof(found->findings[0]));
	for (size_t i = 0; i < found->findings_count; i++)
		found->findings[i] = th_leaks_next(
			&found->leaks, found->leaks.findings[i].group);
}

void
leaks_end(struct leaks_found *found, struct log_builder *log)
{
	th_leaks_deinit(&found->leaks);
	show_end(&found->shown);
	log_deinit(log);
}

const struct th_finding *
leaks_only_finding(const struct leaks_found *found)
{
	assert_int_equal(found->findings_count, 1);
	return &found->findings[0];
}

void
leaks_expect(struct log_builder *log, enum th_verdict verdict, enum th_reason reason)
{
	struct leaks_found found;

	leaks_find(&found, log);
	const struct th_evidence *evidence = &leaks_only_finding(&found)->evidence;
	const char *why = th_evidence_explain(evidence);
	if (evidence->verdict != verdict || evidence->reason != reason)
		fail_msg("%s, reason %d: %s", th_verdict_names[evidence->verdict],
			evidence->reason, why);
	leaks_end(&found, log);
}

char *
leaks_print(const struct leaks_found *found, void (*view)(FILE *, const struct th_leaks *))
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	view(file, &found->leaks);
	fclose(file);
	return text;
}
