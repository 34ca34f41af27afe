/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_operator_new new|throw|none: C++ allocations with known sizes, or exceptions through
 * many frames, or neither.  Prints the requested bytes on stdout, as one JSON object; the exit
 * status is 0 if every exception arrived as thrown.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace
{

constexpr int ROUNDS = 2000;
constexpr int DEPTH = 40;

uint64_t objects;
uint64_t bytes;

/* The compiler may omit a pair of new and delete unless it cannot see their effects. */
template <typename T>
T *
keep(T *block)
{
	__asm__ volatile("" : "+r"(block)::"memory");
	return block;
}

void
count(size_t size)
{
	objects++;
	bytes += size;
}

struct alignas(128) Wide {
	char bytes[256];
};

struct Owner {
	char *block;
	explicit Owner(size_t size) : block(keep(new char[size]))
	{
		count(size);
	}
	~Owner()
	{
		delete[] block;
	}
};

void
allocate_all(int round)
{
	size_t size = 1 + static_cast<size_t>(round) * 7 % 5000;

	delete keep(new uint64_t(7));
	count(sizeof(uint64_t));
	delete[] keep(new char[size]);
	count(size);
	::operator delete(keep(::operator new(size)));
	count(size);
	::operator delete(keep(::operator new(size, std::nothrow)));
	count(size);
	Wide *wide = keep(new Wide);
	if (reinterpret_cast<uintptr_t>(wide) % alignof(Wide) != 0)
		_exit(2);
	delete wide;
	count(sizeof(Wide));
}

/* Every frame on the way owns a block that unwinding must free. */
__attribute__((noinline)) int
descend(int depth)
{
	Owner owner(100);

	if (depth == 0)
		throw std::runtime_error("from the bottom");
	return descend(depth - 1) + owner.block[0];
}

int
catch_one()
{
	try {
		return descend(DEPTH);
	} catch (const std::exception &error) {
		return std::strcmp(error.what(), "from the bottom") == 0 ? 0 : 3;
	}
}

/* The behavior of operator new when malloc fails. */
int
catch_bad_alloc()
{
	volatile size_t size = PTRDIFF_MAX - 4096;

	try {
		keep(::operator new(size));
		return 4;
	} catch (const std::bad_alloc &) {
		return 0;
	}
}

} // namespace

int
main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "none";
	int status = catch_bad_alloc();

	for (int i = 0; i < ROUNDS; i++) {
		if (std::strcmp(mode, "new") == 0)
			allocate_all(i);
		else if (std::strcmp(mode, "throw") == 0)
			status |= catch_one();
	}
	std::printf("{\"objects\": %llu, \"bytes\": %llu}\n",
		static_cast<unsigned long long>(objects),
		static_cast<unsigned long long>(bytes));
	return status;
}
