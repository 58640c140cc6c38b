/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_note.c - the note reader on any bytes: no crash, a reason for each refusal,
 * nothing but sound text in each note that it accepts, and the same answer from a file as from memory.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/plugin/note.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "fuzz_note: %s\n", what);
		abort();
	}
}

static void text_is_sound(const char *text, size_t size, bool may_be_empty)
{
	size_t len = strnlen(text, size);

	must(len < size, "text without an end");
	must(len > 0 || may_be_empty, "empty text");
	for (size_t i = 0; i < len; i++)
		must(text[i] > ' ' && text[i] <= '~', "text that does not print");
}

static int read_as_file(const uint8_t *data, size_t size, struct skep_plugin_note *ret_note, char *why, size_t why_size)
{
	int fd = memfd_create("note", MFD_CLOEXEC);
	int err;

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size, "no memory for a file");
	err = note_read_fd(fd, "memory.so", ret_note, why, why_size);
	close(fd);
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct skep_plugin_note note, untouched, other;
	char why[256];
	int err;

	memset(&note, 0xa5, sizeof(note));
	untouched = note;
	other = note;
	why[0] = '\0';
	err = note_read_memory(data, size, &note, why, sizeof(why));
	must(err == read_as_file(data, size, &other, why, sizeof(why)), "file and memory give different answers");
	must(memcmp(&note, &other, sizeof(note)) == 0, "file and memory give different notes");
	if (err < 0) {
		must(memcmp(&note, &untouched, sizeof(note)) == 0, "a refused note was written");
		must(strnlen(why, sizeof(why)) > strlen("plugin image: ") && strnlen(why, sizeof(why)) < sizeof(why),
		     "no reason");
		/* The reader works with any room for the reason. */
		for (size_t room = 0; room < 20; room++)
			must(note_read_memory(data, size, &note, why, room) == err, "another answer");
		return 0;
	}
	must(note.magic == SKEP_NOTE_MAGIC, "another magic");
	text_is_sound(note.name, sizeof(note.name), note.abi_major != SKEP_ABI_MAJOR);
	text_is_sound(note.version, sizeof(note.version), note.abi_major != SKEP_ABI_MAJOR);
	why[0] = '\0';
	for (uint32_t kind = 0; kind < 3; kind++)
		if (note_compatible(&note, "memory.so", kind, why, sizeof(why)) < 0)
			must(strncmp(why, "memory.so: ", 11) == 0 && why[11] != '\0', "no reason");
	return 0;
}
