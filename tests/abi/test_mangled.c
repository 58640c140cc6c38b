/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/abi/test_mangled.c - the loader refuses each kind of wrong plugin file with an error of its own. A plugin whose
 * constructor aborts shows which files the loader refuses before any of their code runs.
 */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/plugin/note.h"
#include "core/plugin/plugin.h"
#include "tests/abi/support.h"

struct image {
	char *bytes;
	size_t size;
};

/* The place of the note's description in the file. */
static size_t note_at(const struct image *image)
{
	static const char owner_and_magic[] = "skep\0\0\0\0skep";
	char *p = memmem(image->bytes, image->size, owner_and_magic, sizeof(owner_and_magic) - 1);

	assert_non_null(p);
	return (size_t)(p - image->bytes) + 8;
}

static struct skep_plugin_note *note_of(struct image *image)
{
	return (void *)(image->bytes + note_at(image));
}

static Elf64_Ehdr *ehdr_of(struct image *image)
{
	return (void *)image->bytes;
}

static void drop_segments(struct image *image)
{
	Elf64_Phdr *phdr = (void *)(image->bytes + ehdr_of(image)->e_phoff);

	for (int i = 0; i < ehdr_of(image)->e_phnum; i++)
		if (phdr[i].p_type == PT_NOTE)
			phdr[i].p_type = PT_NULL;
}

static void drop_sections(struct image *image)
{
	ehdr_of(image)->e_shoff = 0;
	ehdr_of(image)->e_shnum = 0;
	ehdr_of(image)->e_shstrndx = 0;
}

/* Sizes and offsets of the section with our note. */
static Elf64_Shdr *section_of(struct image *image)
{
	Elf64_Shdr *shdr = (void *)(image->bytes + ehdr_of(image)->e_shoff);

	for (int i = 0; i < ehdr_of(image)->e_shnum; i++)
		if (shdr[i].sh_type == SHT_NOTE && shdr[i].sh_offset + 20 == note_at(image))
			return &shdr[i];
	fail_msg("no note section");
	return NULL;
}

/* ---- changes to the file --------------------------------------------------------------- */

static void bad_magic(struct image *image)
{
	note_of(image)->magic = 0xdeadbeef;
}
static void other_major(struct image *image)
{
	note_of(image)->abi_major = 2;
}
/* Of another major version the loader reads only the version, not even the end of the name. */
static void other_layout(struct image *image)
{
	note_of(image)->abi_major = 7;
	memset(note_of(image)->name, 0xff, sizeof(note_of(image)->name) + sizeof(note_of(image)->version));
}
static void newer_minor(struct image *image)
{
	note_of(image)->abi_minor = 99;
}
static void unknown_kind(struct image *image)
{
	note_of(image)->kind = 77;
}
static void name_unterminated(struct image *image)
{
	memset(note_of(image)->name, 'a', sizeof(note_of(image)->name));
}
static void name_empty(struct image *image)
{
	memset(note_of(image)->name, 0, sizeof(note_of(image)->name));
}
static void name_unprintable(struct image *image)
{
	memcpy(note_of(image)->name, "\033[2J", 5);
}
static void version_unterminated(struct image *image)
{
	memset(note_of(image)->version, '1', sizeof(note_of(image)->version));
}
static void other_name(struct image *image)
{
	memcpy(note_of(image)->name, "trek", 5);
}
static void description_short(struct image *image)
{
	*(uint32_t *)(image->bytes + note_at(image) - 16) = 20;
}
static void description_tiny(struct image *image)
{
	*(uint32_t *)(image->bytes + note_at(image) - 16) = 3;
}
static void description_long(struct image *image)
{
	*(uint32_t *)(image->bytes + note_at(image) - 16) = 0xfffffff0;
}
static void owner_long(struct image *image)
{
	*(uint32_t *)(image->bytes + note_at(image) - 20) = 0xffffffff;
}
static void section_short(struct image *image)
{
	section_of(image)->sh_size = 30;
}
static void section_tiny(struct image *image)
{
	section_of(image)->sh_size = 5;
}
static void section_beyond(struct image *image)
{
	section_of(image)->sh_offset = 0x7fffffffffffff00;
}
static void section_huge(struct image *image)
{
	section_of(image)->sh_size = 0xffffffffffffffff;
}
static void other_owner(struct image *image)
{
	image->bytes[note_at(image) - 8] = 'S';
	drop_sections(image);
}
static void no_note(struct image *image)
{
	drop_sections(image);
	drop_segments(image);
}
static void other_machine(struct image *image)
{
	ehdr_of(image)->e_machine = ehdr_of(image)->e_machine == EM_AARCH64 ? EM_X86_64 : EM_AARCH64;
}
static void class_32(struct image *image)
{
	image->bytes[EI_CLASS] = ELFCLASS32;
}
static void other_order(struct image *image)
{
	image->bytes[EI_DATA] = image->bytes[EI_DATA] == ELFDATA2LSB ? ELFDATA2MSB : ELFDATA2LSB;
}
static void executable(struct image *image)
{
	ehdr_of(image)->e_type = ET_EXEC;
}
static void not_elf(struct image *image)
{
	memcpy(image->bytes, "#!/bin/sh\n", 10);
}
static void empty(struct image *image)
{
	image->size = 0;
}
static void cut_header(struct image *image)
{
	image->size = 40;
}
static void cut_half(struct image *image)
{
	image->size /= 2;
	drop_segments(image);
}

/* ---- refused before any code runs --------------------------------------------------------- */

#define TEXT_OF(x_) #x_
#define TEXT(x_) TEXT_OF(x_)
#define MINOR TEXT(SKEP_ABI_MINOR)

static const struct refusal {
	void (*mangle)(struct image *);
	uint32_t kind;
	const char *expect; /* in the message */
} refusals[] = {
	{ bad_magic, SKEP_KIND_PROBE, "bad magic 0xdeadbeef in the plugin note, expected 0x70656b73" },
	{ other_major, SKEP_KIND_PROBE,
	  "built for plugin ABI 2." MINOR ", this skepd provides 1." MINOR " (accepts 1.0-1." MINOR
	  "); rebuild it against skep 1.x" },
	{ other_layout, SKEP_KIND_PROBE, "built for plugin ABI 7." MINOR ", this skepd provides 1." MINOR },
	{ newer_minor, SKEP_KIND_PROBE,
	  "built for plugin ABI 1.99, this skepd provides 1." MINOR " (accepts 1.0-1." MINOR "); upgrade skep" },
	{ unknown_kind, SKEP_KIND_PROBE, "of kind 77" },
	{ NULL, SKEP_KIND_SINK, "\"trap\" is a probe, not a sink; name it under \"probes\"" },
	{ name_unterminated, SKEP_KIND_PROBE, "name is empty, not terminated within 32 bytes" },
	{ name_empty, SKEP_KIND_PROBE, "name is empty" },
	{ name_unprintable, SKEP_KIND_PROBE, "not plain text" },
	{ version_unterminated, SKEP_KIND_PROBE, "version is empty, not terminated" },
	{ other_name, SKEP_KIND_PROBE, "carries the plugin \"trek\"; name the file trek.so" },
	{ description_short, SKEP_KIND_PROBE, "truncated plugin note: 20 bytes where 76 belong" },
	{ description_tiny, SKEP_KIND_PROBE, "truncated plugin note: 3 bytes where at least 8 belong" },
	{ description_long, SKEP_KIND_PROBE, "truncated plugin note: it claims 5 + 4294967280 bytes" },
	{ owner_long, SKEP_KIND_PROBE, "truncated plugin note: it claims 4294967295 + " },
	{ section_short, SKEP_KIND_PROBE, "truncated plugin note: it claims 5 + 76 bytes, of which 10 are there" },
	{ section_tiny, SKEP_KIND_PROBE, "has 5 bytes and holds no whole note" },
	{ section_beyond, SKEP_KIND_PROBE, "does not lie within the file's" },
	{ section_huge, SKEP_KIND_PROBE, "claims 18446744073709551615 bytes, more than" },
	{ other_owner, SKEP_KIND_PROBE, "no .note.skep.plugin note: not a skep plugin" },
	{ no_note, SKEP_KIND_PROBE, "no .note.skep.plugin note: not a skep plugin" },
	{ other_machine, SKEP_KIND_PROBE, "rebuild the plugin for it" },
	{ class_32, SKEP_KIND_PROBE, "a 32-bit ELF file" },
	{ other_order, SKEP_KIND_PROBE, "built for the other byte order" },
	{ executable, SKEP_KIND_PROBE, "ELF type 2, not a shared object (3); link the plugin with -shared" },
	{ not_elf, SKEP_KIND_PROBE, "not an ELF file" },
	{ empty, SKEP_KIND_PROBE, "empty file" },
	{ cut_header, SKEP_KIND_PROBE, "not an ELF file" },
	{ cut_half, SKEP_KIND_PROBE, "no .note.skep.plugin note" },
};

static int load(const char *dir, const char *name, uint32_t kind, struct diag *diag)
{
	const char *const dirs[] = { dir, NULL };
	struct plugin *plugin = (void *)diag; /* anything but NULL: must stay unchanged on failure */
	int err = plugin_load(dirs, name, kind, diag, &plugin);

	if (err < 0)
		assert_ptr_equal(plugin, diag);
	return err;
}

static void test_refused_before_it_runs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		char *dir = support_dir_new(), *path = support_path(dir, "trap.so");
		struct image image;
		struct diag diag;
		int err;

		image.bytes = support_plugin_bytes("trap", &image.size);
		if (refusals[i].mangle)
			refusals[i].mangle(&image);
		support_write(path, image.bytes, image.size, 0644);
		diag_init(&diag);
		err = load(dir, "trap", refusals[i].kind, &diag);
		if (err != -ENOEXEC || !strstr(support_error(&diag), refusals[i].expect) ||
		    !strstr(support_error(&diag), path))
			fail_msg("case %zu: %d, \"%s\" lacks \"%s\" or the path", i, err, support_error(&diag),
				 refusals[i].expect);
		diag_clear(&diag);
		free(image.bytes);
		free(path);
		support_dir_remove(dir);
	}
}

/* A packer may remove the section table: the program header is enough. */
static void test_without_sections(void **state)
{
	struct skep_plugin_note note = { 0 };
	struct image image;
	char why[512];

	(void)state;
	image.bytes = support_plugin_bytes("trap", &image.size);
	drop_sections(&image);
	assert_int_equal(note_read_memory(image.bytes, image.size, &note, why, sizeof(why)), 0);
	assert_string_equal(note.name, "trap");
	assert_int_equal(note.kind, SKEP_KIND_PROBE);
	assert_string_equal(note.version, "1.0");
	free(image.bytes);
}

/* A note that cannot be read leaves the caller's struct alone, and any buffer for the error works. */
static void test_note_untouched(void **state)
{
	struct skep_plugin_note note;
	unsigned char before[sizeof(note)];
	char why[8];

	(void)state;
	memset(&note, 0x5a, sizeof(note));
	memcpy(before, &note, sizeof(note));
	assert_int_equal(note_read_memory("\177ELF", 4, &note, why, sizeof(why)), -ENOEXEC);
	assert_memory_equal(&note, before, sizeof(note));
	assert_string_equal(why, "plugin ");
	assert_int_equal(note_read("/nonexistent.so", &note, why, sizeof(why)), -ENOENT);
	assert_int_equal(note_read("/tmp", &note, why, 0), -ENOEXEC);
	assert_memory_equal(&note, before, sizeof(note));
}

/* Every cut of a real file gives an answer and no crash. */
static void test_every_length(void **state)
{
	struct skep_plugin_note note;
	struct image image;
	char why[512];

	(void)state;
	image.bytes = support_plugin_bytes("trap", &image.size);
	for (size_t n = 0; n < image.size; n += n < 2048 ? 1 : 61) {
		/* A copy of exactly that size, so that ASan finds a read behind it. */
		char *cut = malloc(n ? n : 1);

		assert_non_null(cut);
		memcpy(cut, image.bytes, n);
		why[0] = '\0';
		if (note_read_memory(cut, n, &note, why, sizeof(why)) < 0)
			assert_int_not_equal(why[0], '\0');
		else
			assert_string_equal(note.name, "trap");
		free(cut);
	}
	free(image.bytes);
}

/* ---- the file and its folder ------------------------------------------------------------------- */

static void expect(const char *dir, const char *name, int want, const char *text)
{
	struct diag diag;
	int err;

	diag_init(&diag);
	err = load(dir, name, SKEP_KIND_PROBE, &diag);
	if (err != want || !strstr(support_error(&diag), text))
		fail_msg("%s: %d, \"%s\", expected %d and \"%s\"", name, err, support_error(&diag), want, text);
	diag_clear(&diag);
}

/* The file has the note but not the code: the loader would touch pages behind the end of the file. */
static void test_truncated(void **state)
{
	struct skep_plugin_note note;
	char *dir = support_dir_new(), *path, why[512];
	struct image image;

	(void)state;
	image.bytes = support_plugin_bytes("good", &image.size);
	assert_int_equal(note_read_memory(image.bytes, image.size, &note, why, sizeof(why)), 0);
	path = support_path(dir, "good.so");
	support_write(path, image.bytes, 4096, 0644);
	expect(dir, "good", -ENOEXEC, "truncated: the file has 4096 bytes");
	free(path);
	free(image.bytes);
	support_dir_remove(dir);
}

static void test_file_modes(void **state)
{
	char *dir = support_dir_new(), *path = support_path(dir, "trap.so");

	(void)state;
	support_plugin_copy("trap", dir);
	assert_int_equal(chmod(path, 0646), 0);
	expect(dir, "trap", -EPERM, "the plugin is writable by everybody (mode 0646)");
	assert_int_equal(chmod(path, 0664), 0);
	expect(dir, "trap", -EPERM, "the plugin is writable by its group (mode 0664)");
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(chmod(dir, 0757), 0);
	expect(dir, "trap", -EPERM, "the plugin directory is writable by everybody (mode 0757)");
	assert_int_equal(chmod(dir, 0775), 0);
	expect(dir, "trap", -EPERM, "the plugin directory is writable by its group");
	assert_int_equal(chmod(dir, 0755), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 65534, 65534), 0);
		expect(dir, "trap", -EPERM, "the plugin is owned by uid 65534, not by root");
		assert_int_equal(chown(path, 0, 0), 0);
		assert_int_equal(chown(dir, 65534, 65534), 0);
		expect(dir, "trap", -EPERM, "the plugin directory is owned by uid 65534");
		assert_int_equal(chown(dir, 0, 0), 0);
	}
	free(path);
	support_dir_remove(dir);
}

/* A user who may rename a folder above the plugin's chooses which plugin the path names. */
static void test_folders_above(void **state)
{
	char *dir = support_dir_new(), *sub = support_path(dir, "sub"), *file = support_path(sub, "trap.so");

	(void)state;
	assert_int_equal(mkdir(sub, 0755), 0);
	support_plugin_copy("trap", sub);
	assert_int_equal(chmod(dir, 0777), 0);
	expect(sub, "trap", -EPERM, "is writable by everybody (mode 0777)");
	expect(sub, "trap", -EPERM, dir);
	/*
	 * Sticky, as /tmp: only the owner of an entry renames it. 0775: the administrator chose that group. Both pass
	 * the check of folders.
	 */
	assert_int_equal(chmod(file, 0666), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(chmod(dir, i == 0 ? 01777 : 0775), 0);
		expect(sub, "trap", -EPERM, "the plugin is writable by everybody");
	}
	assert_int_equal(chmod(file, 0644), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(dir, 65534, 65534), 0);
		expect(sub, "trap", -EPERM, "is owned by uid 65534, which can replace");
		assert_int_equal(chown(dir, 0, 0), 0);
	}
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(sub), 0);
	free(file);
	free(sub);
	support_dir_remove(dir);
}

static void test_file_types(void **state)
{
	char *dir = support_dir_new();
	char *target = support_path(dir, "trap.so"), *link = support_path(dir, "link.so");
	char *fifo = support_path(dir, "fifo.so"), *sub = support_path(dir, "sub.so");

	(void)state;
	support_plugin_copy("trap", dir);
	assert_int_equal(symlink(target, link), 0);
	expect(dir, "link", -EPERM, "a symbolic link; plugins must be regular files");
	assert_int_equal(mkfifo(fifo, 0600), 0);
	expect(dir, "fifo", -EPERM, "not a regular file");
	assert_int_equal(mkdir(sub, 0700), 0);
	expect(dir, "sub", -EPERM, "not a regular file");
	free(target);
	free(link);
	free(fifo);
	free(sub);
	support_dir_remove(dir);
}

static void test_names(void **state)
{
	char *dir = support_dir_new();

	(void)state;
	support_plugin_copy("trap", dir);
	expect(dir, "", -EINVAL, "plugin name \"\"");
	expect(dir, "../trap", -EINVAL, "directories go into plugin_dirs");
	expect(dir, "a.b", -EINVAL, "letters, digits");
	expect(dir, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", -EINVAL, "1 to 31");
	expect(dir, "tarp", -ENOENT, "there is no tarp.so in");
	expect(dir, "trapp", -ENOENT, "did you mean \"trap\"?");
	expect("/nonexistent", "trap", -ENOENT,
	       "there is no trap.so in /nonexistent; plugin_dirs or SKEP_PLUGIN_DIRS names its folder");
	support_dir_remove(dir);
}

static void test_a_folder_listed_twice(void **state)
{
	const char *const dirs[] = { "/nonexistent", "/neither", "/nonexistent", NULL };
	struct plugin *plugin = NULL;
	struct diag diag;

	(void)state;
	diag_init(&diag);
	assert_int_equal(plugin_load(dirs, "trap", SKEP_KIND_PROBE, &diag, &plugin), -ENOENT);
	assert_non_null(strstr(support_error(&diag), "no trap.so in /nonexistent, /neither; "));
	diag_clear(&diag);
}

/* The first folder with the file decides, also when the loader refuses that file. */
static void test_order_of_folders(void **state)
{
	char *first = support_dir_new(), *second = support_dir_new(), *path = support_path(first, "good.so");
	const char *const dirs[] = { "/nonexistent", first, second, NULL };
	struct plugin *plugin = NULL;
	struct diag diag;

	(void)state;
	support_plugin_copy("good", second);
	support_write(path, "x", 1, 0644);
	diag_init(&diag);
	assert_int_equal(plugin_load(dirs, "good", SKEP_KIND_PROBE, &diag, &plugin), -ENOEXEC);
	assert_non_null(strstr(support_error(&diag), path));
	diag_clear(&diag);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(plugin_load(dirs, "good", SKEP_KIND_PROBE, &diag, &plugin), 0);
	assert_memory_equal(plugin->path, second, strlen(second));
	diag_clear(&diag);
	free(path);
	support_dir_remove(first);
	support_dir_remove(second);
}

/* ---- refused once it is loaded -------------------------------------------------------------------- */

/* A copy of good.so with that variant, in a folder of its own: another path is another object. */
static char *variant_dir(const char *variant)
{
	char *dir = support_dir_new(), *path = support_path(dir, "good.so"), *p;
	struct image image;

	image.bytes = support_plugin_bytes("good", &image.size);
	p = memmem(image.bytes, image.size, "mangled variant none", 21);
	assert_non_null(p);
	assert_true(strlen(variant) < 32);
	strcpy(p + strlen("mangled variant "), variant);
	support_write(path, image.bytes, image.size, 0644);
	free(image.bytes);
	free(path);
	return dir;
}

static void test_refused_after_loading(void **state)
{
	static const struct {
		const char *variant, *expect;
	} cases[] = {
		{ "no descriptor", "skep_plugin_entry() returned no descriptor" },
		{ "other magic", "bad magic 0x12345678 in the descriptor" },
		{ "other minor", "descriptor and note disagree: ABI 1.1 and 1." MINOR },
		{ "other kind", "descriptor and note disagree: kind 2 and 1" },
		{ "other name", "descriptor and note disagree: name \"somebody\" and \"good\"" },
		{ "other version", "descriptor and note disagree: version \"9.9\" and \"1.0\"" },
		{ "too short", "a descriptor of 192 bytes, at least 200 are needed for ABI 1.0" },
		{ "no start", "lacks start()" },
		{ "huge state", "a state of 17825792 bytes, at most 16777216" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *dir = variant_dir(cases[i].variant);

		expect(dir, "good", -ENOEXEC, cases[i].expect);
		support_dir_remove(dir);
	}
}

static void test_missing_symbols(void **state)
{
	char *dir = support_dir_new();

	(void)state;
	support_plugin_copy("noentry", dir);
	expect(dir, "noentry", -ENOEXEC, "does not export skep_plugin_entry()");
	support_plugin_copy("undefined", dir);
	expect(dir, "undefined", -ENOEXEC, "undefined symbol: skep_function_of_no_library");
	support_dir_remove(dir);
}

static void open_fails(const char *variant, int want, const char *reason)
{
	static const struct instance_ops ops = { .emit = NULL };
	char *dir = variant_dir(variant);
	const char *const dirs[] = { dir, NULL };
	struct plugin *plugin = NULL;
	struct skep_instance *inst;
	struct diag diag;
	uv_loop_t loop;

	diag_init(&diag);
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(plugin_load(dirs, "good", SKEP_KIND_PROBE, &diag, &plugin), 0);
	assert_int_equal(diag.n, 0);
	inst = support_instance(&loop, plugin, "{}", &ops, NULL);
	assert_int_equal(instance_open(inst), want);
	assert_int_equal(inst->state, INSTANCE_FAILED);
	assert_string_equal(inst->reason, reason);
	assert_int_equal(instance_start(inst), -EINVAL);
	support_instance_end(inst);
	support_loop_close(&loop);
	support_dir_remove(dir);
}

static void test_open_fails(void **state)
{
	(void)state;
	open_fails("open fails", -ENODEV, "no such device on this machine");
	open_fails("open mute", -ENXIO, "No such device or address");
}

/* ---- accepted ------------------------------------------------------------------------------------- */

static void test_loaded_once(void **state)
{
	char *dir = support_dir_new(), *path = support_path(dir, "good.so");
	const char *const dirs[] = { dir, NULL };
	struct plugin *one = NULL, *two = NULL;
	struct diag diag;

	(void)state;
	support_plugin_copy("good", dir);
	diag_init(&diag);
	assert_int_equal(plugin_load(dirs, "good", SKEP_KIND_PROBE, &diag, &one), 0);
	assert_int_equal(plugin_load(dirs, "good", 0, &diag, &two), 0);
	assert_ptr_equal(one, two);
	assert_string_equal(one->path, path);
	assert_string_equal(one->desc->name, "good");
	assert_int_equal(diag.n, 0);
	/* The same object, requested as another kind. */
	assert_int_equal(plugin_load(dirs, "good", SKEP_KIND_SINK, &diag, &two), -ENOEXEC);
	assert_non_null(strstr(support_error(&diag), "is a probe, not a sink"));
	diag_clear(&diag);
	/* A new file replaces it: the loaded object stays. */
	assert_int_equal(unlink(path), 0);
	support_plugin_copy("good", dir);
	assert_int_equal(plugin_load(dirs, "good", SKEP_KIND_PROBE, &diag, &two), 0);
	assert_ptr_equal(one, two);
	free(path);
	support_dir_remove(dir);
}

struct listing {
	char text[4096];
};

static void list_one(const char *path, const struct skep_plugin_note *note, const char *why, void *arg)
{
	struct listing *listing = arg;
	size_t at = strlen(listing->text);

	snprintf(listing->text + at, sizeof(listing->text) - at, "%s %s %s;", strrchr(path, '/') + 1,
		 note ? note->name : "-", why ? "refused" : "ok");
}

static void test_list(void **state)
{
	char *dir = support_dir_new(), *junk = support_path(dir, "junk.so"), *link = support_path(dir, "link.so");
	char *other = support_path(dir, "README");
	const char *const dirs[] = { dir, "/nonexistent", NULL };
	struct listing listing = { "" };

	(void)state;
	/* trap would abort if the loader loaded it. */
	support_plugin_copy("trap", dir);
	support_plugin_copy("good", dir);
	support_write(junk, "junk", 4, 0644);
	support_write(other, "text", 4, 0644);
	assert_int_equal(symlink("trap.so", link), 0);
	plugin_list(dirs, list_one, &listing);
	assert_string_equal(listing.text, "good.so good ok;junk.so - refused;link.so - refused;trap.so trap ok;");
	free(junk);
	free(link);
	free(other);
	support_dir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused_before_it_runs),
		cmocka_unit_test(test_without_sections),
		cmocka_unit_test(test_note_untouched),
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_file_modes),
		cmocka_unit_test(test_folders_above),
		cmocka_unit_test(test_file_types),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_a_folder_listed_twice),
		cmocka_unit_test(test_order_of_folders),
		cmocka_unit_test(test_refused_after_loading),
		cmocka_unit_test(test_missing_symbols),
		cmocka_unit_test(test_open_fails),
		cmocka_unit_test(test_loaded_once),
		cmocka_unit_test(test_list),
	};

	return cmocka_run_group_tests_name("mangled plugins", tests, NULL, NULL);
}
