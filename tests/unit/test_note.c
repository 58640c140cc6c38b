/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_note.c - the note reader on the smallest possible ELF files: the fuzz
 * target's seeds, each with the answer that it must give.
 */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/plugin/note.h"

#if defined(__x86_64__)
#define MACHINE       EM_X86_64
#define OTHER_MACHINE EM_AARCH64
#elif defined(__aarch64__)
#define MACHINE       EM_AARCH64
#define OTHER_MACHINE EM_X86_64
#else
#define MACHINE       0 /* the seeds name a machine that is not ours: test_note_seeds skips */
#define OTHER_MACHINE 0
#endif

static const struct {
	const char *seed;
	int err;
	const char *expect; /* the plugin's name, or a part of the error */
} seeds[] = {
	{ "good", 0, "fake" },
	{ "no-sections", 0, "fake" },
	{ "no-segments", 0, "fake" },
	{ "align-8", 0, "fake" },
	{ "newer-minor", 0, "fake" },
	{ "sink", 0, "fake" },
	{ "other-major", 0, "" },
	{ "two-notes", -ENOEXEC, "more than one plugin note" },
	{ "bad-magic", -ENOEXEC, "bad magic 0x00000001" },
	{ "unterminated", -ENOEXEC, "not terminated within 32 bytes" },
	{ "long-desc", -ENOEXEC, "it claims 5 + 4294967280 bytes, of which 76 are there" },
	{ "short-desc", -ENOEXEC, "12 bytes where 76 belong" },
	{ "owner-long", -ENOEXEC, "it claims 4294967295 + 76 bytes" },
	{ "section-beyond", -ENOEXEC, "does not lie within the file" },
	{ "section-huge", -ENOEXEC, "more than the 65536 that are accepted" },
	{ "other-machine", -ENOEXEC, "built for" },
	{ "class-32", -ENOEXEC, "a 32-bit ELF file" },
	{ "big-endian", -ENOEXEC, "the other byte order" },
	{ "executable", -ENOEXEC, "not a shared object" },
	{ "other-owner", -ENOEXEC, "not a skep plugin" },
	{ "empty-note", -ENOEXEC, "(0 bytes at 120) does not lie within" },
	{ "archive", -ENOEXEC, "not an ELF file" },
	{ "text", -ENOEXEC, "not an ELF file" },
};

static size_t read_seed(const char *name, char *ret_bytes, size_t room)
{
	const char *srcdir = getenv("abs_srcdir");
	char path[4096];
	size_t n;
	FILE *f;

	assert_true(snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/fuzz_note/%s", srcdir ? srcdir : ".", name) <
		    (int)sizeof(path));
	f = fopen(path, "re");
	if (!f)
		fail_msg("%s: %s", path, strerror(errno));
	n = fread(ret_bytes, 1, room, f);
	fclose(f);
	assert_true(n > 0 && n < room);
	return n;
}

static void test_note_seeds(void **state)
{
	(void)state;
	if (MACHINE == 0)
		skip();
	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		_Alignas(8) char bytes[8192];
		char why[512] = "";
		struct skep_plugin_note note;
		size_t n = read_seed(seeds[i].seed, bytes, sizeof(bytes));
		int err;

		/* The seeds are of one machine type, the test runs on any. */
		if (n >= sizeof(Elf64_Ehdr) && memcmp(bytes, ELFMAG, SELFMAG) == 0)
			((Elf64_Ehdr *)(void *)bytes)->e_machine =
				strcmp(seeds[i].seed, "other-machine") == 0 ? OTHER_MACHINE : MACHINE;
		err = note_read_memory(bytes, n, &note, why, sizeof(why));
		if (err != seeds[i].err)
			fail_msg("%s: %d (%s), expected %d", seeds[i].seed, err, why, seeds[i].err);
		if (err == 0)
			assert_string_equal(note.name, seeds[i].expect);
		else if (!strstr(why, seeds[i].expect))
			fail_msg("%s: \"%s\" lacks \"%s\"", seeds[i].seed, why, seeds[i].expect);
	}
}

#define TEXT_OF(x_) #x_
#define TEXT(x_)    TEXT_OF(x_)
#define MINOR       TEXT(SKEP_ABI_MINOR)

static void expect_compatible(const struct skep_plugin_note *note, uint32_t kind, int want, const char *text)
{
	char why[512] = "";

	assert_int_equal(note_compatible(note, "sched.so", kind, why, sizeof(why)), want);
	assert_string_equal(why, text);
}

static void test_compatible(void **state)
{
	struct skep_plugin_note note = { SKEP_NOTE_MAGIC, 1, 0, SKEP_KIND_PROBE, "sched", "0.1" };

	(void)state;
	expect_compatible(&note, SKEP_KIND_PROBE, 0, "");
	expect_compatible(&note, 0, 0, "");
	expect_compatible(
		&note, SKEP_KIND_SINK, -ENOEXEC,
		"sched.so: plugin \"sched\" is a probe, not a sink; name it under \"probes\" in the configuration");
	note.abi_minor = SKEP_ABI_MINOR;
	expect_compatible(&note, 0, 0, "");
	note.abi_minor = 99;
	expect_compatible(&note, 0, -ENOEXEC,
			  "sched.so: built for plugin ABI 1.99, this skepd provides 1." MINOR " (accepts 1.0-1." MINOR
			  "); upgrade "
			  "skep, or rebuild the "
			  "plugin against this version's headers");
	note.abi_major = 2;
	note.abi_minor = 0;
	expect_compatible(&note, 0, -ENOEXEC,
			  "sched.so: built for plugin ABI 2.0, this skepd provides 1." MINOR " (accepts 1.0-1." MINOR
			  "); rebuild it "
			  "against skep 1.x headers");
	note.abi_major = 1;
	note.kind = 3;
	expect_compatible(&note, 0, -ENOEXEC,
			  "sched.so: a plugin of kind 3, which this skepd does not know (probe 1, sink 2)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_note_seeds),
		cmocka_unit_test(test_compatible),
	};

	return cmocka_run_group_tests_name("note", tests, NULL, NULL);
}
