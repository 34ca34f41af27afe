/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/native_image.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define SECTION ".svm_heap"
/* More sections than any linker writes for a program. */
#define SECTIONS_MAX 512

static bool
read_section(int file, const Elf64_Ehdr *header, unsigned index, Elf64_Shdr *ret)
{
	off_t offset = (off_t)(header->e_shoff + (uint64_t)index * header->e_shentsize);

	return index < header->e_shnum &&
	       pread(file, ret, sizeof(*ret), offset) == sizeof(*ret);
}

static bool
has_section(int file, const Elf64_Ehdr *header)
{
	Elf64_Shdr names, section;
	char name[sizeof(SECTION)];

	if (!read_section(file, header, header->e_shstrndx, &names))
		return false;
	for (unsigned i = 0; i < SECTIONS_MAX && read_section(file, header, i, &section); i++)
		if (pread(file, name, sizeof(name),
			    (off_t)(names.sh_offset + section.sh_name)) == sizeof(name) &&
			!memcmp(name, SECTION, sizeof(name)))
			return true;
	return false;
}

bool
th_native_image_is(const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr header;
	bool is_image;

	if (file < 0)
		return false;
	is_image = pread(file, &header, sizeof(header), 0) == sizeof(header) &&
		   !memcmp(header.e_ident, ELFMAG, SELFMAG) &&
		   header.e_ident[EI_CLASS] == ELFCLASS64 && has_section(file, &header);
	close(file);
	return is_image;
}
