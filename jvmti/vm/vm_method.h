/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A method of the VM by its address (Method*), without a call of the VM: its names, its bytecodes and its
 * line numbers.  The VM needs no jmethodID for it.  The methods of a frame of compiled code, inlined ones
 * included, from the debug information that the VM keeps with the code (pcDesc.hpp, scopeDesc.cpp,
 * debugInfo.hpp).
 */
#ifndef TH_JVMTI_VM_VM_METHOD_H
#define TH_JVMTI_VM_VM_METHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jvmti/vm/hotspot.h"

/* JVM_ACC_NATIVE */
#define TH_ACCESS_NATIVE 0x100

struct th_vm_method {
	uintptr_t bytecodes;
	uint16_t bytes; /* of them */
	uint16_t access;
	uintptr_t lines; /* the compressed table; 0: none */
	/* Symbols; `source_file` 0: unknown */
	uintptr_t class_name;
	uintptr_t name;
	uintptr_t signature;
	uintptr_t source_file;
};

/*
 * Reads the method, which must not be unloaded meanwhile; false: it is none.  All reads are checked,
 * those of `ret` too. [in-malloc]
 */
bool
th_vm_method_read(const struct th_hotspot *hotspot, uintptr_t method, struct th_vm_method *ret);

/* The text of a symbol, cut to `capacity` - 1 bytes; its length, 0: unreadable. [in-malloc] */
size_t th_vm_symbol_read(
	const struct th_hotspot *hotspot, uintptr_t symbol, char *text, size_t capacity);

/* `hash`, continued with the text of a symbol and a byte 0; 0: it is none. [in-malloc] */
uint64_t th_vm_symbol_hash(const struct th_hotspot *hotspot, uintptr_t symbol, uint64_t hash);

/*
 * The signature of a class as JVMTI's GetClassSignature gives it, by the symbol of its name.
 * [in-malloc]
 */
size_t th_vm_class_signature_read(
	const struct th_hotspot *hotspot, uintptr_t symbol, char *text, size_t capacity);

/*
 * The line number table, bytecode index << 32 | line, in the order of the VM; the number of entries.
 * [in-malloc]
 */
uint32_t th_vm_method_lines(const struct th_hotspot *hotspot, const struct th_vm_method *method,
	uint64_t *lines, uint32_t capacity);

/* A method in a frame. */
struct th_scope {
	uintptr_t method; /* Method* */
	int32_t bci;      /* -1: at the entry of a synchronized method */
};

/*
 * The methods at the return address `pc` in the nmethod `blob`, the innermost first; their number, 0:
 * unknown, or more than `capacity`.  All reads are checked. [in-malloc]
 */
uint32_t th_scopes_read(const struct th_hotspot *hotspot, uintptr_t blob, uintptr_t pc,
	struct th_scope *scopes, uint32_t capacity);

#endif
