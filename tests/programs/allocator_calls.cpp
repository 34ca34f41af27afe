/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator_calls all|common|throw|none: all forms of C++ and C allocations, and those of
 * jemalloc if defined, in common all but pvalloc, which jemalloc lacks; or exceptions of
 * operator new; or neither.  Prints the requested bytes on stdout, as one JSON object;
 * "mallocx" tells whether jemalloc seems to be in use.  The exit status is 0 if every block was
 * as specified.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>

/* The way libraries detect jemalloc. */
extern "C" {
__attribute__((weak)) void *mallocx(size_t size, int flags);
__attribute__((weak)) void *rallocx(void *block, size_t size, int flags);
__attribute__((weak)) size_t xallocx(void *block, size_t size, size_t extra, int flags);
__attribute__((weak)) size_t sallocx(const void *block, int flags);
__attribute__((weak)) void dallocx(void *block, int flags);
__attribute__((weak)) void sdallocx(void *block, size_t size, int flags);
}

/* Not every C++17 compiler declares these. */
void operator delete(void *block, std::size_t size) noexcept;
void operator delete[](void *block, std::size_t size) noexcept;
void operator delete(void *block, std::size_t size, std::align_val_t alignment) noexcept;
void operator delete[](void *block, std::size_t size, std::align_val_t alignment) noexcept;

namespace
{

constexpr int ROUNDS = 500;
constexpr int KEPT = 100;
constexpr size_t KEPT_BYTES = 1000;
constexpr std::align_val_t WIDE{128};
/* MALLOCX_LG_ALIGN(7) | MALLOCX_ZERO */
constexpr int WIDE_AND_ZERO = 7 | 0x40;

uint64_t objects;
uint64_t bytes;
uint64_t frees;
int status;
bool has_pvalloc;

/* Records a block; hides its use from the compiler. */
char *
got(void *block, size_t size, size_t alignment = 1)
{
	__asm__ volatile("" : "+r"(block)::"memory");
	if (!block || reinterpret_cast<uintptr_t>(block) % alignment != 0 ||
		malloc_usable_size(block) < size) {
		status = 1;
		std::fprintf(stderr, "block of %zu bytes is not as promised\n", size);
	}
	std::memset(block, 0xa5, size);
	objects++;
	bytes += size;
	return static_cast<char *>(block);
}

void *
given(void *block)
{
	frees++;
	return block;
}

void
plain_operators(size_t size)
{
	::operator delete(given(got(::operator new(size), size)));
	::operator delete[](given(got(::operator new[](size), size)));
	::operator delete(given(got(::operator new(size), size)), size);
	::operator delete[](given(got(::operator new[](size), size)), size);
	::operator delete(given(got(::operator new(size, std::nothrow), size)), std::nothrow);
	::operator delete[](
		given(got(::operator new[](size, std::nothrow), size)), std::nothrow);
}

void
aligned_operators(size_t size)
{
	::operator delete(given(got(::operator new(size, WIDE), size, 128)), WIDE);
	::operator delete[](given(got(::operator new[](size, WIDE), size, 128)), WIDE);
	::operator delete(given(got(::operator new(size, WIDE), size, 128)), size, WIDE);
	::operator delete[](given(got(::operator new[](size, WIDE), size, 128)), size, WIDE);
	::operator delete(given(got(::operator new(size, WIDE, std::nothrow), size, 128)), WIDE,
		std::nothrow);
	::operator delete[](given(got(::operator new[](size, WIDE, std::nothrow), size, 128)),
		WIDE, std::nothrow);
}

void
functions_of_c(size_t size)
{
	void *block = nullptr;

	std::free(given(got(std::malloc(size), size)));
	std::free(given(got(std::calloc(1, size), size)));
	block = got(std::malloc(size), size);
	std::free(given(got(std::realloc(given(block), 3 * size), 3 * size)));
	if (posix_memalign(&block, 128, size) == 0)
		std::free(given(got(block, size, 128)));
	std::free(given(got(memalign(128, size), size, 128)));
	std::free(given(got(aligned_alloc(64, 64 * size), 64 * size, 64)));
	std::free(given(got(valloc(size), size, 4096)));
	if (has_pvalloc)
		std::free(given(got(pvalloc(size), size, 4096)));
}

/* Freed by the other family of functions, which allocators with one heap allow. */
void
functions_of_jemalloc(size_t size)
{
	void *block = got(mallocx(size, WIDE_AND_ZERO), size, 128);

	sdallocx(given(got(rallocx(given(block), 5 * size, 7), 5 * size, 128)), 5 * size, 7);
	dallocx(given(got(mallocx(size, 0), size)), 0);
	std::free(given(got(mallocx(size, 0), size)));
	dallocx(given(got(std::malloc(size), size)), 0);
	/* Blocks of 16 KiB and more grow in place if the memory after them is free. */
	block = got(mallocx(64 * 1024, 0), 64 * 1024);
	if (xallocx(block, 32 * 1024, 0, 0) == 32 * 1024) {
		given(block);
		got(block, 32 * 1024);
	}
	if (sallocx(block, 0) != malloc_usable_size(block))
		status = 1;
	dallocx(given(block), 0);
}

void
allocate_all()
{
	for (int i = 0; i < ROUNDS; i++) {
		size_t size = 1 + static_cast<size_t>(i) * 7 % 5000;

		plain_operators(size);
		aligned_operators(size);
		functions_of_c(size);
		if (mallocx)
			functions_of_jemalloc(size);
	}
	for (int i = 0; i < KEPT; i++)
		got(::operator new(KEPT_BYTES), KEPT_BYTES);
}

/* The allocator fails, the exception reaches the program, and the heap still works. */
void
throw_all()
{
	volatile size_t size = PTRDIFF_MAX - 4096;

	for (int i = 0; i < ROUNDS; i++) {
		try {
			got(::operator new(size), 1);
			status = 1;
		} catch (const std::bad_alloc &) {
			::operator delete(given(got(::operator new(100), 100)));
		}
		if (::operator new(size, std::nothrow))
			status = 1;
	}
}

} // namespace

int
main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "none";

	has_pvalloc = std::strcmp(mode, "all") == 0;
	if (has_pvalloc || std::strcmp(mode, "common") == 0)
		allocate_all();
	else if (std::strcmp(mode, "throw") == 0)
		throw_all();
	std::printf("{\"objects\": %llu, \"bytes\": %llu, \"frees\": %llu, \"mallocx\": %s}\n",
		static_cast<unsigned long long>(objects),
		static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(frees),
		mallocx ? "true" : "false");
	return status;
}
