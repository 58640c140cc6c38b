/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/note.c - reads a plugin's identity from its ELF note, without executing the plugin's code.
 *
 * The file may contain anything, so this code checks every size and offset against its container before it
 * reads a byte. libelf only supplies headers and raw chunks (and checks the bounds of both); this code walks
 * names and notes itself.
 */
#include "core/plugin/note.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No linker writes a note section this large; skepd does not read a larger one into memory. */
#define NOTE_SECTION_MAX 65536

#if defined(__x86_64__)
#define NOTE_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define NOTE_MACHINE EM_AARCH64
#elif defined(__powerpc64__)
#define NOTE_MACHINE EM_PPC64
#elif defined(__s390x__)
#define NOTE_MACHINE EM_S390
#elif defined(__riscv)
#define NOTE_MACHINE EM_RISCV
#else
#error "core/plugin/note.c: add the ELF machine of this architecture"
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NOTE_DATA ELFDATA2LSB
#else
#define NOTE_DATA ELFDATA2MSB
#endif

/* Buffer for the cause; the text begins with the path. */
struct note_why {
	const char *path;
	char *text;
	size_t size;
};

__attribute__((format(printf, 3, 4))) static int note_fail(const struct note_why *why, int err, const char *fmt, ...)
{
	va_list args;
	int n;

	if (why->size == 0)
		return err;
	n = snprintf(why->text, why->size, "%s: ", why->path);
	if (n < 0 || (size_t)n >= why->size)
		return err;
	va_start(args, fmt);
	vsnprintf(why->text + n, why->size - (size_t)n, fmt, args);
	va_end(args);
	return err;
}

static const char *note_machine_name(unsigned machine)
{
	static const struct {
		unsigned machine;
		const char *name;
	} names[] = {
		{ EM_386, "32-bit x86" },  { EM_X86_64, "x86-64" }, { EM_ARM, "32-bit ARM" }, { EM_AARCH64, "AArch64" },
		{ EM_PPC64, "PowerPC64" }, { EM_S390, "s390x" },    { EM_RISCV, "RISC-V" },   { EM_BPF, "BPF" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].machine == machine)
			return names[i].name;
	return "another machine";
}

/* A text must end within its field, must not be empty, and may have only characters that are safe in a log line. */
static bool note_text_ok(const char *text, size_t size)
{
	size_t len = strnlen(text, size);

	if (len == 0 || len == size)
		return false;
	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return true;
}

static int note_check_form(const struct note_why *why, const char *desc, size_t desc_size, struct skep_plugin_note *ret)
{
	const size_t header = offsetof(struct skep_plugin_note, kind);
	struct skep_plugin_note note = { 0 };

	if (desc_size < header)
		return note_fail(why, -ENOEXEC,
				 "truncated plugin note: %zu bytes where at least %zu belong; rebuild the plugin",
				 desc_size, header);
	memcpy(&note, desc, header);
	if (note.magic != SKEP_NOTE_MAGIC)
		return note_fail(why, -ENOEXEC,
				 "bad magic 0x%08x in the plugin note, expected 0x%08x; "
				 "the file is damaged or no skep plugin",
				 note.magic, SKEP_NOTE_MAGIC);
	if (note.abi_major == SKEP_ABI_MAJOR && desc_size < sizeof(note))
		return note_fail(why, -ENOEXEC, "truncated plugin note: %zu bytes where %zu belong; rebuild the plugin",
				 desc_size, sizeof(note));
	memcpy(&note, desc, desc_size < sizeof(note) ? desc_size : sizeof(note));
	if (note.abi_major != SKEP_ABI_MAJOR) {
		/* Another major version may have another layout: only the version must be readable. */
		if (!note_text_ok(note.name, sizeof(note.name)))
			memset(note.name, 0, sizeof(note.name));
		if (!note_text_ok(note.version, sizeof(note.version)))
			memset(note.version, 0, sizeof(note.version));
	} else if (!note_text_ok(note.name, sizeof(note.name))) {
		return note_fail(why, -ENOEXEC,
				 "the plugin note's name is empty, not terminated within %zu bytes, or not "
				 "plain text; rebuild the plugin",
				 sizeof(note.name));
	} else if (!note_text_ok(note.version, sizeof(note.version))) {
		return note_fail(why, -ENOEXEC,
				 "the plugin note's version is empty, not terminated within %zu bytes, or not "
				 "plain text; rebuild the plugin",
				 sizeof(note.version));
	}
	*ret = note;
	return 0;
}

/*
 * Walks the notes in these bytes: {namesz, descsz, type, name, desc}, name and desc padded to align. Counts
 * skep's notes in *found and keeps the last one. With strict a malformed note is an error; otherwise it only
 * ends the walk.
 */
static int note_walk(const struct note_why *why, const char *bytes, size_t size, size_t align, bool strict,
		     struct skep_plugin_note *note, unsigned *found)
{
	size_t at = 0;
	int err;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr header;
		size_t name_room, desc_room;
		const char *name;

		memcpy(&header, bytes + at, sizeof(header));
		at += sizeof(header);
		name = bytes + at;
		/*
		 * The descriptor begins at a multiple of align from the header's start (binutils'
		 * ELF_NOTE_DESC_OFFSET). Sizes are 32 bits: no sum can wrap a 64-bit size_t.
		 */
		name_room = ((sizeof(header) + header.n_namesz + align - 1) & ~(align - 1)) - sizeof(header);
		if (header.n_namesz > size - at)
			goto truncated;
		if (name_room > size - at)
			name_room = size - at; /* the last padding may be missing */
		at += name_room;
		if (header.n_descsz > size - at)
			goto truncated;
		if (header.n_namesz == sizeof(SKEP_NOTE_OWNER) &&
		    memcmp(name, SKEP_NOTE_OWNER, sizeof(SKEP_NOTE_OWNER)) == 0 && header.n_type == SKEP_NOTE_TYPE) {
			if (++*found > 1)
				return note_fail(why, -ENOEXEC,
						 "more than one plugin note; one file is one plugin: link them "
						 "separately");
			err = note_check_form(why, bytes + at, header.n_descsz, note);
			if (err < 0)
				return err;
		}
		desc_room = ((size_t)header.n_descsz + align - 1) & ~(align - 1);
		at += desc_room > size - at ? size - at : desc_room;
		continue;
	truncated:
		if (!strict)
			return 0;
		return note_fail(why, -ENOEXEC,
				 "truncated plugin note: it claims %u + %u bytes, of which %zu are there; "
				 "rebuild the plugin",
				 header.n_namesz, header.n_descsz, size - at);
	}
	if (strict && *found == 0)
		return note_fail(why, -ENOEXEC,
				 "truncated plugin note: section " SKEP_NOTE_SECTION
				 " has %zu bytes and holds no whole "
				 "note of \"" SKEP_NOTE_OWNER "\"; rebuild the plugin",
				 size);
	return 0;
}

/* Whether [offset, offset + size) lies in a file of file_size bytes. */
static bool note_within(uint64_t offset, uint64_t size, uint64_t file_size)
{
	return offset <= file_size && size <= file_size - offset;
}

static const char *note_chunk(Elf *elf, uint64_t offset, uint64_t size, uint64_t file_size)
{
	Elf_Data *data;

	if (size == 0 || !note_within(offset, size, file_size))
		return NULL;
	data = elf_getdata_rawchunk(elf, (int64_t)offset, size, ELF_T_BYTE);
	return data && data->d_buf && data->d_size == size ? data->d_buf : NULL;
}

/* Finds the note by its section's name. *found stays 0 without such a section, or without a section table. */
static int note_by_section(const struct note_why *why, Elf *elf, uint64_t file_size, struct skep_plugin_note *note,
			   unsigned *found)
{
	GElf_Shdr names, section;
	Elf_Scn *scn = NULL;
	const char *bytes;
	size_t index;
	int err;

	if (elf_getshdrstrndx(elf, &index) != 0 || index == SHN_UNDEF)
		return 0;
	if (!gelf_getshdr(elf_getscn(elf, index), &names) || names.sh_type == SHT_NOBITS)
		return 0;
	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &section) || section.sh_type != SHT_NOTE)
			continue;
		if (section.sh_name > names.sh_size || names.sh_size - section.sh_name < sizeof(SKEP_NOTE_SECTION) ||
		    !note_within(names.sh_offset, names.sh_size, file_size))
			continue;
		bytes = note_chunk(elf, names.sh_offset + section.sh_name, sizeof(SKEP_NOTE_SECTION), file_size);
		if (!bytes || memcmp(bytes, SKEP_NOTE_SECTION, sizeof(SKEP_NOTE_SECTION)) != 0)
			continue;
		if (section.sh_size > NOTE_SECTION_MAX)
			return note_fail(why, -ENOEXEC,
					 "section " SKEP_NOTE_SECTION " claims %llu bytes, more than the %d that are "
					 "accepted; the file is damaged",
					 (unsigned long long)section.sh_size, NOTE_SECTION_MAX);
		bytes = note_chunk(elf, section.sh_offset, section.sh_size, file_size);
		if (!bytes)
			return note_fail(why, -ENOEXEC,
					 "truncated plugin note: section " SKEP_NOTE_SECTION
					 " (%llu bytes at %llu) does not "
					 "lie within the file's %llu bytes; rebuild the plugin",
					 (unsigned long long)section.sh_size, (unsigned long long)section.sh_offset,
					 (unsigned long long)file_size);
		/* SKEP_PLUGIN() pads to 4, also in a section with another alignment. */
		err = note_walk(why, bytes, section.sh_size, 4, true, note, found);
		if (err < 0)
			return err;
	}
	return 0;
}

/* Finds the note by program header, for a file whose section table a packer removed. */
static int note_by_segment(const struct note_why *why, Elf *elf, uint64_t file_size, struct skep_plugin_note *note,
			   unsigned *found)
{
	GElf_Phdr segment;
	size_t n;
	int err;

	if (elf_getphdrnum(elf, &n) != 0)
		return 0;
	for (size_t i = 0; i < n && i <= INT32_MAX; i++) {
		const char *bytes;

		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_NOTE ||
		    segment.p_filesz > NOTE_SECTION_MAX)
			continue;
		bytes = note_chunk(elf, segment.p_offset, segment.p_filesz, file_size);
		if (!bytes)
			continue;
		/*
		 * gABI demands 8 for ELFCLASS64, but tools write 4. Segments with 8 (.note.gnu.property) have
		 * p_align 8.
		 */
		err = note_walk(why, bytes, segment.p_filesz, segment.p_align == 8 ? 8 : 4, false, note, found);
		if (err < 0)
			return err;
	}
	return 0;
}

/*
 * Checks that the file contains every byte that the loader maps. The loader maps what a program header
 * describes without checking the file's length (glibc 2.36). Touching a page behind the end raises SIGBUS, so a
 * half-copied plugin would kill skepd.
 */
static int note_whole(const struct note_why *why, Elf *elf, uint64_t file_size)
{
	GElf_Phdr segment;
	size_t n;

	if (elf_getphdrnum(elf, &n) != 0)
		return 0;
	for (size_t i = 0; i < n && i <= INT32_MAX; i++)
		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_LOAD &&
		    !note_within(segment.p_offset, segment.p_filesz, file_size))
			return note_fail(
				why, -ENOEXEC,
				"truncated: the file has %llu bytes, and a segment of it ends at %llu; "
				"copy the plugin again",
				(unsigned long long)file_size, (unsigned long long)segment.p_offset + segment.p_filesz);
	return 0;
}

static int note_from_elf(const struct note_why *why, Elf *elf, uint64_t file_size, struct skep_plugin_note *ret_note)
{
	struct skep_plugin_note note;
	unsigned found = 0;
	GElf_Ehdr ehdr;
	int err;

	if (!elf)
		return note_fail(why, -ENOEXEC, "cannot be read as an ELF file: %s", elf_errmsg(-1));
	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &ehdr))
		return note_fail(why, -ENOEXEC, "not an ELF file; a plugin is a shared object");
	if (ehdr.e_ident[EI_CLASS] != ELFCLASS64)
		return note_fail(why, -ENOEXEC,
				 "a 32-bit ELF file, this skepd needs 64-bit ones; rebuild the plugin for %s",
				 note_machine_name(NOTE_MACHINE));
	if (ehdr.e_ident[EI_DATA] != NOTE_DATA)
		return note_fail(why, -ENOEXEC, "built for the other byte order; rebuild the plugin for %s",
				 note_machine_name(NOTE_MACHINE));
	if (ehdr.e_machine != NOTE_MACHINE)
		return note_fail(why, -ENOEXEC,
				 "built for %s (ELF machine %u), this skepd runs on %s (%u); rebuild the plugin for it",
				 note_machine_name(ehdr.e_machine), ehdr.e_machine, note_machine_name(NOTE_MACHINE),
				 NOTE_MACHINE);
	if (ehdr.e_type != ET_DYN)
		return note_fail(why, -ENOEXEC, "ELF type %u, not a shared object (%u); link the plugin with -shared",
				 ehdr.e_type, ET_DYN);
	err = note_by_section(why, elf, file_size, &note, &found);
	if (err < 0)
		return err;
	if (found == 0) {
		err = note_by_segment(why, elf, file_size, &note, &found);
		if (err < 0)
			return err;
	}
	if (found == 0)
		return note_fail(why, -ENOEXEC,
				 "no " SKEP_NOTE_SECTION
				 " note: not a skep plugin (or SKEP_PLUGIN() is missing in it)");
	err = note_whole(why, elf, file_size);
	if (err < 0)
		return err;
	*ret_note = note;
	return 0;
}

int note_read_fd(int fd, const char *path, struct skep_plugin_note *ret_note, char *why_text, size_t why_size)
{
	const struct note_why why = { path, why_text, why_size };
	struct stat st;
	Elf *elf;
	int err;

	if (fstat(fd, &st) < 0)
		return note_fail(&why, -errno, "cannot be read: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return note_fail(&why, -ENOEXEC, "not a regular file");
	if (st.st_size == 0)
		return note_fail(&why, -ENOEXEC, "empty file; copy the plugin again");
	if (elf_version(EV_CURRENT) == EV_NONE)
		return note_fail(&why, -ENOTSUP, "libelf is older than this skepd: %s", elf_errmsg(-1));
	/* ELF_C_READ, not _MMAP: a file that shrinks during the read must cause an error, not SIGBUS. */
	elf = elf_begin(fd, ELF_C_READ, NULL);
	err = note_from_elf(&why, elf, (uint64_t)st.st_size, ret_note);
	elf_end(elf);
	return err;
}

int note_read(const char *path, struct skep_plugin_note *ret_note, char *why_text, size_t why_size)
{
	const struct note_why why = { path, why_text, why_size };
	int fd, err;

	/* O_NONBLOCK: open() of a FIFO must not block skepd. The flag has no effect on a regular file. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return note_fail(&why, -errno, "cannot be opened: %s", strerror(errno));
	err = note_read_fd(fd, path, ret_note, why_text, why_size);
	close(fd);
	return err;
}

int note_read_memory(const void *image, size_t size, struct skep_plugin_note *ret_note, char *why_text, size_t why_size)
{
	const struct note_why why = { "plugin image", why_text, why_size };
	Elf *elf;
	int err;

	if (size == 0)
		return note_fail(&why, -ENOEXEC, "empty file; copy the plugin again");
	if (elf_version(EV_CURRENT) == EV_NONE)
		return note_fail(&why, -ENOTSUP, "libelf is older than this skepd: %s", elf_errmsg(-1));
	/* libelf takes char *, but only reads this image. */
	elf = elf_memory((char *)(uintptr_t)image, size);
	err = note_from_elf(&why, elf, size, ret_note);
	elf_end(elf);
	return err;
}

const char *note_kind_name(uint32_t kind)
{
	switch (kind) {
	case SKEP_KIND_PROBE:
		return "probe";
	case SKEP_KIND_SINK:
		return "sink";
	default:
		return "?";
	}
}

int note_compatible(const struct skep_plugin_note *note, const char *path, uint32_t kind, char *why_text,
		    size_t why_size)
{
	const struct note_why why = { path, why_text, why_size };

	if (note->abi_major != SKEP_ABI_MAJOR)
		return note_fail(&why, -ENOEXEC,
				 "built for plugin ABI %u.%u, this skepd provides %d.%d (accepts %d.0-%d.%d); "
				 "rebuild it against skep %d.x headers",
				 note->abi_major, note->abi_minor, SKEP_ABI_MAJOR, SKEP_ABI_MINOR, SKEP_ABI_MAJOR,
				 SKEP_ABI_MAJOR, SKEP_ABI_MINOR, SKEP_ABI_MAJOR);
	if (note->abi_minor > SKEP_ABI_MINOR)
		return note_fail(&why, -ENOEXEC,
				 "built for plugin ABI %u.%u, this skepd provides %d.%d (accepts %d.0-%d.%d); "
				 "upgrade skep, or rebuild the plugin against this version's headers",
				 note->abi_major, note->abi_minor, SKEP_ABI_MAJOR, SKEP_ABI_MINOR, SKEP_ABI_MAJOR,
				 SKEP_ABI_MAJOR, SKEP_ABI_MINOR);
	if (note->kind != SKEP_KIND_PROBE && note->kind != SKEP_KIND_SINK)
		return note_fail(&why, -ENOEXEC,
				 "a plugin of kind %u, which this skepd does not know (probe %d, sink %d)", note->kind,
				 SKEP_KIND_PROBE, SKEP_KIND_SINK);
	if (kind != 0 && note->kind != kind)
		return note_fail(
			&why, -ENOEXEC, "plugin \"%s\" is a %s, not a %s; name it under \"%ss\" in the configuration",
			note->name, note_kind_name(note->kind), note_kind_name(kind), note_kind_name(note->kind));
	return 0;
}
