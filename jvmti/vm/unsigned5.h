/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The VM's compressed numbers (compressedStream.hpp; utilities/unsigned5.hpp): 1 to 5 bytes of base 64,
 * the lowest first; bytes from 192 on are continued.
 */
#ifndef TH_JVMTI_VM_UNSIGNED5_H
#define TH_JVMTI_VM_UNSIGNED5_H

#include "unify/base/safe_read.h"

#define TH_UNSIGNED5_LAST 192
#define TH_UNSIGNED5_BYTES 5

struct th_byte_stream {
	struct th_safe_read memory;
	uintptr_t at;
	unsigned byte_base; /* of each byte: 1 from JDK 20 on, where no byte is 0; else 0 */
	bool has_failed;    /* it could not be read */
};

/* 0 if it cannot be read. [in-malloc] */
static inline uint8_t
th_byte_read(struct th_byte_stream *stream)
{
	uint8_t byte = 0;

	stream->has_failed |= !th_read_bytes(&stream->memory, stream->at++, &byte, 1);
	return byte;
}

/* [in-malloc] */
static inline uint32_t
th_unsigned5_read(struct th_byte_stream *stream)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < TH_UNSIGNED5_BYTES; i++) {
		uint8_t byte = th_byte_read(stream);

		value += (uint32_t)(byte - stream->byte_base) << 6 * i;
		if (byte < TH_UNSIGNED5_LAST)
			break;
	}
	return value;
}

/* Zigzag. [in-malloc] */
static inline int32_t
th_signed5_read(struct th_byte_stream *stream)
{
	uint32_t value = th_unsigned5_read(stream);

	return (int32_t)(value >> 1 ^ (0u - (value & 1)));
}

#endif
