/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/dev/plugin_exports.c - checks the exports of a shared object.  A plugin must export only its entry function, so
 * that the dynamic linker does not bind a plugin to symbols of another plugin or library.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/dev/plugin_check.h"

/* Counts the exports of one symbol table besides the entry function; *ret_entry: the table has the entry function. */
static unsigned exports_of(struct findings *f, Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr, bool *ret_entry)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	unsigned others = 0;
	GElf_Sym sym;

	if (!data || shdr->sh_entsize == 0)
		return 0;
	for (size_t i = 0; i < shdr->sh_size / shdr->sh_entsize && gelf_getsym(data, (int)i, &sym); i++) {
		const char *name = elf_strptr(elf, shdr->sh_link, sym.st_name);
		unsigned bind = GELF_ST_BIND(sym.st_info), visibility = GELF_ST_VISIBILITY(sym.st_other);

		if (!name || !*name || sym.st_shndx == SHN_UNDEF || (bind != STB_GLOBAL && bind != STB_WEAK) ||
		    visibility == STV_HIDDEN || visibility == STV_INTERNAL)
			continue;
		/* Symbols of the linker, which mark addresses and are no exports of the plugin. */
		if (strcmp(name, "_init") == 0 || strcmp(name, "_fini") == 0 || strcmp(name, "_edata") == 0 ||
		    strcmp(name, "_end") == 0 || strcmp(name, "__bss_start") == 0)
			continue;
		if (strcmp(name, SKEP_ENTRY_SYMBOL) == 0)
			*ret_entry = true;
		else if (others++ < 10)
			findings_add(
				f, FINDING_ERROR, "exports",
				"exports \"%s\"; compile with -fvisibility=hidden: a plugin exports " SKEP_ENTRY_SYMBOL
				"() alone",
				name);
	}
	return others;
}

void plugin_exports_check(struct findings *f, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool entry = false, table = false;
	unsigned others = 0;
	Elf_Scn *scn = NULL;
	Elf *elf = NULL;

	if (fd < 0 && f->errors > 0)
		return; /* plugin_try() has reported it */
	if (fd < 0) {
		findings_add(f, FINDING_ERROR, "exports", "cannot be read: %s", strerror(errno));
		return;
	}
	if (elf_version(EV_CURRENT) != EV_NONE)
		elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	/* plugin_try() reports a file that is no ELF object: it reads the note. */
	while (elf && elf_kind(elf) == ELF_K_ELF && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_DYNSYM)
			continue;
		table = true;
		others += exports_of(f, elf, scn, &shdr, &entry);
	}
	if (table && !entry)
		findings_add(f, FINDING_ERROR, "exports",
			     "does not export " SKEP_ENTRY_SYMBOL "(); use SKEP_PLUGIN() once");
	if (others > 10)
		findings_add(f, FINDING_ERROR, "exports", "and %u others", others - 10);
	if (entry && others == 0)
		findings_add(f, FINDING_OK, "exports", SKEP_ENTRY_SYMBOL "() alone");
	elf_end(elf);
	close(fd);
}
