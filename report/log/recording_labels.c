/* SPDX-License-Identifier: Apache-2.0 */
#include "report/log/recording_labels.h"

#include "report/base/line.h"

void
th_recording_labels(const struct th_recording *recording, struct th_labels *labels)
{
	const struct th_decoded_process *process = &recording->process;
	const char *executable = th_text_printable(process->executable);

	th_labels_set(labels, "service.name", th_text_base_name(executable));
	th_labels_set(labels, "process.pid", th_text_format("%u", process->pid));
	th_labels_set(labels, "process.executable.name", th_text_base_name(executable));
	th_labels_set(labels, "host.name", th_text_printable(process->host));
	th_labels_set(labels, "twinheap.version", th_text_printable(process->library_version));
	if (recording->has_jvm)
		th_labels_set(labels, "process.runtime.version",
			th_text_printable(recording->jvm.version));
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

		if (!text.bytes)
			continue;
		if (settings[i].key)
			th_labels_set(labels, settings[i].key, th_text_printable(text));
		else
			th_labels_parse(labels, th_text_printable(text));
	}
}
