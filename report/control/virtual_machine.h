/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads an agent into a running Java VM through its attach mechanism, as jcmd does: a socket in
 * the /tmp of the process, which the VM creates at the first SIGQUIT that finds a file
 * .attach_pidN (attachListener_posix.cpp).  No ptrace.
 */
#ifndef TH_REPORT_CONTROL_VIRTUAL_MACHINE_H
#define TH_REPORT_CONTROL_VIRTUAL_MACHINE_H

#include <stddef.h>

#include "report/base/error.h"
#include "report/control/java_process.h"

/* Longest argument that the VM accepts (attachListener.hpp), with its terminator. */
#define TH_VIRTUAL_MACHINE_ARGUMENT_MAX 1024
#define TH_VIRTUAL_MACHINE_ANSWER_MAX 4096

/*
 * Whether an agent can be loaded into the process, by what is known of it: the error names the
 * reason, and has a code of its own for each.
 */
struct th_error *th_virtual_machine_check(const struct th_java_process *process);

/*
 * Has the VM load the library at `path`, a path in the process's root, with these options.
 * Answers in `answer_ret` what the VM has written: "return code: N" with the result of the library
 * if it was loaded, else a message.
 */
struct th_error *th_virtual_machine_load(const struct th_java_process *process,
	const char *path, const char *options, char answer_ret[TH_VIRTUAL_MACHINE_ANSWER_MAX]);

#endif
