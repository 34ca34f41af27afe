/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/critical_downcall.h"

#include <string.h>

#include "jvmti/code_blob.h"

/* DowncallLinker::make_downcall_stub(). */
#define STUB_NAME "nep_invoker_blob"

bool
th_critical_downcall_is(const struct th_hotspot *hotspot, const struct th_registers *registers)
{
	uintptr_t blob;

	/* An interrupted stub may be without its frame. */
	return registers->pc && !registers->exact && th_hotspot_has_stubs(hotspot) &&
	       th_code_blob_find(hotspot, registers->pc, &blob) &&
	       th_code_blob_is_named(hotspot, blob, STUB_NAME);
}

void
th_critical_downcall_context(const struct th_registers *registers, ucontext_t *ret)
{
	mcontext_t *machine = &ret->uc_mcontext;

	memset(ret, 0, sizeof(*ret));
#if defined(__x86_64__)
	machine->gregs[REG_RIP] = (greg_t)registers->pc;
	machine->gregs[REG_RSP] = (greg_t)registers->sp;
	machine->gregs[REG_RBP] = (greg_t)registers->saved[TH_REGISTER_FRAME_POINTER];
#elif defined(__aarch64__)
	machine->pc = registers->pc;
	machine->sp = registers->sp;
	machine->regs[29] = registers->saved[TH_REGISTER_FRAME_POINTER];
#endif
}
