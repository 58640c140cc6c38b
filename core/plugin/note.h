/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/note.h - reads a plugin's identity from its ELF note, without executing the plugin's code. For
 * the loader.
 */
#ifndef SKEP_CORE_NOTE_H
#define SKEP_CORE_NOTE_H

#include <skep/plugin.h>

/*
 * Reads the note of a plugin file. 0, or a negative errno with the cause in why (never empty, begins with the
 * path): not ELF, wrong class or machine, no note, truncated note, bad magic, unterminated name, ... On failure
 * ret_note stays unchanged. Checks the form only; note_compatible checks the versions. Of a note of another
 * major version it checks only the magic and the versions. Name and version text are then "" unless they have
 * the form of this major version.
 */
int note_read(const char *path, struct skep_plugin_note *ret_note, char *why, size_t why_size);
/* The same for an open file (its offset may change); path is for messages only. */
int note_read_fd(int fd, const char *path, struct skep_plugin_note *ret_note, char *why, size_t why_size);
/* The same for a file in memory, for tests and the fuzzer. */
int note_read_memory(const void *image, size_t size, struct skep_plugin_note *ret_note, char *why, size_t why_size);
/*
 * 0, or -ENOEXEC for another major version, a newer minor version or another kind (kind 0: any); why has both
 * versions and the remedy.
 */
int note_compatible(const struct skep_plugin_note *, const char *path, uint32_t kind, char *why, size_t why_size);
const char *note_kind_name(uint32_t kind); /* "probe", "sink"; "?" for a kind that this skepd does not know */

#endif
