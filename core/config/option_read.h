/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/option_read.h - reads the value of a key into a state: type, bounds, secrets, defaults.  Each message has
 * the value's place in the file.  One engine for skepd's own keys and for options of plugins.
 */
#ifndef SKEP_CORE_OPTION_READ_H
#define SKEP_CORE_OPTION_READ_H

#include "core/base/diag.h"
#include "core/config/config_pos.h"
#include "core/config/option_memory.h"
#include "core/config/option_table.h"

struct option_reader {
	struct diag *diag;
	const char *file;
	const char *where; /* begins each message: "sinks[0] (lake): "; "" */
	int line;          /* of messages about keys that the file does not have */
	bool others_read;  /* everybody can read the file: warn of secrets */
	void *state;
	struct options_memory *memory; /* owns strings and lists in the state */
};

/* Each adds errors to the diag; the state keeps its old value then. at: the key; NULL: not in the file. */
void option_read(struct option_reader *, const struct config_key *, const struct config_pos *at, const json_t *value);
/* The value of a key that the file does not have; file_key: the other name of the key, or NULL. */
void option_read_default(struct option_reader *, const struct config_key *, const char *file_key);

/* part: of the value, "[3]"; "": all of it. */
void option_say(struct option_reader *, enum diag_severity, const struct config_key *, const char *part,
		const struct config_pos *at, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
#define option_fail(r, key, at, ...) option_say(r, DIAG_ERROR, key, "", at, __VA_ARGS__)
/* expected: NULL: what the key's type says. */
void option_wrong(struct option_reader *, const struct config_key *, const struct config_pos *at, const char *expected,
		  const json_t *found);
void option_no_memory(struct option_reader *);
/* what: "option", in: " in spool"; names: NULL-terminated; remedy: when no name is near, NULL: prints the names. */
void option_unknown(struct option_reader *, const struct config_pos *at, const char *what, const char *in,
		    const char *const *names, const char *remedy);
/* "a, b, c". To be freed; NULL: no memory. */
char *option_names(const char *const *names);

#endif
