/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/audit/entries.h - the entries of an audit in the order of time: the same list for the same records, from
 * either kind of lake.
 */
#ifndef SKEP_CLI_AUDIT_ENTRIES_H
#define SKEP_CLI_AUDIT_ENTRIES_H

#include "cli/audit/chain.h"
#include "lake/lake.h"

/* In the order of entries of one moment. */
enum entry_kind { ENTRY_RUN, ENTRY_EXEC, ENTRY_FORK, ENTRY_OPEN, ENTRY_CONNECT, ENTRY_ACCEPT, ENTRY_EXIT, ENTRY_LOSS };

struct entry {
	uint64_t time_ns; /* 0: not known */
	enum entry_kind kind;
	size_t run; /* index into the audit's runs */
	size_t at;  /* index into the run's processes, opens, connections or losses */
};

struct entries {
	struct lake_audit *audit; /* borrowed; its opens and connections are one for each file and connection */
	size_t n;
	struct entry *list;
};

/* Adds up the records of each opened file and each connection, and lists what the audit has. 0 or -ENOMEM. */
int entries_new(struct lake_audit *, struct entries *ret);
void entries_free(struct entries *); /* not the audit */

const char *entry_kind_name(enum entry_kind); /* as in the chain */
const struct lake_report *entry_run(const struct entries *, const struct entry *);
/* The image that the entry is about; NULL: a run, a loss, or a process without a row. */
const struct lake_process *entry_process(const struct entries *, const struct entry *);

/* Writes the header, the entries and the end to a chain. 0 or -errno; then the chain's head is the end's hash. */
int entries_chain(const struct entries *, struct chain *);

#endif
