/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/note.h - reads a plugin's identity from its ELF note without running a line of it.
 */
#ifndef SKEP_CORE_NOTE_H
#define SKEP_CORE_NOTE_H

#include <skep/plugin.h>

/*
 * 0, or a negative errno with a reason in why (never empty, begins with the path): not ELF,
 * wrong class/machine, no note, truncated note, bad magic, unterminated name, ...
 * Untouched ret_note on failure.  Checks form only; note_compatible evaluates versions.
 * Of a note of another major only magic and versions are checked: name and version text
 * are "" where they do not have the form of this major.
 */
int note_read(const char *path, struct skep_plugin_note *ret_note, char *why, size_t why_size);
/* The same from an open file (its offset may change); path is for messages only. */
int note_read_fd(int fd, const char *path, struct skep_plugin_note *ret_note, char *why, size_t why_size);
/* The same from memory, for tests and the fuzzer. */
int note_read_memory(const void *image, size_t size, struct skep_plugin_note *ret_note, char *why, size_t why_size);
/* 0, or -ENOEXEC: other major, newer minor, other kind (0 = any); says both versions and the remedy. */
int note_compatible(const struct skep_plugin_note *, const char *path, uint32_t kind, char *why, size_t why_size);

#endif
