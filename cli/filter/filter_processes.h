/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/filter/filter_processes.h - processes on which `skep filter` evaluates rules, from this host or from a file of
 * the sink `file`, each with its known ancestors.
 */
#ifndef SKEP_CLI_FILTER_PROCESSES_H
#define SKEP_CLI_FILTER_PROCESSES_H

#include <jansson.h>

#include "core/config/config.h"
#include "core/rules/rule_fields.h"
#include "filters/ruleset.h"

struct filter_process {
	struct rule_subject subject; /* first member: a subject is cast to its process */
	uint32_t pid, ppid, image;
	uint32_t key;  /* rule_key(), if keyed */
	bool keyed;    /* its start time is exact to the nanosecond; /proc has it in clock ticks */
	char *upid, *parent_upid; /* only of recorded processes */
	struct filter_process *parent;
	char *texts[RULE_FIELD_USER];
	/* processes_evaluate */
	struct rule_decision decision;
	const struct filter_process *inherited; /* the ancestor that the decision comes from */
	bool judged;
};

struct filter_processes {
	struct filter_process *at; /* live: by pid; recorded: in the order of the file */
	size_t n, room;
	struct users *users;
	size_t unreadable; /* live: processes whose exe may not be read; recorded: lines that are no JSON */
	const char *source; /* "live", or the file */
};

/*
 * config: for its tables of tools, secrets and containers; NULL: the built-in tables.
 * 0, or the exit status after a message.
 */
int processes_live(const char *command, const struct config *config, struct filter_processes *ret);
int processes_recorded(const char *command, const char *file, struct filter_processes *ret);
void processes_free(struct filter_processes *);

struct filter_process *processes_find(const struct filter_processes *, uint32_t pid); /* among live processes */
/* Adds a zeroed process at the end; NULL: no memory. For processes_live and processes_recorded. */
struct filter_process *processes_add(struct filter_processes *);
int process_text(struct filter_process *, enum rule_field, const char *text, size_t len); /* copies; 0 or -ENOMEM */

/* Evaluates the rules on all; descendants of a process whose rule says inherit get its verdict. */
void processes_evaluate(struct filter_processes *, const struct ruleset *);

/* The text of a field for output; "" when unknown. */
const char *process_word(const struct filter_process *, enum rule_field);
/* pid, tool, user, exe ...; new reference. */
json_t *process_json(const struct filter_process *);

#endif
