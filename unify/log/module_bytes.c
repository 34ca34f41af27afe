/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing of the process is changed: its memory is copied, and its files are read.
 */
#include "unify/log/module_bytes.h"

#include "unify/base/align.h"
#include "unify/base/observed.h"
#include "unify/base/system.h"
#include "unify/log/module_elf.h"
#include "unify/shared/hash.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reading */

static bool
read_image(const struct th_elf_bytes *from, uint64_t at, void *to, size_t count)
{
	const struct th_module_bytes *bytes = (const struct th_module_bytes *)from;

	return at <= bytes->end && count <= bytes->end - at &&
	       th_observed_copy(from->bias + at, to, count);
}

static bool
read_file(const struct th_elf_bytes *from, uint64_t at, void *to, size_t count)
{
	const struct th_module_bytes *bytes = (const struct th_module_bytes *)from;

	return at <= INT64_MAX &&
	       th_system_pread(bytes->descriptor, to, count, (off_t)at) == (ssize_t)count;
}

/* Files */

static bool
open_file(const char *path, struct th_module_bytes *ret)
{
	struct stat status;
	/* Opening a named pipe would wait for a writer. */
	int descriptor = th_system_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);

	if (descriptor < 0)
		return false;
	if (fstat(descriptor, &status) || !S_ISREG(status.st_mode)) {
		th_system_close(descriptor);
		return false;
	}
	ret->descriptor = descriptor;
	ret->elf = (struct th_elf_bytes){.read = read_file};
	return true;
}

/* Whether the file begins as the loaded module: with its headers, and usually its build id. */
static bool
has_same_head(const struct th_module_bytes *file, const struct th_module *module)
{
	char head[TH_MODULE_HEAD_BYTES];

	return module->head && file->elf.read(&file->elf, 0, head, sizeof(head)) &&
	       th_hash_bytes(TH_HASH_START, head, sizeof(head)) == module->head;
}

/* Opens the file at `path` if it is the module's. */
static bool
open_own_file(const char *path, const struct th_module *module, struct th_module_bytes *ret)
{
	if (*path != '/' || !open_file(path, ret))
		return false;
	if (has_same_head(ret, module))
		return true;
	th_module_bytes_close(ret);
	return false;
}

/*
 * /proc/self/map_files has one entry for each mapping, by its exact range: here the one with the
 * ELF header.  Without the loader's lock, since files may be slow; the module may be unloaded
 * meanwhile.
 */
static bool
open_mapped_file(const struct th_module *module, uintptr_t end, struct th_module_bytes *ret)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx",
		(unsigned long)module->start, (unsigned long)end);
	return open_own_file(path, module, ret);
}

/* The loaded object */

struct visit {
	const struct th_module *module;
	enum th_module_source source;
	struct th_module_bytes *ret;
	uintptr_t end; /* of the mapping with the ELF header */
	bool found;
};

/* By build id; without one by name, which ends the path as th_module_find() stored it. */
static bool
is_module(const struct th_module *module, const struct th_elf *elf, const char *name)
{
	struct th_build_id build_id = th_elf_build_id(elf);
	size_t path = strlen(module->path);
	size_t length = name ? strlen(name) : 0;

	if (module->build_id_bytes)
		return build_id.count == module->build_id_bytes &&
		       !memcmp(build_id.bytes, module->build_id, build_id.count);
	return length <= path &&
	       !memcmp(module->path + path - length, name ? name : "", length);
}

/* The end of the mapping with the ELF header; 0: there is none. */
static uintptr_t
end_of_first(const struct th_elf *elf)
{
	for (size_t i = 0; i < elf->count; i++) {
		const ElfW(Phdr) *segment = &elf->headers[i];

		if (segment->p_type == PT_LOAD && !segment->p_offset)
			return th_align_up(elf->bias + segment->p_vaddr + segment->p_filesz,
				(uintptr_t)sysconf(_SC_PAGESIZE));
	}
	return 0;
}

static bool
open_image(const struct th_elf *elf, const struct th_module *module, uint64_t unloads,
	struct th_module_bytes *ret)
{
	const void *dynamic = th_elf_segment(elf, PT_DYNAMIC);

	ret->end = module->end - elf->bias;
	ret->unloads = unloads;
	ret->elf = (struct th_elf_bytes){
		.read = read_image,
		.dynamic = (uintptr_t)dynamic - elf->bias,
		.bias = elf->bias,
	};
	return dynamic != NULL;
}

static int
open_object(struct dl_phdr_info *info, size_t bytes, void *closure)
{
	struct th_elf elf = {info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr};
	struct visit *visit = closure;
	const struct th_module *module = visit->module;
	uintptr_t start;
	uintptr_t end;

	(void)bytes;
	if (elf.bias != module->bias)
		return 0;
	th_elf_range(&elf, &start, &end);
	if (th_align_down(start, TH_PAGE_BYTES) != module->start ||
		!is_module(module, &elf, info->dlpi_name))
		return 0;
	visit->end = end_of_first(&elf);
	visit->found = visit->source != TH_SOURCE_IMAGE ||
		       open_image(&elf, module, info->dlpi_subs, visit->ret);
	return 1;
}

static int
read_unloads(struct dl_phdr_info *info, size_t bytes, void *closure)
{
	(void)bytes;
	*(uint64_t *)closure = info->dlpi_subs;
	return 1;
}

bool
th_module_bytes_open(const struct th_module *module, enum th_module_source source,
	struct th_module_bytes *ret)
{
	struct visit visit = {module, source, ret, 0, false};

	*ret = (struct th_module_bytes){.descriptor = -1};
	if (source == TH_SOURCE_PATH)
		return open_own_file(module->path, module, ret);
	th_loader_visit(open_object, &visit);
	if (visit.found && source == TH_SOURCE_MAP_FILES)
		return open_mapped_file(module, visit.end, ret);
	return visit.found;
}

bool
th_module_bytes_are_valid(const struct th_module_bytes *bytes)
{
	uint64_t unloads = bytes->unloads;

	return !bytes->elf.dynamic ||
	       (th_loader_visit(read_unloads, &unloads) && unloads == bytes->unloads);
}

void
th_module_bytes_close(struct th_module_bytes *bytes)
{
	if (bytes->descriptor >= 0)
		th_system_close(bytes->descriptor);
	bytes->descriptor = -1;
}
