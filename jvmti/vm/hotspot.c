/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the VM's exported tables of fields, constants and types.  Each table is described by
 * further symbols (base address, stride, offsets within an entry); an unknown name yields
 * UNKNOWN, 0 or NULL, never an error.
 */
#include "jvmti/vm/hotspot.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "jvmti/vm/vm_exports.h"
#include "unify/base/safe_read.h"

#define UNKNOWN (-1)
/* As a preview. */
#define FIRST_WITH_VIRTUAL_THREADS 19

/* A table of the VM, and the offsets of what its entries have, each exported as a symbol. */
struct table {
	const struct th_hotspot_source *source;
	const char *base; /* NULL: there is none */
	uint64_t stride;
	uint64_t type; /* of fields: that which has it */
	uint64_t name;
	uint64_t value;
};

/* "gHotSpotVM" and both parts. */
static uint64_t
read_word(const struct th_hotspot_source *source, const char *table, const char *rest)
{
	char symbol[64];

	snprintf(symbol, sizeof(symbol), "gHotSpotVM%s%s", table, rest);
	const uint64_t *address = source->find_symbol(source->libjvm, symbol);
	return address ? *address : 0;
}

void *
th_hotspot_symbol(const struct th_hotspot_source *source, const char *name)
{
	void *found = source->find_symbol(source->libjvm, name);

	if (!found)
		source->miss(NULL, name);
	return found;
}

static struct table
find_table(const struct th_hotspot_source *source, const char *name, const char *entry_name,
	const char *entry_value)
{
	struct table table = {
		.source = source,
		.base = (const char *)(uintptr_t)read_word(source, name, "s"),
		.stride = read_word(source, name, "EntryArrayStride"),
		.name = read_word(source, name, entry_name),
		.value = read_word(source, name, entry_value),
	};

	if (!table.stride)
		table.base = NULL;
	return table;
}

static const char *
text_at(const char *entry, uint64_t offset)
{
	return *(const char *const *)(const void *)(entry + offset);
}

/* `type`: NULL if entries have none. */
static const char *
find_entry(const struct table *table, const char *type, const char *name)
{
	const char *entry = table->base;

	for (; entry && text_at(entry, table->name); entry += table->stride)
		if (!strcmp(text_at(entry, table->name), name) &&
			(!type || !strcmp(text_at(entry, table->type), type)))
			return entry;
	return NULL;
}

/* Of a name that the VM should have. */
static const char *
need_entry(const struct table *table, const char *type, const char *name)
{
	const char *entry = find_entry(table, type, name);

	if (!entry)
		table->source->miss(type, name);
	return entry;
}

/* Fields */

/* The type that has the field: its name today, or that of older releases. */
static const char *
type_with(const struct table *fields, const char *today, const char *older, const char *name)
{
	return !find_entry(fields, today, name) && find_entry(fields, older, name) ? older
										   : today;
}

static int64_t
field_offset(const struct table *fields, const char *type, const char *name)
{
	const char *entry = need_entry(fields, type, name);

	return entry ? *(const int64_t *)(const void *)(entry + fields->value) : UNKNOWN;
}

/* A field that older releases lack. */
static int64_t
newer_offset(const struct table *fields, const char *type, const char *name)
{
	return find_entry(fields, type, name) ? field_offset(fields, type, name) : UNKNOWN;
}

/* A field of a field: unknown when either is. */
static int64_t
inner_offset(int64_t outer, int64_t inner)
{
	return outer == UNKNOWN || inner == UNKNOWN ? UNKNOWN : outer + inner;
}

/* A static field of pointer size; NULL when unknown. */
static const uintptr_t *
static_field(const struct table *fields, const char *type, const char *name)
{
	const char *entry = need_entry(fields, type, name);
	uint64_t address = read_word(fields->source, "Struct", "EntryAddressOffset");

	return entry ? *(const uintptr_t *const *)(const void *)(entry + address) : NULL;
}

/* G1's regions; "Heap" in their names up to JDK 22. */
static void
read_g1(struct th_hotspot *hotspot, const struct table *fields)
{
	const char *region = type_with(fields, "G1HeapRegion", "HeapRegion", "_type");
	int64_t table = inner_offset(field_offset(fields, "G1CollectedHeap", "_hrm"),
		field_offset(fields,
			type_with(
				fields, "G1HeapRegionManager", "HeapRegionManager", "_regions"),
			"_regions"));

	hotspot->g1_regions = inner_offset(
		table, field_offset(fields, "G1HeapRegionTable", "_biased_base"));
	hotspot->g1_shift = inner_offset(
		table, field_offset(fields, "G1HeapRegionTable", "_shift_by"));
	hotspot->g1_tag = inner_offset(field_offset(fields, region, "_type"),
		field_offset(fields,
			type_with(fields, "G1HeapRegionType", "HeapRegionType", "_tag"),
			"_tag"));
	hotspot->g1_region_bytes = static_field(fields, region, "GrainBytes");
}

/* The size of a type of the VM; 0 when unknown. */
static uint64_t
type_bytes(const struct th_hotspot_source *source, const char *name)
{
	struct table types = find_table(
		source, "Type", "EntryTypeNameOffset", "EntrySizeOffset");
	const char *entry = find_entry(&types, NULL, name);

	if (!entry)
		source->miss(name, "size");
	return entry ? *(const uint64_t *)(const void *)(entry + types.value) : 0;
}

static void
read_flags(struct th_hotspot *hotspot, const struct table *fields)
{
	const uintptr_t *flags = static_field(fields, "JVMFlag", "flags");
	const uintptr_t *count = static_field(fields, "JVMFlag", "numFlags");

	hotspot->flag_bytes = type_bytes(fields->source, "JVMFlag");
	if (!flags || !count || hotspot->flag_name == UNKNOWN ||
		hotspot->flag_address == UNKNOWN || !hotspot->flag_bytes)
		return;
	hotspot->flags = (const char *)*flags;
	hotspot->flag_count = *count;
}

const void *
th_hotspot_flag(const struct th_hotspot *hotspot, const char *name)
{
	const char *flag = hotspot->flags;

	for (uint64_t i = 0; flag && i < hotspot->flag_count;
		i++, flag += hotspot->flag_bytes) {
		const char *found = text_at(flag, (uint64_t)hotspot->flag_name);

		if (found && !strcmp(found, name))
			return text_at(flag, (uint64_t)hotspot->flag_address);
	}
	return NULL;
}

/* Bytes of a HeapBlock, whose last member is a bool: 16 up to JDK 21, then 8. */
static int64_t
block_header_bytes(const struct table *fields)
{
	int64_t used = field_offset(fields, "HeapBlock::Header", "_used");

	return used == UNKNOWN ? UNKNOWN : used / 8 * 8 + 8;
}

static void
read_fields(struct th_hotspot *hotspot, const struct table *fields)
{
#define F(member, type, name) hotspot->member = field_offset(fields, type, name);
#define N(member, type, name) hotspot->member = newer_offset(fields, type, name);
#define E(member, today, older, name) \
	hotspot->member = field_offset(fields, type_with(fields, today, older, name), name);
#define I(member, outer, name, inner, inner_name) \
	hotspot->member = inner_offset(           \
		field_offset(fields, outer, name), field_offset(fields, inner, inner_name));
	TH_HOTSPOT_FIELDS(F, N, E, I)
#undef F
#undef N
#undef E
#undef I
#define A(member, type, name) hotspot->member = static_field(fields, type, name);
	TH_HOTSPOT_STATIC_FIELDS(A)
#undef A
	read_g1(hotspot, fields);
	hotspot->code_block_header = block_header_bytes(fields);
	hotspot->code_pcs_end = hotspot->code_immutable == UNKNOWN
					? newer_offset(
						  fields, "nmethod", "_dependencies_offset")
					: hotspot->code_scopes_offset;
	hotspot->fixed_bytes = (int64_t)type_bytes(fields->source, "ConstMethod");
	hotspot->fixed_flags = newer_offset(fields, "ConstMethod", "_flags._flags");
	if (hotspot->fixed_flags == UNKNOWN)
		hotspot->fixed_flags = field_offset(fields, "ConstMethod", "_flags");
	hotspot->pool_bytes = (int64_t)type_bytes(fields->source, "ConstantPool");
	read_flags(hotspot, fields);
}

/* Constants */

static int64_t
value_at(const struct table *constants, const char *entry)
{
	return entry ? *(const int32_t *)(const void *)(entry + constants->value) : UNKNOWN;
}

static int64_t
find_constant(const struct table *constants, const char *name)
{
	return value_at(constants, find_entry(constants, NULL, name));
}

static int64_t
need_constant(const struct table *constants, const char *name)
{
	return value_at(constants, need_entry(constants, NULL, name));
}

static uint32_t
bit_of(int64_t state)
{
	return state >= 0 && state < 32 ? UINT32_C(1) << state : 0;
}

/* The states with those names, as bits; not all releases have each. */
static uint32_t
find_states(const struct table *constants, const char *const *names)
{
	uint32_t states = 0;

	for (; *names; names++)
		states |= bit_of(find_constant(constants, *names));
	return states;
}

/* 28 has no states between two others. */
static void
read_states(struct th_hotspot *hotspot, const struct table *constants)
{
	static const char *const others[] = {"_thread_blocked", "_thread_in_vm_trans",
		"_thread_in_native_trans", "_thread_blocked_trans", NULL};
	int64_t in_vm = need_constant(constants, "_thread_in_vm");

	hotspot->state_in_native = need_constant(constants, "_thread_in_native");
	hotspot->state_in_java = need_constant(constants, "_thread_in_Java");
	hotspot->walkable_states = bit_of(in_vm) | bit_of(hotspot->state_in_native) |
				   find_states(constants, others);
}

/* In ConstMethodFlags from 21 on. */
static uint32_t
find_lines_flag(const struct table *constants)
{
	int64_t flag = find_constant(constants, "ConstMethodFlags::_misc_has_linenumber_table");

	if (flag == UNKNOWN)
		flag = need_constant(constants, "ConstMethod::_has_linenumber_table");
	return flag == UNKNOWN ? 0 : (uint32_t)flag;
}

/*
 * vmStructs_aarch64.hpp does not export it.  The value of frame_aarch64.hpp is that of all releases since
 * 8; the wrapper at that place is checked on every stack.
 */
static int64_t
find_entry_frame_wrapper(const struct table *constants)
{
#if defined(__aarch64__)
	(void)constants;
	return -8;
#else
	return need_constant(constants, "frame::entry_frame_call_wrapper_offset");
#endif
}

static bool
read_constants(struct th_hotspot *hotspot, const struct th_hotspot_source *source)
{
	const struct table constants = find_table(
		source, "IntConstant", "EntryNameOffset", "EntryValueOffset");

	if (!constants.base)
		return false;
	read_states(hotspot, &constants);
	hotspot->entry_frame_wrapper = find_entry_frame_wrapper(&constants);
	hotspot->fixed_has_lines = find_lines_flag(&constants);
	hotspot->g1_starts_humongous = find_constant(
		&constants, "HeapRegionType::StartsHumongousTag");
	if (hotspot->g1_starts_humongous == UNKNOWN)
		hotspot->g1_starts_humongous = need_constant(
			&constants, "G1HeapRegionType::StartsHumongousTag");
	return true;
}

bool
th_hotspot_read(struct th_hotspot *hotspot, const struct th_hotspot_source *source)
{
	struct table fields = find_table(
		source, "Struct", "EntryFieldNameOffset", "EntryOffsetOffset");

	fields.type = read_word(source, "Struct", "EntryTypeNameOffset");
	hotspot->env = UNKNOWN;
	if (!fields.base || !read_constants(hotspot, source))
		return false;
	read_fields(hotspot, &fields);
	return true;
}

/* java.lang.Thread.eetop holds the address of the JavaThread. */
bool
th_hotspot_find_env(struct th_hotspot *hotspot, JNIEnv *env, jthread thread)
{
	jfieldID eetop = th_vm_field(env, "java/lang/Thread", "eetop", "J");
	jlong address = eetop ? (*env)->GetLongField(env, thread, eetop) : 0;

	if (address)
		hotspot->env = (int64_t)((char *)env - (char *)(intptr_t)address);
	/* A JavaThread has a size of some kilobytes; a larger offset is not plausible. */
	return hotspot->env > 0 && hotspot->env < 16384;
}

bool
th_hotspot_has_frames(const struct th_hotspot *hotspot)
{
	return hotspot->env > 0 && hotspot->thread_state > 0 && hotspot->last_java_sp > 0 &&
	       hotspot->state_in_native > 0 && hotspot->state_in_java > 0 &&
	       hotspot->walkable_states && hotspot->code_low && hotspot->code_high;
}

bool
th_hotspot_has_code_heaps(const struct th_hotspot *hotspot)
{
	return hotspot->array_length >= 0 && hotspot->array_data >= 0 &&
	       hotspot->code_heap_start >= 0 && hotspot->code_heap_end >= 0 &&
	       hotspot->code_heap_low >= 0 && hotspot->code_heap_high >= 0 &&
	       hotspot->code_heaps && *hotspot->code_heaps;
}

bool
th_hotspot_has_stubs(const struct th_hotspot *hotspot)
{
	return th_hotspot_has_code_heaps(hotspot) && hotspot->code_heap_segments >= 0 &&
	       hotspot->code_heap_log2 >= 0 && hotspot->code_block_header > 0 &&
	       hotspot->blob_name >= 0 && hotspot->blob_frame_size >= 0 &&
	       hotspot->last_java_pc > 0 && hotspot->last_java_fp > 0;
}

static bool
has_scopes(const struct th_hotspot *hotspot)
{
	return hotspot->blob_bytes >= 0 &&
	       (hotspot->blob_code >= 0 || hotspot->blob_code_offset >= 0) &&
	       hotspot->code_original_pc > 0 && hotspot->code_pcs > 0 &&
	       hotspot->code_pcs_end > 0 &&
	       (hotspot->code_scopes > 0 ||
		       (hotspot->code_immutable > 0 && hotspot->code_scopes_offset > 0)) &&
	       (hotspot->code_metadata > 0 ||
		       (hotspot->blob_mutable >= 0 && hotspot->blob_relocation_size >= 0));
}

static bool
has_methods(const struct th_hotspot *hotspot)
{
	return hotspot->method_fixed >= 0 && hotspot->method_access >= 0 &&
	       hotspot->fixed_bytes > 0 && hotspot->fixed_pool >= 0 &&
	       hotspot->fixed_flags >= 0 && hotspot->fixed_code_bytes >= 0 &&
	       hotspot->fixed_name >= 0 && hotspot->fixed_signature >= 0 &&
	       hotspot->pool_bytes > 0 && hotspot->pool_length >= 0 &&
	       hotspot->pool_holder >= 0 && hotspot->class_name >= 0 &&
	       hotspot->symbol_length >= 0 && hotspot->symbol_text >= 0;
}

bool
th_hotspot_has_java_frames(const struct th_hotspot *hotspot)
{
	return th_hotspot_has_stubs(hotspot) && th_hotspot_has_frames(hotspot) &&
	       hotspot->wrapper_last_java_sp > 0 && hotspot->entry_frame_wrapper != UNKNOWN &&
	       hotspot->call_stub_return && hotspot->stack_base > 0 && hotspot->unpacking > 0 &&
	       hotspot->code_method > 0 && hotspot->stack_size > 0 &&
	       hotspot->code_compile_id > 0 && hotspot->code_stub_offset > 0 &&
	       has_scopes(hotspot) && has_methods(hotspot);
}

int32_t
th_hotspot_state(const struct th_hotspot *hotspot, const char *thread)
{
	return *(const volatile int32_t *)(const void *)(thread + hotspot->thread_state);
}

bool
th_hotspot_is_virtual(const struct th_hotspot *hotspot, uintptr_t thread)
{
	if (hotspot->virtual_thread <= 0 || hotspot->thread_object <= 0)
		return hotspot->release >= FIRST_WITH_VIRTUAL_THREADS;
	uintptr_t carrier = th_field_at(thread, hotspot->thread_object);
	uintptr_t current = th_field_at(thread, hotspot->virtual_thread);

	return !carrier || !current || th_word_at(carrier) != th_word_at(current);
}

void
th_hotspot_interpreter(
	const struct th_hotspot *hotspot, uintptr_t *low_ret, uintptr_t *bytes_ret)
{
	const uintptr_t *code = hotspot->interpreter_code;
	const char *queue = code ? (const char *)*code : NULL;

	*low_ret = 0;
	*bytes_ret = 0;
	if (!queue || hotspot->queue_start < 0 || hotspot->queue_bytes < 0)
		return;
	*low_ret = *(const uintptr_t *)(const void *)(queue + hotspot->queue_start);
	*bytes_ret = *(const uint32_t *)(const void *)(queue + hotspot->queue_bytes);
}

bool
th_hotspot_has_bytes(const struct th_hotspot *hotspot)
{
	return hotspot->env > 0 && hotspot->allocated_bytes > 0 && hotspot->tlab_start > 0 &&
	       hotspot->tlab_top > 0;
}

/* Checks: all reads are checked, since with a wrong offset they may go to any address. */

/* Larger than any distance from our frame to the base of a stack. */
#define STACK_MAX ((uintptr_t)4 << 30)
/* More than any thread allocates: 60 GB/s for half a year. */
#define BYTES_MAX (UINT64_C(1) << 60)

static bool
read_word_of(const char *thread, int64_t offset, uintptr_t *ret)
{
	struct th_safe_read memory = {0};

	return th_read_word(&memory, (uintptr_t)(thread + offset), ret);
}

static bool
is_in_native(const struct th_hotspot *hotspot, const char *thread)
{
	struct th_safe_read memory = {0};
	int32_t state;

	return th_read_bytes(&memory, (uintptr_t)(thread + hotspot->thread_state), &state,
		       sizeof(state)) &&
	       state == hotspot->state_in_native;
}

static bool
holds_call_stub(const struct th_hotspot *hotspot)
{
	uintptr_t low = *hotspot->code_low;
	uintptr_t high = *hotspot->code_high;
	uintptr_t stub = *hotspot->call_stub_return;

	return low < high && stub >= low && stub < high;
}

static bool
is_on_stack(const struct th_hotspot *hotspot, const char *thread)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	uintptr_t base;

	return read_word_of(thread, hotspot->stack_base, &base) && here < base &&
	       base - here < STACK_MAX;
}

static bool
has_fair_bytes(const struct th_hotspot *hotspot, const char *thread)
{
	uintptr_t start, top, bytes;

	return read_word_of(thread, hotspot->tlab_start, &start) &&
	       read_word_of(thread, hotspot->tlab_top, &top) &&
	       read_word_of(thread, hotspot->allocated_bytes, &bytes) && start <= top &&
	       top - start < BYTES_MAX && bytes < BYTES_MAX;
}

void
th_hotspot_check(struct th_hotspot *hotspot, JNIEnv *env, void (*report)(const char *fault))
{
	const char *thread = th_hotspot_thread(hotspot, env);

	if (th_hotspot_has_frames(hotspot) && !is_in_native(hotspot, thread)) {
		hotspot->thread_state = UNKNOWN;
		report("the VM's exported offset of thread states is wrong: stacks carry no "
		       "Java frames");
	}
	if (hotspot->code_low && hotspot->code_high && hotspot->call_stub_return &&
		!holds_call_stub(hotspot)) {
		hotspot->code_low = NULL;
		hotspot->call_stub_return = NULL;
		report("the VM's exported address of the code cache is wrong: stacks carry no "
		       "Java frames");
	}
	if (hotspot->env > 0 && hotspot->stack_base > 0 && !is_on_stack(hotspot, thread)) {
		hotspot->stack_base = UNKNOWN;
		report("the VM's exported offset of stack bounds is wrong: stacks carry no "
		       "Java frames");
	}
	if (th_hotspot_has_bytes(hotspot) && !has_fair_bytes(hotspot, thread)) {
		hotspot->allocated_bytes = UNKNOWN;
		report("the VM's exported offset of byte counts is wrong: Java totals are "
		       "estimates");
	}
}
