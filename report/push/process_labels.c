/* SPDX-License-Identifier: Apache-2.0 */
#include "report/push/process_labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/log/recording_labels.h"

/* Linux limits the strings of an environment to this together by default. */
#define ENVIRONMENT_MAX (2 << 20)
#define NAMESPACE_MAX 256

/* A file below /proc/PID, NUL-terminated, to be freed; its length. NULL: unreadable. */
static char *
read_file(pid_t pid, const char *name, size_t capacity, size_t *length_ret)
{
	char path[256];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	FILE *file = fopen(path, "re");
	if (!file)
		return NULL;
	char *text = th_allocate(capacity + 1, 1);
	*length_ret = fread(text, 1, capacity, file);
	fclose(file);
	return text;
}

/* The value of a variable in an environment; NULL if it is not set. */
static const char *
variable(const char *environment, size_t length, const char *name)
{
	size_t name_length = strlen(name);

	for (size_t at = 0; environment && at < length; at += strlen(environment + at) + 1) {
		if (!strncmp(environment + at, name, name_length) &&
			environment[at + name_length] == '=')
			return environment + at + name_length + 1;
	}
	return NULL;
}

/* The variables of the downward API as manifests name them; else a pod's host name is its own. */
static void
set_pod(struct th_labels *labels, pid_t pid, const char *environment, size_t length)
{
	static const char account[] =
		"root/var/run/secrets/kubernetes.io/serviceaccount/namespace";
	const char *pod = variable(environment, length, "POD_NAME");
	const char *name_space = variable(environment, length, "POD_NAMESPACE");

	if (!pod && variable(environment, length, "KUBERNETES_SERVICE_HOST"))
		pod = variable(environment, length, "HOSTNAME");
	if (!pod)
		return;
	th_labels_set(labels, "k8s.pod.name", pod);
	char *text = name_space ? NULL : read_file(pid, account, NAMESPACE_MAX, &length);
	th_labels_set(labels, "k8s.namespace.name", name_space ? name_space : text);
	free(text);
}

void
th_process_labels(const struct th_recording *recording, pid_t pid, struct th_labels *labels)
{
	size_t length = 0;
	char *environment = pid ? read_file(pid, "environ", ENVIRONMENT_MAX, &length) : NULL;

	th_recording_labels(recording, labels);
	set_pod(labels, pid, environment, length);
	th_labels_set(labels, "host.name", getenv("NODE_NAME"));
	th_labels_parse(labels, getenv("OTEL_RESOURCE_ATTRIBUTES"));
	th_labels_set(labels, "service.name", getenv("OTEL_SERVICE_NAME"));
	/* A log of an older library has no labels, the environment of its process has. */
	th_labels_parse(labels, variable(environment, length, "OTEL_RESOURCE_ATTRIBUTES"));
	th_labels_set(
		labels, "service.name", variable(environment, length, "OTEL_SERVICE_NAME"));
	th_recording_given_labels(recording, labels);
	free(environment);
}
