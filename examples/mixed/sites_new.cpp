/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The site that allocates with operator new: libstdc++ calls malloc for the block, so the stack
 * has `operator new` between this function and malloc.
 */
#include <cstddef>
#include <new>

extern "C" {
#include "examples/mixed/sites.h"
}

extern "C" MIXED_NOINLINE void *
mixed_new_4096(void)
{
	void *block = ::operator new(4096, std::nothrow);

	MIXED_KEEP(block);
	return block;
}

extern "C" void
mixed_delete(void *block)
{
	::operator delete(block);
}
