/* SPDX-License-Identifier: Apache-2.0 */
#include "report/control/java_process.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "report/base/log_text.h"
#include "report/control/running.h"

#define LIBRARY "libtwinheap"

/* /proc/PID/status */

static void
read_status(const char *status, struct th_java_process *ret)
{
	const char *uid = strstr(status, "\nUid:");
	const char *gid = strstr(status, "\nGid:");
	const char *caught = strstr(status, "\nSigCgt:");

	if (uid)
		sscanf(uid, " Uid: %*u %u", &ret->uid);
	if (gid)
		sscanf(gid, " Gid: %*u %u", &ret->gid);
	if (caught)
		ret->handles_quit =
			strtoull(strchr(caught, ':') + 1, NULL, 16) >> (SIGQUIT - 1) & 1;
}

/* Performance counters (perfMemory.hpp, perfData.hpp) */

struct prologue {
	uint32_t magic;
	uint8_t byte_order;
	uint8_t major, minor, accessible;
	int32_t used, overflow;
	int64_t modified;
	int32_t entry_offset, entry_count;
};

struct entry {
	int32_t bytes, name_offset, length;
	uint8_t type, flags, unit, variability;
	int32_t data_offset;
};

/* The text of a counter, within `bytes`; NULL: there is none. */
static const char *
find_counter(const char *data, size_t bytes, const char *name)
{
	struct prologue prologue;
	struct entry entry;
	size_t at;

	if (bytes < sizeof(prologue))
		return NULL;
	memcpy(&prologue, data, sizeof(prologue));
	at = (size_t)prologue.entry_offset;
	for (int32_t i = 0; i < prologue.entry_count && at + sizeof(entry) < bytes; i++) {
		memcpy(&entry, data + at, sizeof(entry));
		if (entry.bytes < (int32_t)sizeof(entry) || at + (size_t)entry.bytes > bytes ||
			entry.name_offset < 0 || entry.name_offset >= entry.bytes ||
			entry.data_offset < 0 || entry.data_offset >= entry.bytes)
			return NULL;
		if (!strcmp(data + at + entry.name_offset, name))
			return data + at + entry.data_offset;
		at += (size_t)entry.bytes;
	}
	return NULL;
}

static void
set_version(struct th_java_process *ret, const char *version, size_t length)
{
	snprintf(ret->version, sizeof(ret->version), "%.*s", (int)length, version);
	ret->release = (unsigned)strtoul(ret->version, NULL, 10);
}

static void
read_counters(const char *name, struct th_java_process *ret)
{
	size_t bytes;
	char *data = th_running_proc(ret->pid, name, &bytes);
	const char *found = find_counter(data, bytes, "java.property.java.vm.version");

	if (found)
		set_version(ret, found, strcspn(found, "-"));
	found = find_counter(data, bytes, "sun.rt.jvmCapabilities");
	if (found)
		ret->refuses_attach = *found == '0';
	free(data);
}

/* Without counters (-XX:-UsePerfData): the file beside the VM's libraries. */
static void
read_release(const char *libjvm, struct th_java_process *ret)
{
	static const char key[] = "JAVA_VERSION=\"";
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "root%s", libjvm);
	for (int i = 0; i < 3 && strrchr(path, '/'); i++)
		*strrchr(path, '/') = '\0';
	strncat(path, "/release", sizeof(path) - strlen(path) - 1);
	char *text = th_running_proc(ret->pid, path, NULL);
	const char *found = strstr(text, key);
	if (found)
		set_version(ret, found + strlen(key), strcspn(found + strlen(key), "\""));
	free(text);
}

/* /proc/PID/maps */

/* Removes what the kernel appends to the path of a deleted file. */
static void
copy_path(char ret[PATH_MAX], const char *path)
{
	static const char deleted[] = " (deleted)";
	bool is_deleted = th_text_ends(th_text_of(path), deleted);

	snprintf(ret, PATH_MAX, "%.*s",
		(int)(strlen(path) - (is_deleted ? strlen(deleted) : 0)), path);
}

struct files {
	char libjvm[PATH_MAX];
	char counters[PATH_MAX];
	bool has_j9;
};

static void
read_mapped_file(const char *path, struct th_java_process *ret, struct files *files)
{
	const char *name = strrchr(path, '/') + 1;

	if (!strncmp(name, "libjvm.so", 9))
		copy_path(files->libjvm, path);
	else if (!strncmp(name, "libj9vm", 7))
		files->has_j9 = true;
	else if (!strncmp(name, LIBRARY ".", strlen(LIBRARY ".")))
		copy_path(ret->library, path);
	else if (strstr(path, "/hsperfdata_"))
		copy_path(files->counters, path);
}

static void
read_maps(struct th_java_process *ret)
{
	struct files files = {.has_j9 = false};
	char path[2 * PATH_MAX];
	char *line = NULL;
	size_t room = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)ret->pid);
	FILE *maps = fopen(path, "re");
	while (maps && getline(&line, &room, maps) > 0) {
		const char *file = strchr(line, '/');

		line[strcspn(line, "\n")] = '\0';
		ret->is_readable = true;
		if (file)
			read_mapped_file(file, ret, &files);
	}
	free(line);
	if (maps)
		fclose(maps);
	ret->has_vm = files.libjvm[0] && !files.has_j9;
	ret->is_openj9 = files.has_j9;
	if (files.counters[0]) {
		snprintf(path, sizeof(path), "root%s", files.counters);
		read_counters(path, ret);
	}
	if (ret->has_vm && !ret->release)
		read_release(files.libjvm, ret);
}

/* The command line and the environment */

static void
read_options(struct th_java_process *ret)
{
	static const char *const sources[] = {"cmdline", "environ"};
	static const char no_attach[] = "-XX:+DisableAttachMechanism";
	static const char no_agents[] = "-XX:-EnableDynamicAgentLoading";

	for (size_t i = 0; i < 2; i++) {
		size_t bytes;
		char *texts = th_running_proc(ret->pid, sources[i], &bytes);

		ret->refuses_attach |= memmem(texts, bytes, no_attach, strlen(no_attach)) !=
				       NULL;
		ret->forbids_agents |= memmem(texts, bytes, no_agents, strlen(no_agents)) !=
				       NULL;
		free(texts);
	}
}

bool
th_java_process_read(pid_t pid, struct th_java_process *ret)
{
	char *status = th_running_proc(pid, "status", NULL);
	bool exists = *status;

	*ret = (struct th_java_process){
		.pid = pid, .inside = (pid_t)th_running_pid_inside(pid)};
	read_status(status, ret);
	free(status);
	if (!exists)
		return false;
	read_maps(ret);
	read_options(ret);
	return true;
}

int
th_java_process_open(const struct th_java_process *process, const char *path)
{
	const struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	char name[PATH_MAX + 64];
	int root, directory;

	snprintf(name, sizeof(name), "/proc/%d/root", (int)process->pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	directory = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (directory < 0 && errno == ENOSYS) {
		strncat(name, path, sizeof(name) - strlen(name) - 1);
		directory = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	}
	close(root);
	return directory;
}

bool
th_java_process_is_preloaded(pid_t pid)
{
	const char *list = th_running_variable(pid, "LD_PRELOAD");

	return list && strstr(list, LIBRARY);
}

/* Native images */

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

		if (name && !strcmp(name, ".svm_heap"))
			return true;
	}
	return false;
}

bool
th_java_process_is_native_image(const char *path)
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
