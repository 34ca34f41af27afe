/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a frame word of the log to its frames: one, or several if functions were inlined.
 * Functions and frames are numbered; equal ones have equal numbers.
 */
#ifndef TH_REPORT_SYMBOLS_FRAMES_H
#define TH_REPORT_SYMBOLS_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/base/terminal.h"
#include "report/log/recording.h"
#include "report/symbols/symbols.h"

enum th_function_kind {
	TH_KIND_JAVA,
	TH_KIND_NATIVE,
	TH_KIND_VM,    /* inside libjvm.so, or a frame that the report makes up */
	TH_KIND_GROUP, /* not code: a thread, a group of threads, a heap */
};

/* The style of the name of a function of this kind. */
enum th_style th_frames_style(enum th_function_kind kind);

/* The function of a frame; name and module are numbers for th_frames_string(). */
struct th_function {
	uint32_t name;
	uint32_t module;   /* path, without random parts; 0 = none */
	uint32_t build_id; /* of the module, of the first one with this path; 0 = none */
	enum th_function_kind kind;
	uint32_t library;    /* string number, equal for functions of one library */
	bool is_application; /* a Java method, and not one of the Java runtime */
	bool is_program;     /* and not of a library either (code_sources.h) */
	bool is_plumbing; /* native: of the library of C++ or Rust or a header, or named ...alloc... */
	bool is_runtime; /* of the C or C++ runtime, the dynamic linker included */
};

/* A source position in a function. */
struct th_frame {
	uint32_t function;
	uint32_t file;              /* 0 = not known */
	uint32_t line;              /* 0 = not known */
	enum th_function_kind kind; /* of the function */
	bool is_inlined;            /* its code is part of the next outer frame's */
	uint64_t word;              /* first frame word of the log with this frame; 0 = none */
};

struct th_frames;

/*
 * The recording must outlive the frames, and so must `symbols`; NULL: the frames create their own on
 * demand, with `warn` as in symbols.h.
 */
struct th_frames *th_frames_create(const struct th_recording *recording,
	struct th_symbols *symbols, th_symbols_warn *warn, void *warn_data);
void th_frames_destroy(struct th_frames *frames);

/*
 * The numbers of the frames of a word, innermost first; returns their number, at least 1.
 * *frames_ret is valid until the next call.
 */
uint32_t th_frames_expand(struct th_frames *frames, uint64_t word, const uint32_t **frames_ret);

/* The number of a frame in a function that is not in the log. */
uint32_t th_frames_special(struct th_frames *frames, const char *name, const char *module,
	enum th_function_kind kind);

/* The number of a function that stands for a group. */
uint32_t th_frames_group(struct th_frames *frames, const char *name);

/* By number; pointers are valid until something is added. */
const struct th_frame *th_frames_get(const struct th_frames *frames, uint32_t frame);
const struct th_function *th_frames_function(const struct th_frames *frames, uint32_t function);
/*
 * The kind of a frame's function. In a separate array because it is used for every frame of
 * every stack.
 */
enum th_function_kind th_frames_kind(const struct th_frames *frames, uint32_t frame);
/* The number of the function of a frame, in a separate array for the same reason. */
uint32_t th_frames_function_at(const struct th_frames *frames, uint32_t frame);
const struct th_function *th_frames_function_of(const struct th_frames *frames, uint32_t frame);
/* Whether a Java method or field is the program's own, by its name ("a.b.Class.field"). */
bool th_frames_is_of_program(struct th_frames *frames, const char *member);
const char *th_frames_string(const struct th_frames *frames, uint32_t string);
const char *th_frames_function_name(const struct th_frames *frames, uint32_t function);

/*
 * The library of a native function, without directories, for printing beside the name; "" if
 * there is none. A function without a name is called "library.so+0xoffset" and is nameless: its
 * name already contains the library.
 */
const char *th_frames_library(const struct th_frames *frames, uint32_t function);
bool th_frames_is_nameless(const struct th_frames *frames, uint32_t function);

/* Whether it is a method of one of many classes that a program generates (java_names.h). */
bool th_frames_is_generated(const struct th_frames *frames, uint32_t function);

/* Number of functions. */
uint32_t th_frames_function_count(const struct th_frames *frames);

/* The number of a string; th_frames_find_string returns TH_NO_STRING if it does not exist. */
uint32_t th_frames_intern(struct th_frames *frames, const char *string);
uint32_t th_frames_find_string(const struct th_frames *frames, const char *string);

/* The number of the name of the Java class with this JVM signature (java_names.h). */
uint32_t th_frames_intern_class(struct th_frames *frames, struct th_text signature);

/*
 * By index of the thread: whether it is one of the Java VM itself (the collector, the compilers, the VM's
 * workers): the stacks of its samples have code of the VM and never Java or other code.  Without symbol
 * lookups.  The caller frees it.
 */
bool *th_frames_find_vm_threads(const struct th_frames *frames);

#endif
