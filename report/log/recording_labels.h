/* SPDX-License-Identifier: Apache-2.0 */
/* Labels that a log contains, by OpenTelemetry's semantic conventions. */
#ifndef TH_REPORT_LOG_RECORDING_LABELS_H
#define TH_REPORT_LOG_RECORDING_LABELS_H

#include "report/base/labels.h"
#include "report/log/recording.h"

/* What is known of any process: service.name (of the executable), process.pid, host.name, ... */
void th_recording_labels(const struct th_recording *recording, struct th_labels *labels);

/*
 * What the process was given when it started: the pod's name and namespace (POD_NAME,
 * POD_NAMESPACE), OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME, TWINHEAP_LABELS; each replaces
 * those before it.
 */
void th_recording_given_labels(const struct th_recording *recording, struct th_labels *labels);

#endif
