/* SPDX-License-Identifier: Apache-2.0 */
/* The native methods of leaks.Native. */
#include <fcntl.h>
#include <jni.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "leaks_Native.h"
#include "unify/shared/log_format.h"

/* A separate function, so that stacks show more than the JNI function. */
static __attribute__((noinline)) void *
leak_block(size_t bytes)
{
	char *block = malloc(bytes);

	if (block)
		block[0] = 1;
	__asm__ volatile("" : : "r"(block) : "memory");
	return block;
}

JNIEXPORT jlong JNICALL
Java_leaks_Native_allocate(JNIEnv *env, jclass class, jlong bytes)
{
	(void)env;
	(void)class;
	return (jlong)(uintptr_t)leak_block((size_t)bytes);
}

JNIEXPORT void JNICALL
Java_leaks_Native_free(JNIEnv *env, jclass class, jlong address)
{
	(void)env;
	(void)class;
	free((void *)(uintptr_t)address);
}

JNIEXPORT jlong JNICALL
Java_leaks_Native_length(JNIEnv *env, jclass class, jstring text, jboolean release)
{
	const char *copy = (*env)->GetStringUTFChars(env, text, NULL);
	jlong length;

	(void)class;
	if (!copy)
		return -1;
	length = (jlong)strlen(copy);
	if (release)
		(*env)->ReleaseStringUTFChars(env, text, copy);
	return length;
}

JNIEXPORT jlong JNICALL
Java_leaks_Native_newReference(JNIEnv *env, jclass class, jobject object)
{
	(void)class;
	return (jlong)(uintptr_t)(*env)->NewGlobalRef(env, object);
}

JNIEXPORT void JNICALL
Java_leaks_Native_deleteReference(JNIEnv *env, jclass class, jlong reference)
{
	(void)class;
	(*env)->DeleteGlobalRef(env, (jobject)(uintptr_t)reference);
}

/*
 * An allocator that does not use malloc: chunks are mapped, each twice the size of the last,
 * and cut into pieces of one size; returned pieces are reused.  No chunk is ever unmapped.
 */
#define PIECE_BYTES ((size_t)64 << 10)
#define FIRST_CHUNK_BYTES ((size_t)1 << 20)

struct piece {
	struct piece *next;
};

/* Used by one thread only. */
static struct {
	struct piece *free;
	char *next; /* of the last chunk */
	char *end;
	size_t chunk_bytes;
} arena;

static __attribute__((noinline)) int
add_chunk(void)
{
	size_t bytes = arena.chunk_bytes ? 2 * arena.chunk_bytes : FIRST_CHUNK_BYTES;
	char *chunk = mmap(
		NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (chunk == MAP_FAILED)
		return -1;
	/* Huge pages of 2 MiB would become resident before their pieces are handed out. */
	madvise(chunk, bytes, MADV_NOHUGEPAGE);
	arena.next = chunk;
	arena.end = chunk + bytes;
	arena.chunk_bytes = bytes;
	return 0;
}

static struct piece *
take_piece(void)
{
	struct piece *piece = arena.free;

	if (piece) {
		arena.free = piece->next;
		return piece;
	}
	if (arena.next == arena.end && add_chunk())
		return NULL;
	piece = (struct piece *)arena.next;
	arena.next += PIECE_BYTES;
	return piece;
}

JNIEXPORT jlong JNICALL
Java_leaks_Native_takePiece(JNIEnv *env, jclass class)
{
	struct piece *piece = take_piece();

	(void)env;
	(void)class;
	if (piece)
		memset(piece, 1, PIECE_BYTES);
	return (jlong)(uintptr_t)piece;
}

JNIEXPORT void JNICALL
Java_leaks_Native_givePiece(JNIEnv *env, jclass class, jlong address)
{
	struct piece *piece = (struct piece *)(uintptr_t)address;

	(void)env;
	(void)class;
	piece->next = arena.free;
	arena.free = piece;
}

/*
 * Access to the recording of this process, if its log has a name: the same as `twinheap ctl LOG
 * flush`, without another process, which would be recorded too.
 */
#define NAP_US 1000
#define NAPS_MAX 60000

static struct th_log_header *
map_log(int file)
{
	void *header = mmap(
		NULL, TH_LOG_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	return header == MAP_FAILED ? NULL : header;
}

/* Requests a flush; true when it is done. */
static bool
flush_log(struct th_log_control *control)
{
	uint32_t number = control->asked + 1;

	control->verb = TH_CONTROL_FLUSH;
	/* The library reads `asked` first, and then the request's fields. */
	__atomic_store_n(&control->asked, number, __ATOMIC_RELEASE);
	__atomic_add_fetch(&control->calls, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &control->calls, FUTEX_WAKE, 1, NULL, NULL, 0);
	for (int i = 0; i < NAPS_MAX; i++) {
		if (__atomic_load_n(&control->served, __ATOMIC_ACQUIRE) == number)
			return true;
		usleep(NAP_US);
	}
	return false;
}

JNIEXPORT jboolean JNICALL
Java_leaks_Native_flushRecording(JNIEnv *env, jclass class)
{
	const char *path = getenv("TWINHEAP_OUTPUT");
	int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	struct th_log_header *header = file >= 0 && !flock(file, LOCK_EX) ? map_log(file)
									  : NULL;
	bool is_done = header && flush_log(&header->control);

	(void)env;
	(void)class;
	if (header)
		munmap(header, TH_LOG_HEADER_BYTES);
	if (file >= 0)
		close(file);
	return is_done || !path;
}
