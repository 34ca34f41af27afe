/* SPDX-License-Identifier: Apache-2.0 */
#include "report/log/recording_labels.h"

#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/log_text.h"

void
th_recording_labels(const struct th_recording *recording, struct th_labels *labels)
{
	const struct th_decoded_process *process = &recording->process;
	char *executable = th_text_clean(process->executable);
	char *host = th_text_clean(process->host);
	char *library = th_text_clean(process->library_version);
	char *pid = th_format_new("%u", process->pid);

	th_labels_set(labels, "service.name", th_text_base_name(executable));
	th_labels_set(labels, "process.pid", pid);
	th_labels_set(labels, "process.executable.name", th_text_base_name(executable));
	th_labels_set(labels, "host.name", host);
	th_labels_set(labels, "twinheap.version", library);
	if (recording->has_jvm) {
		char *version = th_text_clean(recording->jvm.version);

		th_labels_set(labels, "process.runtime.version", version);
		free(version);
	}
	free(pid);
	free(library);
	free(host);
	free(executable);
}

void
th_recording_given_labels(const struct th_recording *recording, struct th_labels *labels)
{
	/* Without a key: the value is a list of labels. */
	static const struct {
		const char *variable;
		const char *key;
	} settings[] = {
		{"POD_NAME", "k8s.pod.name"},
		{"POD_NAMESPACE", "k8s.namespace.name"},
		{"OTEL_RESOURCE_ATTRIBUTES", NULL},
		{"OTEL_SERVICE_NAME", "service.name"},
		{"TWINHEAP_LABELS", NULL},
	};

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		struct th_text text = th_recording_setting(recording, settings[i].variable);
		char *value;

		if (!text.bytes)
			continue;
		value = th_text_clean(text);
		if (settings[i].key)
			th_labels_set(labels, settings[i].key, value);
		else
			th_labels_parse(labels, value);
		free(value);
	}
}
