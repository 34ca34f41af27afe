/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of ids of the log, and the names of threads, modules and functions. */
#ifndef TH_REPORT_LOG_NAMES_H
#define TH_REPORT_LOG_NAMES_H

#include "report/base/allocate.h"
#include "report/log/recording.h"

/* The index of `id` in a table of the recording, which gets an empty entry if it is new. */
#define th_recording_intern(recording, table, id)                                             \
	({                                                                                    \
		bool added_;                                                                  \
		uint32_t index_ = th_id_map_intern(&(recording)->table##_ids, (id), &added_); \
                                                                                              \
		if (added_)                                                                   \
			th_array_append(                                                      \
				(recording), table, (__typeof__(*(recording)->table)){0});    \
		index_;                                                                       \
	})

/* The index of a thread; a new one has a name without text. */
uint32_t th_recording_intern_thread(struct th_recording *recording, uint32_t id);

/* The index of the name that a thread has at this offset of the log. */
uint32_t th_recording_thread_name(struct th_recording *recording, uint32_t id);

/* Add the data of these events. */
void
th_recording_add_module(struct th_recording *recording, const struct th_decoded_module *event);
void
th_recording_add_thread(struct th_recording *recording, const struct th_decoded_thread *event);
void
th_recording_add_symbol(struct th_recording *recording, const struct th_decoded_symbol *symbol);

/*
 * The frames of an address are consecutive; false: this one is out of order, which is damage.
 */
bool th_recording_add_native_frame(
	struct th_recording *recording, const struct th_decoded_native_frame *frame);

#endif
