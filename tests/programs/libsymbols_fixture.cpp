/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library whose code marks a few of its own instructions, so that the test of symbols knows
 * the expected functions and lines for each.  A mark is an entry in a section: the address, the
 * line, a number.
 */
#include <cstddef>
#include <cstdint>

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

/* Marks the instruction at this line.  The section is writable because it gets relocations. */
#define MARK(number)                                               \
	asm volatile("1: nop\n"                                    \
		     ".pushsection th_marks,\"aw\"\n"              \
		     ".balign 8\n"                                 \
		     ".quad 1b, " TEXT(__LINE__) ", " #number "\n" \
						 ".popsection")

struct mark {
	uintptr_t address;
	uint64_t line;
	uint64_t number;
};

extern "C" {
extern const mark __start_th_marks[] __attribute__((visibility("hidden")));
extern const mark __stop_th_marks[] __attribute__((visibility("hidden")));
const mark *th_fixture_mark(uint64_t number);
int th_fixture_plain(int value);
}

namespace shapes
{
/* Inlined into Box::grow(), twice deep. */
__attribute__((always_inline)) static inline int
innermost(int value)
{
	MARK(1);
	return value * 3;
}

__attribute__((always_inline)) static inline int
middle(int value)
{
	return innermost(value + 1) ^ value;
}

template <typename T> struct Box {
	T size;
	__attribute__((noinline)) int grow(int value);
};

template <typename T>
int
Box<T>::grow(int value)
{
	int result = middle(value + static_cast<int>(size));

	MARK(2);
	return result + 1;
}
} /* namespace shapes */

/* Has a name in .symtab only. */
__attribute__((noinline)) static int
only_in_symtab(int value)
{
	MARK(3);
	return value - 7;
}

/* Has a name in .dynsym too. */
int
th_fixture_plain(int value)
{
	shapes::Box<long> box{value};

	MARK(4);
	return box.grow(only_in_symtab(value)) + 1;
}

const mark *
th_fixture_mark(uint64_t number)
{
	for (const mark *mark = __start_th_marks; mark < __stop_th_marks; mark++) {
		if (mark->number == number)
			return mark;
	}
	return nullptr;
}
