/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TH_PRELOAD_MESSAGE_H
#define TH_PRELOAD_MESSAGE_H

/*
 * One line on stderr, "twinheap: ..." (printf format), with write(2) and without the
 * application's malloc or stdio streams.  Not from the malloc path.
 */
void th_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
