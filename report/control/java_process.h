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

/* Whether the process was started with the library in LD_PRELOAD. */
bool th_java_process_is_preloaded(pid_t pid);

#endif
