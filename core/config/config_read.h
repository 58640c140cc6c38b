/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/config_read.h - values of a configuration, each with its place in the file for what is wrong with it.
 */
#ifndef SKEP_CORE_CONFIG_READ_H
#define SKEP_CORE_CONFIG_READ_H

#include "core/config/config.h"
#include "core/config/config_pos.h"

#define NS_PER_MS 1000000ull

struct reader {
	struct config *config;
	struct diag *diag;
};

typedef void (*read_fn)(struct reader *, const struct config_pos *at, const json_t *value);

/* Ends with a NULL name. */
struct key {
	const char *name;
	read_fn read;
};

#define reader_fail(r, line, column, ...) diag_add((r)->diag, DIAG_ERROR, (r)->config->file, line, column, __VA_ARGS__)

void reader_no_memory(struct reader *);
/* where: "interval", "probes[0]"; expected: "a time such as \"5s\"". */
void reader_wrong(struct reader *, int line, int column, const char *where, const char *expected, const json_t *found);
/* Calls each key's reader. in: "" for the file's own keys, else " in host". */
void reader_keys(struct reader *, const struct config_pos *at, const json_t *object, const char *in,
		 const struct key *);
/* An array of non-empty strings; NULL after errors. */
char **reader_strings(struct reader *, const struct config_pos *at, const json_t *value, bool absolute);
char **config_strings_free(char **); /* NULL is fine; returns NULL */
/* 100 ms to one hour, or, where zero_ok, "0s". */
void reader_time(struct reader *, const struct config_pos *at, const json_t *value, const char *key, bool zero_ok,
		 uint64_t *ret);
/* Any time, or "0s". */
void reader_any_time(struct reader *, const struct config_pos *at, const json_t *value, const char *key, uint64_t *ret);
/* What is less than `least` becomes that, with a warning. */
void reader_size(struct reader *, const struct config_pos *at, const json_t *value, const char *key, uint64_t least,
		 uint64_t *ret);
void reader_absolute(struct reader *, const struct config_pos *at, const json_t *value, const char *key,
		     const char *expected, char **to);

/* config_sections.c: the keys of the file. */
extern const struct key config_keys[];
/* config_entries.c */
void config_read_probes(struct reader *, const struct config_pos *at, const json_t *value);
void config_read_sinks(struct reader *, const struct config_pos *at, const json_t *value);
/* Across probes and sinks: counters, losses and log lines name an instance by its name alone. */
void config_check_names(struct reader *);
/* Warns about keys that another probe has since 1.1, and takes them out. */
void config_check_moved(struct reader *);

#endif
