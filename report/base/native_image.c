/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/native_image.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <unistd.h>

#define SECTION ".svm_heap"

static bool
has_section(Elf *elf)
{
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;

		if (name && !strcmp(name, SECTION))
			return true;
	}
	return false;
}

bool
th_native_image_is(const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);

	elf_version(EV_CURRENT);
	Elf *elf = file >= 0 ? elf_begin(file, ELF_C_READ, NULL) : NULL;
	bool is_image = elf && has_section(elf);
	elf_end(elf);
	if (file >= 0)
		close(file);
	return is_image;
}
