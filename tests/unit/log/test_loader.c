/* SPDX-License-Identifier: Apache-2.0 */
/* A child forked while another thread looks at loaded objects can look at them too. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "unify/base/atomic.h"
#include "unify/log/module_elf.h"

#define FORKS 200

static bool is_over;

static int
see(struct dl_phdr_info *info, size_t bytes, void *data)
{
	(void)info, (void)bytes;
	++*(unsigned *)data;
	return 0;
}

static void *
look(void *data)
{
	unsigned count;

	(void)data;
	while (!th_load_relaxed(&is_over))
		th_loader_visit(see, &count);
	return NULL;
}

static void
test_children_are_not_stuck(void **state)
{
	pthread_t thread;
	unsigned count = 0;
	int status;

	(void)state;
	assert_int_equal(
		pthread_atfork(th_loader_before_fork, th_loader_after_fork, th_loader_reset),
		0);
	assert_int_equal(pthread_create(&thread, NULL, look, NULL), 0);
	for (int i = 0; i < FORKS; i++) {
		pid_t child = fork();

		assert_int_not_equal(child, -1);
		if (!child) {
			alarm(10);
			_exit(!th_loader_visit(see, &count) || !count);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	th_store_relaxed(&is_over, true);
	pthread_join(thread, NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_children_are_not_stuck),
	};

	return cmocka_run_group_tests_name("loader", tests, NULL, NULL);
}
