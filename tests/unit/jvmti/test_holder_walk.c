/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk, with a stand-in for the VM that reports references as HotSpot does: the address of an object
 * is two words before its tag, that of a referrer one word before; or, as from JDK 28 on, pointers to
 * descriptions are two words before both.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "jvmti/holders/holder_walk.h"
#include "unify/shared/clock.h"

#define MEMORY (16 << 20)
#define LONG (100 * (uint64_t)TH_NS_PER_S)
#define REFERENCES_MAX 16

/* Tags: classes first. */
enum { NONE, CLASS_APP, CLASS_WEAK, CLASS_BYTES, SAMPLE, OTHER_SAMPLE, OWN_THREAD, TAGS };
enum { REFERENT = 3 };

struct object {
	uintptr_t address;
	jlong tag;
	jlong class;
};

static const struct object app = {0x100000, CLASS_APP, NONE};
static const struct object map = {0x100040, NONE, NONE};
static const struct object weak = {0x100080, NONE, CLASS_WEAK};
static const struct object bytes = {0x1000c0, NONE, CLASS_BYTES};
static const struct object sample = {0x100100, SAMPLE, NONE};
/* From 28 on a value inside of an object, see describe(). */
static const struct object other = {0x100148, OTHER_SAMPLE, NONE};
static const struct object weak_class = {0x100180, CLASS_WEAK, NONE};
static const struct object of_app = {0x1001c0, NONE, CLASS_APP};

/* What the VM reports; `from` NULL: a root. */
struct reference {
	jvmtiHeapReferenceKind kind;
	const struct object *from;
	const struct object *to;
	jint index;   /* of a field */
	jlong thread; /* of a local variable */
};

static struct {
	struct reference references[REFERENCES_MAX];
	size_t count;
	unsigned times;  /* reports all so often */
	uintptr_t shift; /* added to addresses after the first time */
	jint answers[REFERENCES_MAX];
	bool is_aborted;
	bool describes; /* as JDK 28 */
	jlong *bare;    /* not NULL: where tags are passed, without a wrapper around them */
	bool is_removed[TAGS];
} vm;

/* As CallbackWrapper and TwoOopCallbackWrapper. */
struct wrapper {
	uintptr_t object;
	jlong size;
	jlong tag;
	jlong class_tag;
	uintptr_t described_referrer;
	uintptr_t referrer;
	jlong referrer_tag;
};

/* As JvmtiHeapwalkObject: a value inside of an object has the address of that and an offset. */
struct description {
	uintptr_t object;
	int offset;
	void *value_class;
	int layout;
};

static struct description
describe(uintptr_t address)
{
	int offset = address % 64 ? 8 : 0;

	return (struct description){address - (uintptr_t)offset, offset, NULL, 0};
}

/* Callbacks may remove a tag. */
static jlong
present(jlong tag)
{
	return vm.is_removed[tag] ? NONE : tag;
}

static jint
report(const struct reference *reference, uintptr_t shift, const jvmtiHeapCallbacks *callbacks,
	const void *data)
{
	struct wrapper wrapper = {.object = reference->to->address + shift,
		.size = 24,
		.tag = present(reference->to->tag),
		.class_tag = present(reference->to->class)};
	jvmtiHeapReferenceInfo info = {.field = {reference->index}};
	const struct object *from = reference->from;
	struct description to_parts = describe(wrapper.object);
	struct description from_parts = describe(from ? from->address : 0);

	if (reference->kind == JVMTI_HEAP_REFERENCE_STACK_LOCAL)
		info.stack_local.thread_tag = reference->thread;
	if (from) {
		wrapper.referrer = from->address;
		wrapper.referrer_tag = present(from->tag);
	}
	if (vm.describes) {
		wrapper.object = (uintptr_t)&to_parts;
		wrapper.described_referrer = (uintptr_t)&from_parts;
		wrapper.referrer = UINT64_C(0x0807060504030200);
	}
	if (vm.bare)
		*vm.bare = wrapper.tag;
	jint answer = callbacks->heap_reference_callback(reference->kind, &info,
		wrapper.class_tag, from ? present(from->class) : 0, wrapper.size,
		vm.bare ? vm.bare : &wrapper.tag,
		!from                   ? NULL
		: from == reference->to ? &wrapper.tag
					: &wrapper.referrer_tag,
		-1, (void *)(uintptr_t)data);
	vm.is_removed[reference->to->tag] = !wrapper.tag;
	return answer;
}

static jvmtiError JNICALL
follow(jvmtiEnv *env, jint filter, jclass type, jobject start,
	const jvmtiHeapCallbacks *callbacks, const void *data)
{
	(void)env;
	(void)filter;
	(void)type;
	(void)start;
	for (unsigned time = 0; time < vm.times && !vm.is_aborted; time++)
		for (size_t i = 0; i < vm.count && !vm.is_aborted; i++) {
			vm.answers[i] = report(
				&vm.references[i], time ? vm.shift : 0, callbacks, data);
			vm.is_aborted = vm.answers[i] & JVMTI_VISIT_ABORT;
		}
	return JVMTI_ERROR_NONE;
}

static const struct jvmtiInterface_1_ functions = {.FollowReferences = follow};
static jvmtiEnv environment = &functions;
static struct th_holder_tag items[TAGS];

static void
begin(struct th_holder_walk *walk)
{
	bool describes = vm.describes;

	memset(&vm, 0, sizeof(vm));
	vm.times = 1;
	vm.describes = describes;
	memset(items, 0, sizeof(items));
	memset(walk, 0, sizeof(*walk));
	for (int i = CLASS_APP; i <= CLASS_BYTES; i++)
		items[i] = (struct th_holder_tag){
			.flags = TH_HOLDER_TAG_CLASS, .referent = TH_HOLDER_NO_FIELD};
	items[CLASS_APP].flags |= TH_HOLDER_TAG_PERMANENT;
	items[CLASS_WEAK].referent = REFERENT;
	items[CLASS_BYTES].flags |= TH_HOLDER_TAG_LEAF;
	items[OWN_THREAD].flags = TH_HOLDER_TAG_THREAD | TH_HOLDER_TAG_OWN;
	walk->tags = (struct th_holder_tags){
		.jvmti = &environment, .items = items, .count = TAGS, .max = TAGS};
	assert_true(th_holder_graph_init(&walk->graph, 16, MEMORY));
}

static void
end(struct th_holder_walk *walk)
{
	th_holder_graph_deinit(&walk->graph);
}

/* Returns the position of the reference. */
static size_t
refer(jvmtiHeapReferenceKind kind, const struct object *from, const struct object *to,
	jint index)
{
	vm.references[vm.count] = (struct reference){kind, from, to, index, 0};
	return vm.count++;
}

static const struct th_holder_node *
node(const struct th_holder_walk *walk, const struct object *object)
{
	return &walk->graph.nodes[th_holder_graph_find(&walk->graph, object->address)];
}

/* static map -> sample; a local variable is nearer. */
static void
test_static_before_stack(void **state)
{
	struct th_holder_walk walk;

	(void)state;
	begin(&walk);
	refer(JVMTI_HEAP_REFERENCE_STACK_LOCAL, NULL, &sample, 0);
	refer(JVMTI_HEAP_REFERENCE_STACK_LOCAL, NULL, &other, 0);
	refer(JVMTI_HEAP_REFERENCE_SYSTEM_CLASS, NULL, &app, 0);
	size_t first = refer(JVMTI_HEAP_REFERENCE_STATIC_FIELD, &app, &map, 5);
	size_t again = refer(JVMTI_HEAP_REFERENCE_STATIC_FIELD, &app, &map, 6);
	refer(JVMTI_HEAP_REFERENCE_FIELD, &map, &sample, 1);
	refer(JVMTI_HEAP_REFERENCE_FIELD, &map, &map, 2);
	assert_true(th_holder_walk_run(&walk, LONG));
	assert_int_equal(vm.answers[first], JVMTI_VISIT_OBJECTS);
	assert_int_equal(vm.answers[again], 0);
	th_holder_walk_find_paths(&walk);
	assert_int_equal(
		node(&walk, &sample)->parent, th_holder_graph_find(&walk.graph, map.address));
	assert_int_equal(node(&walk, &map)->how, 5);
	assert_int_equal(node(&walk, &app)->parent, TH_HOLDER_ROOT);
	/* Nothing else holds this one. */
	uint32_t root = node(&walk, &other)->parent;
	assert_true(root & TH_HOLDER_ROOT);
	assert_int_equal(walk.roots[root & ~TH_HOLDER_ROOT].kind, TH_HOLDER_STACK);
	end(&walk);
}

static void
test_left_out(void **state)
{
	struct th_holder_walk walk;

	(void)state;
	begin(&walk);
	refer(JVMTI_HEAP_REFERENCE_SYSTEM_CLASS, NULL, &app, 0);
	refer(JVMTI_HEAP_REFERENCE_STATIC_FIELD, &app, &weak, 0);
	refer(JVMTI_HEAP_REFERENCE_STATIC_FIELD, &app, &bytes, 1);
	size_t referent = refer(JVMTI_HEAP_REFERENCE_FIELD, &weak, &sample, REFERENT);
	refer(JVMTI_HEAP_REFERENCE_STACK_LOCAL, NULL, &other, 0);
	vm.references[vm.count - 1].thread = OWN_THREAD;
	assert_true(th_holder_walk_run(&walk, LONG));
	assert_int_equal(vm.answers[referent], 0);
	assert_int_equal(th_holder_graph_find(&walk.graph, bytes.address), 0);
	assert_int_equal(th_holder_graph_find(&walk.graph, sample.address), 0);
	assert_int_equal(th_holder_graph_find(&walk.graph, other.address), 0);
	end(&walk);
}

/* The tag of a class is removed, and the class of an object is known all the same. */
static void
test_classes(void **state)
{
	struct th_holder_walk walk;

	(void)state;
	begin(&walk);
	refer(JVMTI_HEAP_REFERENCE_JNI_GLOBAL, NULL, &of_app, 0);
	refer(JVMTI_HEAP_REFERENCE_SYSTEM_CLASS, NULL, &app, 0);
	refer(JVMTI_HEAP_REFERENCE_SYSTEM_CLASS, NULL, &weak_class, 0);
	refer(JVMTI_HEAP_REFERENCE_STATIC_FIELD, &app, &map, 5);
	refer(JVMTI_HEAP_REFERENCE_CLASS, &map, &app, 0);
	refer(JVMTI_HEAP_REFERENCE_FIELD, &map, &sample, 1);
	refer(JVMTI_HEAP_REFERENCE_CLASS, &sample, &app, 0);
	refer(JVMTI_HEAP_REFERENCE_FIELD, &sample, &app, 2);
	assert_true(th_holder_walk_run(&walk, LONG));
	assert_true(vm.is_removed[CLASS_APP]);
	/* Its referent must still be known. */
	assert_false(vm.is_removed[CLASS_WEAK]);
	assert_false(vm.is_removed[SAMPLE]);
	const struct object *objects[] = {&of_app, &map, &sample};
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(th_holder_walk_class(&walk, th_holder_graph_find(&walk.graph,
								     objects[i]->address)),
			CLASS_APP);
	th_holder_walk_find_paths(&walk);
	assert_int_equal(node(&walk, &app)->parent, TH_HOLDER_ROOT);
	end(&walk);
}

/* A VM that passes tags in another way is noticed. */
static void
test_wrong_addresses(void **state)
{
	struct th_holder_walk walk;

	(void)state;
	begin(&walk);
	refer(JVMTI_HEAP_REFERENCE_JNI_GLOBAL, NULL, &sample, 0);
	vm.times = 2;
	vm.shift = 24;
	assert_false(th_holder_walk_run(&walk, LONG));
	assert_true(walk.is_wrong && vm.is_aborted);
	end(&walk);
	/* The same address with two tags. */
	begin(&walk);
	struct object twin = sample;
	twin.address = other.address;
	refer(JVMTI_HEAP_REFERENCE_JNI_GLOBAL, NULL, &other, 0);
	refer(JVMTI_HEAP_REFERENCE_JNI_GLOBAL, NULL, &twin, 0);
	assert_false(th_holder_walk_run(&walk, LONG));
	assert_true(walk.is_wrong);
	end(&walk);
	/* A referrer that nothing refers to. */
	begin(&walk);
	refer(JVMTI_HEAP_REFERENCE_SYSTEM_CLASS, NULL, &app, 0);
	refer(JVMTI_HEAP_REFERENCE_FIELD, &map, &sample, 0);
	assert_false(th_holder_walk_run(&walk, LONG));
	assert_true(walk.is_wrong);
	end(&walk);
	/* Nothing to verify it with. */
	begin(&walk);
	refer(JVMTI_HEAP_REFERENCE_JNI_GLOBAL, NULL, &map, 0);
	assert_false(th_holder_walk_run(&walk, LONG));
	end(&walk);
}

/* Nothing may be before a tag, not even memory: the walk fails, and reads none. */
static void
test_tags_without_words_before(void **state)
{
	struct th_holder_walk walk;
	char *pages = mmap(
		NULL, 2 * TH_PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(
		mprotect(pages + TH_PAGE_BYTES, TH_PAGE_BYTES, PROT_READ | PROT_WRITE), 0);
	begin(&walk);
	vm.bare = (jlong *)(void *)(pages + TH_PAGE_BYTES);
	refer(JVMTI_HEAP_REFERENCE_JNI_GLOBAL, NULL, &sample, 0);
	assert_false(th_holder_walk_run(&walk, LONG));
	assert_true(walk.is_wrong && vm.is_aborted);
	end(&walk);
	munmap(pages, 2 * TH_PAGE_BYTES);
}

static void
test_ends_in_time(void **state)
{
	struct th_holder_walk walk;

	(void)state;
	begin(&walk);
	refer(JVMTI_HEAP_REFERENCE_SYSTEM_CLASS, NULL, &app, 0);
	vm.times = 1 << 20;
	assert_false(th_holder_walk_run(&walk, 0));
	assert_true(walk.is_late && vm.is_aborted);
	/* It reads the clock once in some thousand references. */
	assert_in_range(walk.seen, 1, 10000);
	end(&walk);
}

static void
test_ends_when_full(void **state)
{
	struct th_holder_walk walk;

	(void)state;
	begin(&walk);
	walk.graph.bytes_max = 1;
	refer(JVMTI_HEAP_REFERENCE_SYSTEM_CLASS, NULL, &app, 0);
	assert_false(th_holder_walk_run(&walk, LONG));
	assert_true(walk.graph.is_full && vm.is_aborted);
	end(&walk);
}

static int
as_jdk_28(void **state)
{
	(void)state;
	vm.describes = true;
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_static_before_stack),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_wrong_addresses),
		cmocka_unit_test(test_tags_without_words_before),
		cmocka_unit_test(test_ends_in_time),
		cmocka_unit_test(test_ends_when_full),
		cmocka_unit_test_setup(test_static_before_stack, as_jdk_28),
		cmocka_unit_test_setup(test_left_out, as_jdk_28),
		cmocka_unit_test_setup(test_classes, as_jdk_28),
		cmocka_unit_test_setup(test_wrong_addresses, as_jdk_28),
	};

	return cmocka_run_group_tests_name("holder walk", tests, NULL, NULL);
}
