/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the VM's exported tables of fields, constants and types.  Each table is described by
 * further symbols (base address, stride, offsets within an entry); an unknown name yields
 * UNKNOWN, 0 or NULL, never an error.
 */
#include "jvmti/vm/hotspot.h"

#include <stddef.h>
#include <string.h>

#include "jvmti/vm/vm_words.h"

#define UNKNOWN (-1)

/* A table of the VM: its base address and entry layout, each exported as a symbol. */
struct table {
	const char *base;
	uint64_t stride;
};

static uint64_t
read_word(const struct th_hotspot_source *source, const char *symbol)
{
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
find_table(const struct th_hotspot_source *source, const char *base, const char *stride)
{
	return (struct table){
		(const char *)(uintptr_t)read_word(source, base), read_word(source, stride)};
}

static const char *
text_at(const char *entry, uint64_t offset)
{
	return *(const char *const *)(const void *)(entry + offset);
}

/* Fields */

struct field_table {
	const struct th_hotspot_source *source;
	struct table table;
	uint64_t type_name;
	uint64_t field_name;
	uint64_t is_static;
	uint64_t offset;
	uint64_t address;
};

static struct field_table
find_fields(const struct th_hotspot_source *source)
{
	return (struct field_table){
		.source = source,
		.table = find_table(
			source, "gHotSpotVMStructs", "gHotSpotVMStructEntryArrayStride"),
		.type_name = read_word(source, "gHotSpotVMStructEntryTypeNameOffset"),
		.field_name = read_word(source, "gHotSpotVMStructEntryFieldNameOffset"),
		.is_static = read_word(source, "gHotSpotVMStructEntryIsStaticOffset"),
		.offset = read_word(source, "gHotSpotVMStructEntryOffsetOffset"),
		.address = read_word(source, "gHotSpotVMStructEntryAddressOffset"),
	};
}

static const char *
find_field(const struct field_table *fields, const char *type, const char *name)
{
	const char *entry = fields->table.base;

	for (; text_at(entry, fields->type_name); entry += fields->table.stride)
		if (!strcmp(text_at(entry, fields->type_name), type) &&
			!strcmp(text_at(entry, fields->field_name), name))
			return entry;
	return NULL;
}

/* As find_field(), of a name that the VM should have. */
static const char *
need_field(const struct field_table *fields, const char *type, const char *name)
{
	const char *entry = find_field(fields, type, name);

	if (!entry)
		fields->source->miss(type, name);
	return entry;
}

/* The type that has the field: its name today, or that of older releases. */
static const char *
type_with(const struct field_table *fields, const char *today, const char *older,
	const char *name)
{
	return !find_field(fields, today, name) && find_field(fields, older, name) ? older
										   : today;
}

static int64_t
field_offset(const struct field_table *fields, const char *type, const char *name)
{
	const char *entry = need_field(fields, type, name);

	return entry ? *(const int64_t *)(const void *)(entry + fields->offset) : UNKNOWN;
}

/* A field that older releases lack. */
static int64_t
newer_offset(const struct field_table *fields, const char *type, const char *name)
{
	return find_field(fields, type, name) ? field_offset(fields, type, name) : UNKNOWN;
}

/* A field of a field: unknown when either is. */
static int64_t
inner_offset(int64_t outer, int64_t inner)
{
	return outer == UNKNOWN || inner == UNKNOWN ? UNKNOWN : outer + inner;
}

/* A static field of pointer size; NULL when unknown. */
static const uintptr_t *
static_field(const struct field_table *fields, const char *type, const char *name)
{
	const char *entry = need_field(fields, type, name);

	return entry ? *(const uintptr_t *const *)(const void *)(entry + fields->address)
		     : NULL;
}

/* For JDK 11 and for later ones; all such arrays have the same layout. */
static void
read_code_heaps(struct th_hotspot *hotspot, const struct field_table *fields)
{
	int64_t memory = field_offset(fields, "CodeHeap", "_memory");

	hotspot->array_length = field_offset(fields,
		type_with(fields, "GrowableArrayBase", "GenericGrowableArray", "_len"), "_len");
	hotspot->array_data = field_offset(fields, "GrowableArray<int>", "_data");
	hotspot->code_heap_start = inner_offset(
		memory, field_offset(fields, "VirtualSpace", "_low_boundary"));
	hotspot->code_heap_end = inner_offset(
		memory, field_offset(fields, "VirtualSpace", "_high_boundary"));
	hotspot->code_heap_low = inner_offset(
		memory, field_offset(fields, "VirtualSpace", "_low"));
	hotspot->code_heap_high = inner_offset(
		memory, field_offset(fields, "VirtualSpace", "_high"));
	hotspot->code_heaps = static_field(fields, "CodeCache", "_heaps");
}

/* G1's regions; "Heap" in their names up to JDK 22. */
static void
read_g1(struct th_hotspot *hotspot, const struct field_table *fields)
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
		source, "gHotSpotVMTypes", "gHotSpotVMTypeEntryArrayStride");
	uint64_t name_at = read_word(source, "gHotSpotVMTypeEntryTypeNameOffset");
	uint64_t size_at = read_word(source, "gHotSpotVMTypeEntrySizeOffset");
	const char *entry = types.base;

	for (; entry && types.stride && text_at(entry, name_at); entry += types.stride)
		if (!strcmp(text_at(entry, name_at), name))
			return *(const uint64_t *)(const void *)(entry + size_at);
	source->miss(name, "size");
	return 0;
}

static void
read_flags(struct th_hotspot *hotspot, const struct field_table *fields,
	const struct th_hotspot_source *source)
{
	const uintptr_t *flags = static_field(fields, "JVMFlag", "flags");
	const uintptr_t *count = static_field(fields, "JVMFlag", "numFlags");

	hotspot->flag_name = field_offset(fields, "JVMFlag", "_name");
	hotspot->flag_address = field_offset(fields, "JVMFlag", "_addr");
	hotspot->flag_bytes = type_bytes(source, "JVMFlag");
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
block_header_bytes(const struct field_table *fields)
{
	int64_t used = field_offset(fields, "HeapBlock::Header", "_used");

	return used == UNKNOWN ? UNKNOWN : used / 8 * 8 + 8;
}

static void
read_code_blobs(struct th_hotspot *hotspot, const struct field_table *fields)
{
	hotspot->code_heap_segments = inner_offset(field_offset(fields, "CodeHeap", "_segmap"),
		field_offset(fields, "VirtualSpace", "_low"));
	hotspot->code_heap_log2 = field_offset(fields, "CodeHeap", "_log2_segment_size");
	hotspot->code_block_header = block_header_bytes(fields);
	hotspot->blob_name = field_offset(fields, "CodeBlob", "_name");
	hotspot->blob_frame_size = field_offset(fields, "CodeBlob", "_frame_size");
	/* Of CompiledMethod up to JDK 22. */
	hotspot->code_method = field_offset(
		fields, type_with(fields, "nmethod", "CompiledMethod", "_method"), "_method");
	hotspot->code_compile_id = field_offset(fields, "nmethod", "_compile_id");
	hotspot->code_stub_offset = field_offset(fields, "nmethod", "_stub_offset");
}

/* Where the methods of a compiled frame are described; moved in 23 and 25. */
static void
read_scopes(struct th_hotspot *hotspot, const struct field_table *fields)
{
	hotspot->blob_bytes = field_offset(fields, "CodeBlob", "_size");
	hotspot->blob_code = newer_offset(fields, "CodeBlob", "_code_begin");
	hotspot->blob_code_offset = newer_offset(fields, "CodeBlob", "_code_offset");
	hotspot->blob_data = newer_offset(fields, "CodeBlob", "_data_offset");
	hotspot->blob_mutable = newer_offset(fields, "CodeBlob", "_mutable_data");
	hotspot->blob_relocation_size = newer_offset(fields, "CodeBlob", "_relocation_size");
	hotspot->code_original_pc = field_offset(fields, "nmethod", "_orig_pc_offset");
	hotspot->code_immutable = newer_offset(fields, "nmethod", "_immutable_data");
	hotspot->code_pcs = field_offset(fields, "nmethod", "_scopes_pcs_offset");
	hotspot->code_scopes = newer_offset(fields, "CompiledMethod", "_scopes_data_begin");
	hotspot->code_scopes_offset = newer_offset(fields, "nmethod", "_scopes_data_offset");
	hotspot->code_metadata = newer_offset(fields, "nmethod", "_metadata_offset");
	hotspot->code_pcs_end = hotspot->code_immutable == UNKNOWN
					? newer_offset(
						  fields, "nmethod", "_dependencies_offset")
					: hotspot->code_scopes_offset;
}

static void
read_methods(struct th_hotspot *hotspot, const struct field_table *fields)
{
	hotspot->method_fixed = field_offset(fields, "Method", "_constMethod");
	hotspot->method_access = field_offset(fields, "Method", "_access_flags");
	hotspot->fixed_bytes = (int64_t)type_bytes(fields->source, "ConstMethod");
	hotspot->fixed_pool = field_offset(fields, "ConstMethod", "_constants");
	hotspot->fixed_flags = newer_offset(fields, "ConstMethod", "_flags._flags");
	if (hotspot->fixed_flags == UNKNOWN)
		hotspot->fixed_flags = field_offset(fields, "ConstMethod", "_flags");
	hotspot->fixed_code_bytes = field_offset(fields, "ConstMethod", "_code_size");
	hotspot->fixed_name = field_offset(fields, "ConstMethod", "_name_index");
	hotspot->fixed_signature = field_offset(fields, "ConstMethod", "_signature_index");
	hotspot->pool_bytes = (int64_t)type_bytes(fields->source, "ConstantPool");
	hotspot->pool_length = field_offset(fields, "ConstantPool", "_length");
	hotspot->pool_holder = field_offset(fields, "ConstantPool", "_pool_holder");
	hotspot->pool_source = newer_offset(fields, "ConstantPool", "_source_file_name_index");
	hotspot->class_source = newer_offset(
		fields, "InstanceKlass", "_source_file_name_index");
	hotspot->class_name = field_offset(fields, "Klass", "_name");
	hotspot->symbol_length = field_offset(fields, "Symbol", "_length");
	hotspot->symbol_text = field_offset(fields, "Symbol", "_body");
}

static void
read_threads(struct th_hotspot *hotspot, const struct field_table *fields)
{
	hotspot->stack_base = field_offset(fields,
		type_with(fields, "JavaThread", "Thread", "_stack_base"), "_stack_base");
	hotspot->stack_size = field_offset(fields,
		type_with(fields, "JavaThread", "Thread", "_stack_size"), "_stack_size");
	hotspot->thread_object = field_offset(fields, "JavaThread", "_threadObj");
	hotspot->virtual_thread = newer_offset(fields, "JavaThread", "_vthread");
	hotspot->unpacking = field_offset(fields, "JavaThread", "_vframe_array_head");
}

static void
read_fields(struct th_hotspot *hotspot, const struct field_table *fields)
{
	int64_t anchor = field_offset(fields, "JavaThread", "_anchor");
	int64_t sp = field_offset(fields, "JavaFrameAnchor", "_last_Java_sp");
	int64_t tlab = field_offset(fields, "Thread", "_tlab");
	int64_t wrapper = field_offset(fields, "JavaCallWrapper", "_anchor");
	int64_t reserved = field_offset(fields, "CollectedHeap", "_reserved");

	hotspot->thread_state = field_offset(fields, "JavaThread", "_thread_state");
	hotspot->last_java_sp = inner_offset(anchor, sp);
	hotspot->last_java_pc = inner_offset(
		anchor, field_offset(fields, "JavaFrameAnchor", "_last_Java_pc"));
	hotspot->last_java_fp = inner_offset(
		anchor, field_offset(fields, "JavaFrameAnchor", "_last_Java_fp"));
	hotspot->allocated_bytes = field_offset(fields, "Thread", "_allocated_bytes");
	hotspot->tlab_start = inner_offset(
		tlab, field_offset(fields, "ThreadLocalAllocBuffer", "_start"));
	hotspot->tlab_top = inner_offset(
		tlab, field_offset(fields, "ThreadLocalAllocBuffer", "_top"));
	hotspot->tlab_end = inner_offset(
		tlab, field_offset(fields, "ThreadLocalAllocBuffer", "_end"));
	hotspot->tlab_desired_size = inner_offset(
		tlab, field_offset(fields, "ThreadLocalAllocBuffer", "_desired_size"));
	hotspot->tlab_refill_waste_limit = inner_offset(
		tlab, field_offset(fields, "ThreadLocalAllocBuffer", "_refill_waste_limit"));
	hotspot->wrapper_last_java_sp = inner_offset(wrapper, sp);
	hotspot->heap_start = inner_offset(
		reserved, field_offset(fields, "MemRegion", "_start"));
	hotspot->heap_words = inner_offset(
		reserved, field_offset(fields, "MemRegion", "_word_size"));
	hotspot->collected_heap = static_field(fields, "Universe", "_collectedHeap");
	hotspot->total_collections = field_offset(
		fields, "CollectedHeap", "_total_collections");
	hotspot->perf_data = static_field(fields, "PerfMemory", "_start");
	hotspot->code_low = static_field(fields, "CodeCache", "_low_bound");
	hotspot->code_high = static_field(fields, "CodeCache", "_high_bound");
	hotspot->interpreter_code = static_field(fields, "AbstractInterpreter", "_code");
	hotspot->queue_start = field_offset(fields, "StubQueue", "_stub_buffer");
	hotspot->queue_bytes = field_offset(fields, "StubQueue", "_buffer_limit");
	hotspot->call_stub_return = static_field(
		fields, "StubRoutines", "_call_stub_return_address");
	hotspot->global_references = static_field(fields, "JNIHandles", "_global_handles");
	hotspot->weak_references = static_field(fields, "JNIHandles", "_weak_global_handles");
	hotspot->export_flag = (const void *)static_field(
		fields, "JvmtiExport", "_can_post_on_exceptions");
	read_threads(hotspot, fields);
	read_code_heaps(hotspot, fields);
	read_g1(hotspot, fields);
	read_code_blobs(hotspot, fields);
	read_scopes(hotspot, fields);
	read_methods(hotspot, fields);
}

/* Constants */

struct constant_table {
	const struct th_hotspot_source *source;
	struct table table;
	uint64_t name;
	uint64_t value;
};

static int64_t
find_constant(const struct constant_table *constants, const char *name)
{
	const char *entry = constants->table.base;

	for (; text_at(entry, constants->name); entry += constants->table.stride)
		if (!strcmp(text_at(entry, constants->name), name))
			return *(const int32_t *)(const void *)(entry + constants->value);
	return UNKNOWN;
}

static int64_t
need_constant(const struct constant_table *constants, const char *name)
{
	int64_t value = find_constant(constants, name);

	if (value == UNKNOWN)
		constants->source->miss(NULL, name);
	return value;
}

static uint32_t
bit_of(int64_t state)
{
	return state >= 0 && state < 32 ? UINT32_C(1) << state : 0;
}

/* The states with those names, as bits; not all releases have each. */
static uint32_t
find_states(const struct constant_table *constants, const char *const *names)
{
	uint32_t states = 0;

	for (; *names; names++)
		states |= bit_of(find_constant(constants, *names));
	return states;
}

/* 28 has no states between two others. */
static void
read_states(struct th_hotspot *hotspot, const struct constant_table *constants)
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
find_lines_flag(const struct constant_table *constants)
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
find_entry_frame_wrapper(const struct constant_table *constants)
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
	const struct constant_table constants = {
		.source = source,
		.table = find_table(source, "gHotSpotVMIntConstants",
			"gHotSpotVMIntConstantEntryArrayStride"),
		.name = read_word(source, "gHotSpotVMIntConstantEntryNameOffset"),
		.value = read_word(source, "gHotSpotVMIntConstantEntryValueOffset"),
	};

	if (!constants.table.base || !constants.table.stride)
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
	struct field_table fields = find_fields(source);

	hotspot->env = UNKNOWN;
	if (!fields.table.base || !fields.table.stride || !read_constants(hotspot, source))
		return false;
	read_fields(hotspot, &fields);
	read_flags(hotspot, &fields, source);
	return true;
}

/* java.lang.Thread.eetop holds the address of the JavaThread. */
bool
th_hotspot_find_env(struct th_hotspot *hotspot, JNIEnv *env)
{
	jclass type = (*env)->FindClass(env, "java/lang/Thread");
	jmethodID current = type ? (*env)->GetStaticMethodID(
					   env, type, "currentThread", "()Ljava/lang/Thread;")
				 : NULL;
	jfieldID eetop = type ? (*env)->GetFieldID(env, type, "eetop", "J") : NULL;

	if (current && eetop) {
		jobject thread = (*env)->CallStaticObjectMethod(env, type, current);
		bool failed = (*env)->ExceptionCheck(env) || !thread;
		jlong address = failed ? 0 : (*env)->GetLongField(env, thread, eetop);

		if (address)
			hotspot->env = (int64_t)((char *)env - (char *)(intptr_t)address);
		(*env)->DeleteLocalRef(env, thread);
	}
	(*env)->ExceptionClear(env);
	(*env)->DeleteLocalRef(env, type);
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
th_hotspot_has_seams(const struct th_hotspot *hotspot)
{
	return th_hotspot_has_frames(hotspot) && hotspot->wrapper_last_java_sp > 0 &&
	       hotspot->stack_base > 0 && hotspot->entry_frame_wrapper != UNKNOWN &&
	       hotspot->call_stub_return;
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
	return th_hotspot_has_stubs(hotspot) && th_hotspot_has_seams(hotspot) &&
	       hotspot->unpacking > 0 && hotspot->code_method > 0 && hotspot->stack_size > 0 &&
	       hotspot->code_compile_id > 0 && hotspot->code_stub_offset > 0 &&
	       has_scopes(hotspot) && has_methods(hotspot);
}

int32_t
th_hotspot_state(const struct th_hotspot *hotspot, const char *thread)
{
	return *(const volatile int32_t *)(const void *)(thread + hotspot->thread_state);
}

bool
th_hotspot_is_virtual(const struct th_hotspot *hotspot, uintptr_t thread, bool otherwise)
{
	if (hotspot->virtual_thread <= 0 || hotspot->thread_object <= 0)
		return otherwise;
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
