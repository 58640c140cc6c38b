/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/cuda_find.c - which libcuda a process has mapped, as seen from here, and
 * where in that file its functions begin.
 *
 * A container has a libcuda of its own, by a path of its own: it is reached through
 * /proc/PID/root; one that was replaced since it was mapped, through /proc/PID/map_files.
 *
 * The process's owner chooses the file, its file system and how many mappings there are.  Each size here is bounded,
 * and only a regular file is opened.  A file system of his may not answer all the same, and his process's mmap_lock may
 * never be free (/proc/PID/maps waits for it): cuda.c calls this on a thread that it can leave behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuda.h"

#define MAPS_MAX \
	(16u << 20) /* of /proc/PID/maps: 160,000 mappings at 100 bytes a line; the kernel's default limit is 65,530 */
#define SEGMENTS_MAX 128u
#define SECTIONS_MAX 4096u
#define SYMBOLS_MAX 65536u
#define NAMES_MAX (4u << 20)

/* "7f..-7f.. r-xp 00000000 fe:00 123   /path": the path begins after the inode. */
bool cuda_maps_line(const char *line, const char *library, struct cuda_mapping *ret)
{
	uint64_t from, to, offset, inode;
	unsigned int major, minor;
	char rights[5];
	int at = 0;
	const char *path, *base;
	size_t n;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &from, &to, rights, &offset,
		   &major, &minor, &inode, &at) != 7 ||
	    !at)
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

/*
 * Opens a regular file, or returns -ENOEXEC. Opens it by O_PATH first: to open a device or a FIFO has effects, or
 * blocks.
 */
static int open_regular(const char *path, uint64_t inode, int *ret_fd)
{
	int fd = open(path, O_PATH | O_CLOEXEC), opened, err = 0;
	char link[64];
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -ENOEXEC;
	else if (inode && st.st_ino != inode)
		err = -ESTALE;
	if (!err) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		opened = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (opened < 0)
			err = -errno;
		else
			*ret_fd = opened;
	}
	close(fd);
	return err;
}

/* 0, -ENOENT or -E2BIG. */
static int find_line(FILE *f, const char *library, struct cuda_mapping *ret)
{
	char line[CUDA_PATH_MAX + 128];
	bool begins = true;
	size_t total = 0;

	while (fgets(line, sizeof(line), f)) {
		size_t n = strlen(line);

		if (begins && cuda_maps_line(line, library, ret))
			return 0;
		begins = line[n - 1] == '\n'; /* otherwise the rest of a long path follows */
		total += n;
		if (total > MAPS_MAX)
			return -E2BIG;
	}
	return -ENOENT;
}

int cuda_find(const char *procfs, uint32_t pid, const char *library, char *ret, size_t room, int *ret_fd)
{
	struct cuda_mapping m;
	char path[64 + 256];
	FILE *f;
	int err;

	snprintf(path, sizeof(path), "%.200s/%u/maps", procfs, pid);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	err = find_line(f, library, &m);
	fclose(f);
	if (err)
		return err;
	if (!m.deleted) {
		if (snprintf(ret, room, "%s/%u/root%s", procfs, pid, m.path) >= (int)room)
			return -ENAMETOOLONG;
		if (open_regular(ret, m.inode, ret_fd) == 0)
			return 0;
	}
	if (snprintf(ret, room, "%s/%u/map_files/%" PRIx64 "-%" PRIx64, procfs, pid, m.from, m.to) >= (int)room)
		return -ENAMETOOLONG;
	return open_regular(ret, 0, ret_fd);
}

/* ---- ELF: of this machine's class and byte order, by pread ------------------------------- */

struct elf {
	int fd;
	ElfW(Ehdr) header;
	ElfW(Phdr) segments[SEGMENTS_MAX];
};

static bool read_at(int fd, void *to, size_t n, uint64_t at)
{
	return at <= INT64_MAX - n && pread(fd, to, n, (off_t)at) == (ssize_t)n;
}

static int elf_read(int fd, struct elf *ret)
{
	const ElfW(Ehdr) *h = &ret->header;
	const unsigned char class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
	const unsigned char order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;

	ret->fd = fd;
	if (!read_at(fd, &ret->header, sizeof(ret->header), 0) || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
	    h->e_ident[EI_CLASS] != class || h->e_ident[EI_DATA] != order || h->e_phentsize != sizeof(ret->segments[0]))
		return -ENOEXEC;
	if (h->e_phnum > SEGMENTS_MAX || h->e_shnum > SECTIONS_MAX)
		return -E2BIG;
	return read_at(fd, ret->segments, h->e_phnum * sizeof(ret->segments[0]), h->e_phoff) ? 0 : -ENOEXEC;
}

/* Uprobes are placed by file offset: the segment that contains a symbol's address gives the offset. */
static uint64_t offset_of(const struct elf *elf, uint64_t address)
{
	for (size_t i = 0; i < elf->header.e_phnum; i++) {
		const ElfW(Phdr) *p = &elf->segments[i];

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && address >= p->p_vaddr &&
		    address - p->p_vaddr < p->p_filesz)
			return address - p->p_vaddr + p->p_offset;
	}
	return 0;
}

static bool section(const struct elf *elf, size_t i, ElfW(Shdr) *ret)
{
	return elf->header.e_shentsize == sizeof(*ret) && i < elf->header.e_shnum &&
	       read_at(elf->fd, ret, sizeof(*ret), elf->header.e_shoff + i * sizeof(*ret));
}

static void match(const struct elf *elf, const ElfW(Sym) *sym, const char *name, struct cuda_symbol *symbols, size_t n)
{
	if (sym->st_shndx == SHN_UNDEF || (sym->st_info & 15) != STT_FUNC)
		return;
	for (size_t k = 0; k < n; k++)
		if (!symbols[k].offset && strcmp(symbols[k].name, name) == 0)
			symbols[k].offset = offset_of(elf, sym->st_value);
}

/* A file has one table of dynamic symbols. */
static int dynamic_symbols(const struct elf *elf, struct cuda_symbol *symbols, size_t n)
{
	ElfW(Shdr) table = { 0 }, strings = { 0 };
	ElfW(Sym) *syms = NULL;
	char *names = NULL;
	size_t i = 0;
	int err = 0;

	while (section(elf, i, &table) && table.sh_type != SHT_DYNSYM)
		i++;
	if (table.sh_type != SHT_DYNSYM || !section(elf, table.sh_link, &strings))
		return -ENOENT;
	if (table.sh_size > SYMBOLS_MAX * sizeof(*syms) || strings.sh_size > NAMES_MAX)
		return -E2BIG;
	syms = malloc(table.sh_size + 1);
	names = malloc(strings.sh_size + 1);
	if (!syms || !names)
		err = -ENOMEM;
	else if (!read_at(elf->fd, syms, table.sh_size, table.sh_offset) ||
		 !read_at(elf->fd, names, strings.sh_size, strings.sh_offset))
		err = -ENOEXEC;
	if (!err) {
		names[strings.sh_size] = '\0';
		for (i = 0; i < table.sh_size / sizeof(*syms); i++)
			if (syms[i].st_name < strings.sh_size)
				match(elf, &syms[i], names + syms[i].st_name, symbols, n);
	}
	free(syms);
	free(names);
	return err;
}

int cuda_symbols(int fd, struct cuda_symbol *symbols, size_t n)
{
	struct elf elf;
	int found = 0, err = elf_read(fd, &elf) ?: dynamic_symbols(&elf, symbols, n);

	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		if (!symbols[i].offset)
			continue;
		found++;
		if (!read_at(fd, symbols[i].code, sizeof(symbols[i].code), symbols[i].offset))
			memset(symbols[i].code, 0, sizeof(symbols[i].code)); /* assume the higher price */
	}
	return found;
}

int cuda_file_offset(const char *file, uint64_t address, uint64_t *ret)
{
	struct elf elf;
	int fd = -1, err = open_regular(file, 0, &fd);
	uint64_t offset;

	if (err)
		return err;
	err = elf_read(fd, &elf);
	close(fd);
	if (err)
		return err;
	offset = offset_of(&elf, address);
	if (!offset)
		return -ENOENT;
	*ret = offset;
	return 0;
}
