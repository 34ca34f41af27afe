// SPDX-License-Identifier: Apache-2.0
/*
 * native_moments [EARLY]: allocates at every stage of a process outside main():
 *
 *   before any constructor (.preinit_array, EARLY blocks of 100 bytes, kept), in constructors, in
 *   destructors of thread-local objects and in all four rounds of those of pthread keys, while
 *   exceptions pass through frames with destructors, in handlers of atexit(), in destructors
 *
 * and prints the allocations of each site.  The last two stages follow the output, so their figures
 * are computed in advance.
 */
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/programs/sites.h"

// Found by their unmangled names.
extern "C" {
TH_SITE(constructor_site)
TH_SITE(thread_local_site)
TH_SITE(key_site)
TH_SITE(last_round_site)
TH_SITE(unwinding_site)
TH_SITE(atexit_site)
TH_SITE(destructor_site)
}

namespace
{

const int blocks = 100;
const size_t block_bytes = 100;
const int threads = 8;
// PTHREAD_DESTRUCTOR_ITERATIONS of glibc.
const int rounds = 4;
const int depth = 20;

pthread_key_t key;

void
allocate_early(int argc, char **argv, char **)
{
	int early = argc > 1 ? atoi(argv[1]) : 0;

	for (int i = 0; i < early; i++) {
		void *block = malloc(block_bytes);

		__asm__ volatile("" : : "r"(block) : "memory");
	}
}

__attribute__((section(".preinit_array"), used)) void (*const early)(
	int, char **, char **) = allocate_early;

__attribute__((constructor)) void
construct()
{
	allocate_and_free(constructor_site, blocks, block_bytes);
}

__attribute__((destructor)) void
destruct()
{
	allocate_and_free(destructor_site, blocks, block_bytes);
}

void
at_exit()
{
	allocate_and_free(atexit_site, blocks, block_bytes);
}

struct ThreadLocal {
	std::string text = "longer than what a string keeps in itself";

	~ThreadLocal()
	{
		allocate_and_free(thread_local_site, blocks, block_bytes);
	}
};
thread_local ThreadLocal thread_local_object;

void
end_of_round(void *round)
{
	long number = reinterpret_cast<long>(round);

	allocate_and_free(number < rounds ? key_site : last_round_site, blocks, block_bytes);
	if (number < rounds)
		pthread_setspecific(key, reinterpret_cast<void *>(number + 1));
}

struct Allocating {
	~Allocating()
	{
		allocate_and_free(unwinding_site, blocks, block_bytes);
	}
};

__attribute__((noinline)) void
descend(int left)
{
	Allocating here;

	if (left == 1)
		throw std::runtime_error("the text of an exception is on the heap as well");
	descend(left - 1);
}

// An exception in flight while others are thrown and caught, and one that is rethrown.
size_t
throw_and_catch()
{
	size_t caught = 0;

	try {
		try {
			descend(depth);
		} catch (const std::runtime_error &error) {
			caught += std::string(error.what()).size();
			throw;
		}
	} catch (const std::exception &error) {
		caught++;
	}
	try {
		(void)std::vector<int>().at(1);
	} catch (const std::out_of_range &) {
		caught++;
	}
	return caught;
}

void *
run_thread(void *)
{
	pthread_setspecific(key, reinterpret_cast<void *>(1));
	// Used, so that it is constructed.
	size_t length = thread_local_object.text.size();
	return reinterpret_cast<void *>(length + throw_and_catch());
}

size_t
run_threads()
{
	pthread_t thread[threads];
	size_t sum = 0;

	for (pthread_t &one : thread)
		pthread_create(&one, nullptr, run_thread, nullptr);
	for (pthread_t &one : thread) {
		void *result;

		pthread_join(one, &result);
		sum += reinterpret_cast<size_t>(result);
	}
	return sum;
}

} // namespace

int
main()
{
	pthread_key_create(&key, end_of_round);
	atexit(at_exit);
	printf("{\"caught\": %zu}\n", run_threads());
	print_site(&constructor_site_truth);
	print_site(&thread_local_site_truth);
	print_site(&key_site_truth);
	print_site(&unwinding_site_truth);
	printf("{\"last round\": %lu}\n", last_round_site_truth.objects);
	for (struct site *later : {&atexit_site_truth, &destructor_site_truth}) {
		struct site expected = {later->name, blocks, blocks * block_bytes};

		print_site(&expected);
	}
	return 0;
}
