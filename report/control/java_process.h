/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What /proc and the VM's performance counters tell about a process: whether it has a Java VM, which
 * one, and whether an agent can be loaded into it.  It may be in other namespaces and below another
 * root directory.
 */
#ifndef TH_REPORT_CONTROL_JAVA_PROCESS_H
#define TH_REPORT_CONTROL_JAVA_PROCESS_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "report/base/error.h"

#define TH_JAVA_VERSION_MAX 64

struct th_java_process {
	pid_t pid;
	pid_t inside; /* its id in its own pid namespace */
	uid_t uid;    /* effective, as seen by the tool */
	gid_t gid;
	bool is_readable;  /* its mappings are; false: it belongs to another user */
	bool has_vm;       /* HotSpot */
	bool is_openj9;    /* a VM, but with another attach mechanism and another SIGQUIT */
	bool handles_quit; /* SIGQUIT has a handler: without one, the signal ends the process */
	bool refuses_attach;               /* -XX:+DisableAttachMechanism */
	bool forbids_agents;               /* -XX:-EnableDynamicAgentLoading */
	unsigned release;                  /* feature release of the VM; 0 = unknown */
	char version[TH_JAVA_VERSION_MAX]; /* "" = unknown */
	char library
		[PATH_MAX]; /* the twinheap library it has loaded, as it names it; "" = none */
};

/* False: there is no such process. */
bool th_java_process_read(pid_t pid, struct th_java_process *ret);

/*
 * Opens a directory, named by an absolute path in the root directory of the process, as O_PATH; -1
 * if that fails.  Symbolic links do not lead out of that root.
 */
int th_java_process_open(const struct th_java_process *process, const char *path);

/*
 * Whether an ELF file is a program that GraalVM compiled ahead of time, which contains a VM of its own,
 * without agents.
 */
bool th_java_process_is_native_image(const char *path);

/* Whether the process was started with the library in LD_PRELOAD. */
bool th_java_process_is_preloaded(pid_t pid);

/*
 * Loads an agent into a running Java VM through its attach mechanism, as jcmd does: a socket in
 * the /tmp of the process, which the VM creates at the first SIGQUIT that finds a file
 * .attach_pidN (attachListener_posix.cpp).  No ptrace.
 */

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
