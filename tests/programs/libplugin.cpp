/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded by plugin_host: allocates with C and with C++, with a C++ runtime that only this
 * library needs.
 */
#include <cstdint>
#include <cstdlib>
#include <new>

extern "C" {

void *
plugin_malloc(size_t size)
{
	return std::malloc(size);
}

void
plugin_free(void *block)
{
	std::free(block);
}

void *
plugin_new(size_t size)
{
	return ::operator new(size);
}

void
plugin_delete(void *block)
{
	::operator delete(block);
}

/* 0: an impossible request failed in each of the ways of C++. */
int
plugin_is_refused(void)
{
	volatile size_t size = PTRDIFF_MAX - 4096;

	if (::operator new(size, std::nothrow))
		return 1;
	try {
		void *block = ::operator new(size);
		__asm__ volatile("" : "+r"(block)::"memory");
		return 2;
	} catch (const std::bad_alloc &) {
	}
	try {
		void *block = ::operator new (size, std::align_val_t{128});
		__asm__ volatile("" : "+r"(block)::"memory");
		return 3;
	} catch (const std::bad_alloc &) {
	}
	return 0;
}
}
