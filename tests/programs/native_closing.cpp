// SPDX-License-Identifier: Apache-2.0
/*
 * native_closing WAY SECONDS: adds 20 kB to a list every 2 ms for so many seconds and keeps all
 * of it.  Then all is freed, and the process ends: by the destructor of a static container
 * ("static"), a handler of atexit() ("atexit"), one of at_quick_exit() ("quick"), in main before
 * it returns ("main"), by a handler of atexit() while another thread than main's calls exit()
 * ("thread"), in main before it calls _exit() ("now"), or not at all ("never").
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <pthread.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace
{

constexpr size_t block_bytes = 20000;

std::vector<std::unique_ptr<char[]>> kept;
std::vector<char *> plain;

double
now()
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

__attribute__((noinline)) char *
grow_plain()
{
	char *block = static_cast<char *>(malloc(block_bytes));

	memset(block, 1, block_bytes);
	plain.push_back(block);
	return block;
}

__attribute__((noinline)) void
grow_static()
{
	kept.push_back(std::make_unique<char[]>(block_bytes));
}

void
free_plain()
{
	for (char *block : plain)
		free(block);
	plain.clear();
}

void *
call_exit(void *)
{
	exit(0);
}

} // namespace

int
main(int argc, char **argv)
{
	std::string way = argc > 1 ? argv[1] : "";
	double end = now() + (argc > 2 ? atof(argv[2]) : 1);

	while (now() < end) {
		if (way == "static")
			grow_static();
		else
			grow_plain();
		usleep(2000);
	}
	if (way == "atexit" || way == "thread")
		atexit(free_plain);
	if (way == "quick") {
		at_quick_exit(free_plain);
		quick_exit(0);
	}
	if (way == "main" || way == "now")
		free_plain();
	if (way == "now")
		_exit(0);
	if (way == "thread") {
		pthread_t other;

		pthread_create(&other, nullptr, call_exit, nullptr);
		pthread_join(other, nullptr);
	}
	return 0;
}
