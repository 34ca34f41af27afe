/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs of ten seconds whose leaks are known, and their findings. Unless stated otherwise every
 * allocation is recorded, so the numbers are exact.
 *
 * The times that follow from ten seconds: warm-up until 2 s, old from an age of 1 s on, the
 * later half from 6 s on.
 */
#ifndef TH_TESTS_LEAKS_FIXTURE_H
#define TH_TESTS_LEAKS_FIXTURE_H

#include "tests/unit/views/view_helper.h"

#define END_MS 10000u
#define YOUNG "G1 young collection pauses (G1 Evacuation Pause)"
#define FULL "G1 full collection pauses (System.gc())"
#define BLOCK 1000u

enum { MODULE_WORK = 1, MODULE_VM = 2 };
enum {
	METHOD_MAIN = 1,
	METHOD_WORK = 2,
	METHOD_PUT = 3,
	METHOD_LOAD = 4,
	METHOD_INIT = 5,
	METHOD_MAKE = 6
};
enum { CLASS_BYTES = 1, CLASS_PEER = 2, CLASS_NODE = 3 };
/* Stacks, leaf first. */
enum {
	STACK_WORK = 1,  /* libwork.so+0x10 < app.Work.work < app.Main.main */
	STACK_OTHER = 2, /* libwork.so+0x20 < the same */
	STACK_C = 3,     /* libwork.so+0x10 */
	STACK_VM = 4,    /* libjvm.so+0x10 < app.Work.work < app.Main.main */
	STACK_JAVA = 5,  /* app.Work.work, line 10 < app.Main.main */
	STACK_PUT = 6,   /* java.util.HashMap.put < app.Work.work, line 10 < app.Main.main */
	STACK_LINE = 7,  /* app.Work.work, line 11 < app.Main.main */
	STACK_LOAD = 8,  /* java.lang.ClassLoader.loadClass < app.Work.work < app.Main.main */
	STACK_PEER = 9,  /* libwork.so+0x10 < app.Peer.<init> < app.Work.work < app.Main.main */
	STACK_NATIVE = 10, /* libwork.so+0x10 < app.Peer.make, native < app.Work.work < ... */
};

/* Starts a log with all the names and stacks above; without an interval every block counts. */
void leaks_begin(struct log_builder *log);
void leaks_begin_sampled(struct log_builder *log, uint64_t interval);

/* Allocations at one stack, one every `every` ms from `from` to before `to`. */
struct leaks_series {
	uint32_t stack;
	uint32_t class; /* 0 = native */
	uint32_t from;
	uint32_t to;
	uint32_t every;
	uint32_t life; /* ms until the end; 0 = never */
	uint64_t interval;
};

void leaks_add(struct log_builder *log, struct leaks_series series);

/* A block every 100 ms, to the end, none of which is freed. */
void leaks_add_leak(struct log_builder *log, uint32_t stack);

/* Collection `number` of the Java heap, YOUNG or FULL. */
void leaks_collect(struct log_builder *log, uint32_t ms, uint32_t number, const char *kind);

/*
 * Peers made by app.Work.work until 4 s, whose constructor allocates a block; they are collected
 * after `life`, the blocks stay.
 */
void leaks_add_peers(struct log_builder *log, uint32_t life);

/* The findings of a log, which ends here. */
struct leaks_found {
	struct shown shown;
	struct th_leaks leaks;
	struct th_finding findings[64];
	size_t findings_count;
};

void leaks_find(struct leaks_found *found, struct log_builder *log);
void leaks_end(struct leaks_found *found, struct log_builder *log);

/* The finding; fails the test if there is not exactly one. */
const struct th_finding *leaks_only_finding(const struct leaks_found *found);

/* Ends the log, whose only finding must have this verdict for this reason. */
void leaks_expect(struct log_builder *log, enum th_verdict verdict, enum th_reason reason);

/* What a view prints; the caller frees it. */
char *
leaks_print(const struct leaks_found *found, void (*view)(FILE *, const struct th_leaks *));

#endif
