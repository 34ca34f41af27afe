/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/end_signals.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define STATUS_UNREADABLE 3

static volatile sig_atomic_t has_come;
static const char *bus_message;
static void (*bus_restore)(void);

static void
on_end(int number)
{
	(void)number;
	has_come = 1;
}

static void
on_bus_error(int number)
{
	(void)number;
	if (bus_restore)
		bus_restore();
	if (write(STDERR_FILENO, bus_message, strlen(bus_message)) < 0)
		_exit(STATUS_UNREADABLE);
	_exit(STATUS_UNREADABLE);
}

void
th_end_signals_catch(const char *message, void (*restore)(void))
{
	static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction action = {.sa_handler = on_end};

	bus_message = message;
	bus_restore = restore;
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		sigaction(ending[i], &action, NULL);
	action.sa_handler = on_bus_error;
	action.sa_flags = (int)SA_RESETHAND;
	sigaction(SIGBUS, &action, NULL);
}

bool
th_end_signals_came(void)
{
	return has_come;
}
