/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/cuda_find.c - which libcuda a process has mapped, as seen from here, and
 * where in that file its functions begin.
 *
 * A container has a libcuda of its own, by a path of its own: it is reached through
 * /proc/PID/root; one that was replaced since it was mapped, through /proc/PID/map_files.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuda.h"

/* "7f..-7f.. r-xp 00000000 fe:00 123   /path": the path begins after the inode. */
bool cuda_maps_line(const char *line, const char *library, struct cuda_mapping *ret)
{
	uint64_t from, to, offset, inode;
	unsigned int major, minor;
	char rights[5];
	int at = 0;
	const char *path, *base;
	size_t n;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &from, &to, rights, &offset, &major,
		   &minor, &inode, &at) != 7 || !at)
		return false;
	path = line + at;
	n = strcspn(path, "\n");
	if (n == 0 || n >= sizeof(ret->path) || path[0] != '/')
		return false;
	memcpy(ret->path, path, n);
	ret->path[n] = '\0';
	ret->deleted = n > 10 && strcmp(ret->path + n - 10, " (deleted)") == 0;
	if (ret->deleted)
		ret->path[n - 10] = '\0';
	base = strrchr(ret->path, '/') + 1;
	if (strncmp(base, library, strlen(library)) != 0)
		return false;
	ret->from = from;
	ret->to = to;
	ret->inode = inode;
	return true;
}

int cuda_find(const char *procfs, uint32_t pid, const char *library, char *ret, size_t room)
{
	struct cuda_mapping m;
	char path[64 + 256], line[CUDA_PATH_MAX + 128];
	bool found = false;
	struct stat st;
	FILE *f;

	snprintf(path, sizeof(path), "%.200s/%u/maps", procfs, pid);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!found && fgets(line, sizeof(line), f))
		found = cuda_maps_line(line, library, &m);
	fclose(f);
	if (!found)
		return -ENOENT;
	if (!m.deleted) {
		if (snprintf(ret, room, "%s/%u/root%s", procfs, pid, m.path) >= (int)room)
			return -ENAMETOOLONG;
		if (stat(ret, &st) == 0 && st.st_ino == m.inode)
			return 0;
	}
	if (snprintf(ret, room, "%s/%u/map_files/%" PRIx64 "-%" PRIx64, procfs, pid, m.from, m.to) >= (int)room)
		return -ENAMETOOLONG;
	return stat(ret, &st) == 0 ? 0 : -errno;
}

/* Uprobes are placed by offset in the file: a symbol's address, by the segment that has it. */
static uint64_t offset_of(Elf *elf, uint64_t address)
{
	size_t n;

	if (elf_getphdrnum(elf, &n))
		return 0;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;

		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && (p.p_flags & PF_X) && address >= p.p_vaddr &&
		    address < p.p_vaddr + p.p_filesz)
			return address - p.p_vaddr + p.p_offset;
	}
	return 0;
}

static void section_symbols(Elf *elf, Elf_Scn *scn, const GElf_Shdr *header, struct cuda_symbol *symbols, size_t n)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t count = data && header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	for (size_t i = 0; i < count; i++) {
		GElf_Sym sym;
		const char *name;

		if (!gelf_getsym(data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF || GELF_ST_TYPE(sym.st_info) != STT_FUNC)
			continue;
		name = elf_strptr(elf, header->sh_link, sym.st_name);
		for (size_t k = 0; name && k < n; k++)
			if (!symbols[k].offset && strcmp(symbols[k].name, name) == 0)
				symbols[k].offset = offset_of(elf, sym.st_value);
	}
}

static int elf_open(const char *file, int *ret_fd, Elf **ret)
{
	int fd;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ELIBBAD;
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret = elf_begin(fd, ELF_C_READ, NULL);
	if (!*ret || elf_kind(*ret) != ELF_K_ELF) {
		elf_end(*ret);
		close(fd);
		return -ENOEXEC;
	}
	*ret_fd = fd;
	return 0;
}

int cuda_symbols(const char *file, struct cuda_symbol *symbols, size_t n)
{
	Elf_Scn *scn = NULL;
	Elf *elf = NULL;
	int fd = -1, found = 0, err = elf_open(file, &fd, &elf);

	if (err)
		return err;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr header;

		if (gelf_getshdr(scn, &header) && header.sh_type == SHT_DYNSYM)
			section_symbols(elf, scn, &header, symbols, n);
	}
	for (size_t i = 0; i < n; i++) {
		if (!symbols[i].offset)
			continue;
		found++;
		if (pread(fd, symbols[i].code, sizeof(symbols[i].code), (off_t)symbols[i].offset) != sizeof(symbols[i].code))
			memset(symbols[i].code, 0, sizeof(symbols[i].code)); /* the dearer price */
	}
	elf_end(elf);
	close(fd);
	return found;
}

int cuda_file_offset(const char *file, uint64_t address, uint64_t *ret)
{
	Elf *elf = NULL;
	int fd = -1, err = elf_open(file, &fd, &elf);
	uint64_t offset;

	if (err)
		return err;
	offset = offset_of(elf, address);
	elf_end(elf);
	close(fd);
	if (!offset)
		return -ENOENT;
	*ret = offset;
	return 0;
}
