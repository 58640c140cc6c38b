/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/filter_people.h - processes to try rules on: those that live here, or those of a file that
 * the sink `file` has written; each with its ancestors, so far as they are known.
 */
#ifndef SKEP_CLI_FILTER_PEOPLE_H
#define SKEP_CLI_FILTER_PEOPLE_H

#include <jansson.h>

#include "core/config.h"
#include "core/judge_fields.h"
#include "filters/ruleset.h"

struct person {
	struct judge_subject subject; /* first: a subject is its person */
	uint32_t pid, ppid, image;
	uint32_t key;  /* rule_key(), where keyed */
	bool keyed;    /* its time of start is known to the nanosecond; of live processes the kernel tells less */
	char *upid, *parent_upid; /* of recorded ones */
	struct person *parent;
	char *texts[JUDGE_USER];
	/* people_judge */
	struct rule_decision decision;
	const struct person *inherited; /* the ancestor that the decision comes from */
	bool judged;
};

struct people {
	struct person *at; /* live: by pid; recorded: in the order of the file */
	size_t n, room;
	struct users *users;
	size_t unreadable; /* live: processes whose exe may not be read; recorded: lines that are no JSON */
	const char *source; /* "live", or the file */
};

/*
 * config: for its tables of tools, secrets and containers; NULL: those that are built in.
 * 0, or the exit status after a message.
 */
int people_live(const char *command, const struct config *config, struct people *ret);
int people_recorded(const char *command, const char *file, struct people *ret);
void people_free(struct people *);

struct person *people_find(const struct people *, uint32_t pid); /* of live ones */
/* A new one at the end, zeroed; NULL: no memory. For people_live and people_recorded. */
struct person *people_add(struct people *);
int person_text(struct person *, enum judge_field, const char *text, size_t len); /* copies; 0 or -ENOMEM */

/* Decides about all of them; who descends from somebody whose rule says inherit gets the same. */
void people_judge(struct people *, const struct ruleset *);

/* For output: "" where it is not known. */
const char *person_word(const struct person *, enum judge_field);
/* pid, tool, user, exe ...; new reference. */
json_t *person_json(const struct person *);

#endif
