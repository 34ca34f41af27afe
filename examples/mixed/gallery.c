/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native half of the demo: a typical image decoder.  It decodes a photo strip by strip,
 * calls Java for each strip, scales the result down and returns the thumbnail as a Java array.
 * It also keeps metadata of each photo and never frees it: this is the leak that a report
 * should find.
 */
#include <jni.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "examples/mixed/sites.h"
#include "mixed_Gallery.h"

#define WIDTH 512
#define HEIGHT 512
#define STRIP_ROWS 32
#define STRIPS (HEIGHT / STRIP_ROWS)
#define SCALE 4
#define PIXEL_BYTES 4
#define STRIP_BYTES (WIDTH * STRIP_ROWS * PIXEL_BYTES)
#define PHOTO_BYTES (WIDTH * HEIGHT * PIXEL_BYTES)
#define THUMBNAIL_BYTES (WIDTH / SCALE * HEIGHT / SCALE * PIXEL_BYTES)
#define METADATA_BYTES 8192

struct metadata {
	struct metadata *next;
	char text[METADATA_BYTES - sizeof(void *)];
};

static MIXED_NOINLINE uint8_t *
gallery_photo_buffer(void)
{
	uint8_t *pixels = malloc(PHOTO_BYTES);

	MIXED_KEEP(pixels);
	return pixels;
}

static MIXED_NOINLINE uint8_t *
gallery_strip_buffer(void)
{
	uint8_t *strip = malloc(STRIP_BYTES);

	MIXED_KEEP(strip);
	return strip;
}

/*
 * Keeps the photo's metadata without a reference by name: it can never be found again or freed.
 */
static MIXED_NOINLINE void
gallery_remember_metadata(const uint8_t *encoded, size_t length)
{
	static struct metadata *all;
	struct metadata *metadata = malloc(sizeof(*metadata));

	if (!metadata)
		return;
	if (length > sizeof(metadata->text))
		length = sizeof(metadata->text);
	memcpy(metadata->text, encoded, length);
	metadata->next = __atomic_load_n(&all, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(
		&all, &metadata->next, metadata, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* In place of entropy decoding: the same amount of arithmetic per pixel as a simple codec. */
static void
decode_strip(uint8_t *strip, const uint8_t *encoded, size_t length, uint32_t seed)
{
	for (size_t i = 0; i < STRIP_BYTES; i++) {
		seed = seed * 1664525 + 1013904223;
		strip[i] = (uint8_t)(encoded[i % length] + (seed >> 24));
	}
}

/* Averages SCALE x SCALE pixels into one. */
static void
scale_down(uint8_t *thumbnail, const uint8_t *pixels)
{
	for (size_t y = 0; y < HEIGHT / SCALE; y++) {
		for (size_t x = 0; x < WIDTH / SCALE * PIXEL_BYTES; x++) {
			const uint8_t *from = pixels + y * SCALE * WIDTH * PIXEL_BYTES +
					      x * SCALE;
			unsigned sum = 0;

			for (size_t row = 0; row < SCALE; row++)
				sum += from[row * WIDTH * PIXEL_BYTES];
			thumbnail[y * (WIDTH / SCALE) * PIXEL_BYTES + x] = (uint8_t)(sum /
										     SCALE);
		}
	}
}

/*
 * Decodes all strips into `pixels` and calls Java for each.  False: exception, or out of
 * memory.
 */
static MIXED_NOINLINE int
gallery_decode(JNIEnv *env, jobject listener, jmethodID on_strip, const uint8_t *encoded,
	size_t length, uint8_t *pixels)
{
	for (int i = 0; i < STRIPS; i++) {
		uint8_t *strip = gallery_strip_buffer();

		if (!strip)
			return 0;
		decode_strip(strip, encoded, length, (uint32_t)i);
		memcpy(pixels + (size_t)i * STRIP_BYTES, strip, STRIP_BYTES);
		free(strip);
		(*env)->CallVoidMethod(env, listener, on_strip, i);
		if ((*env)->ExceptionCheck(env))
			return 0;
	}
	return 1;
}

static MIXED_NOINLINE jbyteArray
gallery_thumbnail(JNIEnv *env, const uint8_t *pixels)
{
	jbyteArray array = (*env)->NewByteArray(env, THUMBNAIL_BYTES);
	jbyte *elements;

	if (!array)
		return NULL;
	elements = (*env)->GetPrimitiveArrayCritical(env, array, NULL);
	if (elements) {
		scale_down((uint8_t *)elements, pixels);
		(*env)->ReleasePrimitiveArrayCritical(env, array, elements, 0);
	}
	return array;
}

JNIEXPORT jbyteArray JNICALL
Java_mixed_Gallery_thumbnail(JNIEnv *env, jobject gallery, jbyteArray photo)
{
	jmethodID on_strip = (*env)->GetMethodID(
		env, (*env)->GetObjectClass(env, gallery), "onStrip", "(I)V");
	jsize length = (*env)->GetArrayLength(env, photo);
	jbyte *encoded = on_strip ? (*env)->GetByteArrayElements(env, photo, NULL) : NULL;
	uint8_t *pixels = encoded ? gallery_photo_buffer() : NULL;
	jbyteArray thumbnail = NULL;

	if (pixels) {
		gallery_remember_metadata((uint8_t *)encoded, (size_t)length);
		if (gallery_decode(
			    env, gallery, on_strip, (uint8_t *)encoded, (size_t)length, pixels))
			thumbnail = gallery_thumbnail(env, pixels);
	}
	free(pixels);
	if (encoded)
		(*env)->ReleaseByteArrayElements(env, photo, encoded, JNI_ABORT);
	return thumbnail;
}
