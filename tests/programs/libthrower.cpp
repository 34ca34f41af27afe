// SPDX-License-Identifier: Apache-2.0
// Throws an exception through a chain of functions; the destructor in each one calls back.

namespace
{

struct Caller {
	void (*callback)();
	int *count;

	~Caller()
	{
		++*count;
		callback();
	}
};

struct Bottom {
};

void
descend(int depth, void (*callback)(), int *count)
{
	if (depth == 0)
		throw Bottom();
	Caller caller{callback, count};
	descend(depth - 1, callback, count);
}

} // namespace

// The number of destructors that ran while the exception passed.
extern "C" int
throw_through(int depth, void (*callback)())
{
	int count = 0;

	try {
		descend(depth, callback, &count);
	} catch (const Bottom &) {
		callback();
	}
	return count;
}
