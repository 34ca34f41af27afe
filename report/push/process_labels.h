/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of a recorded process, by OpenTelemetry's semantic conventions. */
#ifndef TH_REPORT_PUSH_PROCESS_LABELS_H
#define TH_REPORT_PUSH_PROCESS_LABELS_H

#include <sys/types.h>

#include "report/base/labels.h"
#include "report/log/recording.h"

/*
 * Sets, each winning over those before it: what the log knows (without arguments of the command);
 * the pod and the node, as far as the environment of the process shows them; the attributes in
 * OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME, of this tool and then of the process; those
 * that the log contains. Of the environment nothing else is read. `pid` is that of the process here, 0 = unknown.
 */
void
th_process_labels(const struct th_recording *recording, pid_t pid, struct th_labels *labels);

#endif
