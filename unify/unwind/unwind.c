/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk.  A frame is described (which module, by which rule its caller is found), written,
 * and left (the rule is applied, the result looked at with suspicion).
 *
 * libunwind is only the oracle of the tests and a choice of the user (libunwind.h).  It calls
 * dl_iterate_phdr, which waits for a lock of the loader; a thread can hold that lock while it waits
 * for a lock that the thread in malloc holds, and a fork while another thread holds it leaves it
 * held in the child for ever.
 */
#include "unify/unwind/unwind.h"

#include "unify/base/atomic.h"
#include "unify/shared/log_format.h"
#include "unify/log/module.h"
#include "unify/unwind/arch.h"
#include "unify/unwind/cache.h"
#include "unify/unwind/cfi.h"

#include <string.h>

/* A native stack runs through few modules, but goes to and fro between them. */
#define RECENT_MODULES 4
/*
 * Frames visited in one walk; only frames of this library, which are not written, and long
 * stacks for a caller with a large buffer come near.
 */
#define STEPS_MAX 65536u
/*
 * Times that sp may fail to rise: signal frames on alternate stacks, fibers, code that switches
 * stacks, a leaf that uses none.  A walk in circles ends here.
 */
#define DESCENTS_MAX 16u

struct walk {
	struct th_cpu cpu;
	struct th_safe_read memory; /* of stacks */
	struct th_safe_read code;
	struct th_unwind_limits limits;
	struct th_module *recent[RECENT_MODULES];
	unsigned next_recent; /* the entry that is replaced next */
	unsigned descents;
	struct th_cfi_row row; /* of the frame at hand, if its rule is TH_RULE_ROW */
};

/* The frame at which the walk stands. */
struct frame {
	struct th_module *module; /* NULL = none known */
	uintptr_t pc;
	uintptr_t lookup; /* an address inside the instruction that is being executed */
	struct th_rule rule;
};

enum step {
	STEP_DONE,
	STEP_BASE,
	STEP_FAILED,
};

static uint64_t frame_pointer_steps; /* atomic */
static bool ignores_rules; /* atomic: unwind information has been found not to be trusted */

/* Describing a frame */

/* A module on this very stack stays loaded, so what was found once holds for the whole walk. */
static struct th_module *
find_module(struct walk *walk, uintptr_t pc)
{
	struct th_module *module;

	for (unsigned i = 0; i < RECENT_MODULES; i++) {
		module = walk->recent[i];
		if (module && pc >= module->start && pc < module->end)
			return module;
	}
	module = th_module_find(pc);
	if (module)
		walk->recent[walk->next_recent++ % RECENT_MODULES] = module;
	return module;
}

/* For a pc that has no call frame information. */
static enum th_rule_kind
signal_or_none(struct walk *walk, uintptr_t pc)
{
	return th_cpu_is_signal_return(pc, &walk->code) ? TH_RULE_SIGNAL : TH_RULE_NONE;
}

/* The rule for `frame` from its module's call frame information; fills walk->row if it is ROW. */
static void
derive_rule(struct walk *walk, struct frame *frame)
{
	struct th_rule *rule = &frame->rule;
	struct th_fde fde;

	*rule = (struct th_rule){.kind = TH_RULE_NONE};
	if (!th_fde_find(frame->module, frame->lookup, &fde))
		rule->kind = signal_or_none(walk, frame->pc);
	else if (fde.is_signal && th_cpu_is_signal_return(frame->pc, &walk->code))
		rule->kind = TH_RULE_SIGNAL;
	else if (th_cfi_row(&fde, frame->lookup, &walk->row))
		th_rule_from_row(&walk->row, rule);
}

static void
find_rule(struct walk *walk, struct frame *frame)
{
	/*
	 * Module id and absolute address, and in the bits that are free whether pc is exact: what
	 * information says depends on `lookup` alone, but a trampoline is known by its pc.
	 */
	uint64_t key = th_frame_native(frame->module->id, frame->lookup) |
		       (uint64_t)(frame->pc == frame->lookup) << 62;

	if (th_rule_find(key, &frame->rule))
		return;
	derive_rule(walk, frame);
	if (frame->rule.kind != TH_RULE_ROW)
		th_rule_store(key, &frame->rule);
}

/* False: pc is not code. */
static bool
describe(struct walk *walk, struct frame *ret)
{
	ret->pc = walk->cpu.value[TH_DWARF_PC];
	ret->lookup = ret->pc - !walk->cpu.exact;
	ret->module = find_module(walk, ret->lookup);
	if (ret->module && !th_load_relaxed(&ignores_rules)) {
		find_rule(walk, ret);
		return true;
	}
	/* Code that some other runtime made. */
	ret->rule.kind = signal_or_none(walk, ret->pc);
	return ret->pc % TH_CODE_ALIGNMENT == 0 && th_is_readable(&walk->code, ret->lookup, 1);
}

static uint64_t
frame_word(const struct frame *frame)
{
	/* The kernel enters a trampoline at its start; nothing called it. */
	uintptr_t address = frame->rule.kind == TH_RULE_SIGNAL ? frame->pc : frame->lookup;

	if (!frame->module)
		return th_frame_native(0, address);
	return th_frame_native(frame->module->id, address - frame->module->bias);
}

/* Leaving a frame */

static enum step
step_by_frame_pointer(struct walk *walk)
{
	struct th_cpu *cpu = &walk->cpu;
	uintptr_t fp = cpu->value[TH_DWARF_FRAME_POINTER];
	uintptr_t record[2]; /* the caller's frame pointer, the return address */

	if (!th_cpu_knows(cpu, TH_DWARF_FRAME_POINTER) || fp < cpu->value[TH_DWARF_SP])
		return fp ? STEP_FAILED : STEP_BASE;
	if (!th_read_word(&walk->memory, fp, &record[0]) ||
		!th_read_word(&walk->memory, fp + sizeof(fp), &record[1]))
		return STEP_FAILED;
	record[1] = th_cpu_strip(record[1]);
	if (!record[1])
		return STEP_BASE;
	if (!th_cpu_follows_call(record[1], &walk->code) &&
		!th_cpu_is_signal_return(record[1], &walk->code))
		return STEP_FAILED;
	/* What became of the other registers is not known. */
	cpu->known = 0;
	th_cpu_set(cpu, TH_DWARF_PC, record[1]);
	th_cpu_set(cpu, TH_DWARF_SP, th_cpu_sp_of_caller(fp, record[0]));
	th_cpu_set(cpu, TH_DWARF_FRAME_POINTER, record[0]);
	cpu->exact = false;
	th_add_relaxed(&frame_pointer_steps, 1);
	return STEP_DONE;
}

/*
 * Without information.  Interrupted code may be a stub without a frame, and following the frame
 * pointer would leave out what called it.
 */
static enum step
step_by_guess(struct walk *walk)
{
	struct th_cpu *cpu = &walk->cpu;

	if (!cpu->exact || !th_cpu_leave_leaf(cpu, &walk->memory, &walk->code))
		return step_by_frame_pointer(walk);
	cpu->known &= TH_DWARF_PRESERVED;
	cpu->exact = false;
	return STEP_DONE;
}

/*
 * A step that call frame information describes: pc is what the return column holds.  Inline, as it
 * runs for every frame.
 */
static inline __attribute__((always_inline)) enum step
finish_step(struct walk *walk, enum th_cfi_result result, bool is_signed, bool is_signal)
{
	struct th_cpu *cpu = &walk->cpu;
	uintptr_t pc;

	if (result == TH_CFI_BASE)
		return STEP_BASE;
	if (result == TH_CFI_FAILED || !th_cpu_knows(cpu, TH_DWARF_RETURN))
		return STEP_FAILED;
	pc = cpu->value[TH_DWARF_RETURN];
	th_cpu_set(cpu, TH_DWARF_PC, is_signed ? th_cpu_strip(pc) : pc);
	/* After a call the registers that calls may change are not known; after a signal all are. */
	if (!is_signal)
		cpu->known &= TH_DWARF_PRESERVED;
	cpu->exact = is_signal;
	return STEP_DONE;
}

static enum step
step_by_rule(struct walk *walk, const struct th_rule *rule)
{
	struct th_cpu *cpu = &walk->cpu;

	switch (rule->kind) {
	case TH_RULE_FRAME:
		return finish_step(
			walk, th_rule_apply(rule, cpu, &walk->memory), rule->is_signed, false);
	case TH_RULE_ROW:
		return finish_step(walk, th_cfi_apply(&walk->row, cpu, &walk->memory),
			walk->row.is_signed, walk->row.is_signal);
	case TH_RULE_SIGNAL:
		return th_cpu_leave_signal(cpu, &walk->memory) ? STEP_DONE : STEP_FAILED;
	case TH_RULE_BASE:
		return STEP_BASE;
	default:
		return step_by_guess(walk);
	}
}

/* Whether sp can be that of a caller, given the callee's. */
static bool
is_progress(struct walk *walk, uintptr_t callee_sp)
{
	uintptr_t sp = walk->cpu.value[TH_DWARF_SP];

	if (sp % sizeof(uintptr_t))
		return false;
	return sp > callee_sp || walk->descents++ < DESCENTS_MAX;
}

static enum step
leave(struct walk *walk, const struct frame *frame)
{
	uintptr_t callee_sp = walk->cpu.value[TH_DWARF_SP];
	enum step step = step_by_rule(walk, &frame->rule);

	if (step == STEP_DONE && !is_progress(walk, callee_sp))
		return STEP_FAILED;
	return step;
}

/* Interface */

static enum th_unwind_end
run(struct walk *walk, uint64_t *frames, size_t capacity, size_t *count_ret)
{
	const struct th_unwind_limits *limits = &walk->limits;
	struct frame frame;
	size_t count = 0;

	*count_ret = 0;
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		uintptr_t pc = walk->cpu.value[TH_DWARF_PC];
		enum step step;

		if (!pc)
			return TH_UNWIND_BASE;
		if (pc >= limits->code_low && pc < limits->code_high)
			return TH_UNWIND_CODE;
		if (!describe(walk, &frame))
			return TH_UNWIND_STOPPED;
		if (!frame.module || !frame.module->is_self) {
			if (count == capacity)
				return TH_UNWIND_FULL;
			frames[count++] = frame_word(&frame);
			*count_ret = count;
		}
		step = leave(walk, &frame);
		if (step != STEP_DONE)
			return step == STEP_BASE ? TH_UNWIND_BASE : TH_UNWIND_STOPPED;
	}
	return TH_UNWIND_STOPPED;
}

/* Between the form of the public interface and DWARF numbering. */
static void
load(struct th_cpu *cpu, const struct th_registers *registers)
{
	for (unsigned i = 0; i < TH_REGISTER_COUNT; i++)
		cpu->value[th_preserved_dwarf[i]] = registers->saved[i];
	cpu->value[TH_DWARF_SP] = registers->sp;
	cpu->value[TH_DWARF_PC] = registers->pc;
	cpu->known = TH_DWARF_PRESERVED;
	cpu->exact = registers->exact;
}

static void
store(const struct th_cpu *cpu, struct th_registers *ret)
{
	for (unsigned i = 0; i < TH_REGISTER_COUNT; i++)
		ret->saved[i] = cpu->value[th_preserved_dwarf[i]];
	ret->sp = cpu->value[TH_DWARF_SP];
	ret->pc = cpu->value[TH_DWARF_PC];
	ret->exact = cpu->exact;
}

size_t
th_unwind(struct th_registers *registers, const struct th_unwind_limits *limits,
	uint64_t *frames, size_t capacity, enum th_unwind_end *end_ret)
{
	struct walk walk;
	size_t count;

	load(&walk.cpu, registers);
	th_safe_read_init(&walk.memory, __builtin_frame_address(0));
	th_safe_read_init(&walk.code, NULL);
	walk.limits = limits ? *limits : (struct th_unwind_limits){0};
	memset(walk.recent, 0, sizeof(walk.recent));
	walk.next_recent = 0;
	walk.descents = 0;
	*end_ret = run(&walk, frames, capacity, &count);
	store(&walk.cpu, registers);
	return count;
}

void
th_unwind_use_rules(bool use)
{
	th_store_relaxed(&ignores_rules, !use);
}

uint64_t
th_unwind_frame_pointer_steps(void)
{
	return th_load_relaxed(&frame_pointer_steps);
}

bool
th_unwind_init(void)
{
	return th_module_init();
}
