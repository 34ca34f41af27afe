/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TH_PRELOAD_MESSAGE_H
#define TH_PRELOAD_MESSAGE_H

/*
 * Prints one line on stderr, "twinheap: ..." (printf format), without the application's malloc
 * or stdio streams, and without raising a signal if stderr is a closed pipe.  Preserves errno.
 * Not from the malloc path.
 */
void th_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* In the constructor, after th_next_init(). */
void th_message_init(void);

/* The description of an errno, in English.  Same conditions as th_message(). */
const char *th_message_reason(int error);

#endif
