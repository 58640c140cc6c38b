/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/answer.h - the report of one run while lake_report builds it, and the steps that build it.  Internal to lake/.
 */
#ifndef SKEP_LAKE_ANSWER_H
#define SKEP_LAKE_ANSWER_H

#include "lake/names.h"
#include "lake/rows.h"

/* For each process: values that lake_report needs only while it builds the report. */
struct extra {
	int64_t row;
	int64_t tool; /* dict */
	uint64_t pid, start_boot_ns;
};

struct answer {
	struct lake_report report; /* first member: lake_report_free casts the caller's pointer back */
	struct arena arena;
	struct lake_file *file;
	bool few_arguments; /* as of the lake */
	struct names names;
	struct extra *extra;
	struct idmap kinds; /* of rows that have all columns: struct lake_kind by the hash of its bytes */
	struct {
		const char *boot, *upid;
		uint64_t pid, start;
	} parent; /* of the process read last */
	struct lake_container in; /* of the process whose facets are read */
	const struct lake_container *last; /* of a process before it: many have the same.  NULL: none */
	struct {
		const char *text; /* as the database has them; NULL: none */
		size_t size;
		const char *const *list;
	} labels; /* read last */
	struct lake_facet *facet; /* buffer for the facets of one process */
	size_t facet_room, process_room, extra_room, sample_room, loss_room, tool_room, ledger_room;
	struct span {
		uint64_t end;
		uint64_t forks;
		double cores_peak;
	} *span; /* per tool */
	uint32_t *by_tool, *by_task; /* images of one after those of another: tools and tasks point into these */
};

/*
 * Lists 0 .. n-1 by their groups, which of[] numbers (SIZE_MAX: in none), rising in each group.  Returns two lists,
 * which the caller frees: the members, and for each group where its own begin, then where the last one's end.  0 or
 * -ENOMEM.
 */
int answer_group(const size_t *of, size_t n, size_t n_groups, uint32_t **ret_members, size_t **ret_first);

/*
 * Of n rows between a first and a last one: at least half of the rows there are theirs, and reading all of them is
 * faster than looking for each.
 */
static inline bool answer_is_dense(int64_t first, int64_t last, int64_t n)
{
	return last - first < 2 * n;
}

/* Makes room for one more element; returns the list; NULL: no memory. */
void *answer_grow(void *list, size_t n, size_t *room, size_t size);
/* Reads a column that names something: the one string of that name; ret_id: NULL, or its id. 0 or -errno. */
int answer_name(struct answer *, const struct lake_rows *, int column, const char **ret, int64_t *ret_id);
/* Finds or adds the tool with this dict id. 0 or -errno. */
int answer_tool(struct answer *, int64_t id, size_t *ret);

/* The steps, each in the file of its name: 0, or -errno with the reason in a->file->why. */
int lake_processes_read(struct answer *, const struct lake_key *run); /* with their facets; by start, then image */
/* ClickHouse: reads JSON, container_name, container_image, pod and namespace from this column on, and labels. */
int lake_facets_of_row(struct answer *, const struct lake_rows *, int column, int labels, struct lake_process *);
/* Adds the facets, which SQLite has apart, to the processes while these are in the order of their rows. */
int lake_facets_read(struct answer *, const struct lake_key *run);
int lake_samples_read(struct answer *, const struct lake_key *run);
int lake_ledger_read(struct answer *, const struct lake_key *run);
/*
 * streams.c: reads what streams without a table say about the run: progress, pressure, links, opens. The report has its
 * processes, in their order. 0 or -errno.
 */
int lake_streams_read(struct lake *, struct answer *, const struct lake_key *run);
/* The same of opens and connections alone, also of those whose process has no row. */
int lake_streams_audit(struct answer *, const struct lake_key *run);
void lake_streams_free(struct lake_report *);
/* streams.c: a number or a text of a record's JSON; key: with quotes and colon. 0, or "", if it has none; NULL: no memory. */
uint64_t lake_json_number(const char *json, const char *key);
const char *lake_json_text(const char *json, const char *key, struct arena *);
void lake_network_know(struct lake_report *); /* ledger.c: after the ledger and the facets */
int lake_losses_read(struct lake *, struct answer *, unsigned month);
/* Reads each loss from the run's start until its end, or until `to` if that is later; by time, then place. */
int lake_losses_each(struct lake *, struct answer *, unsigned month, uint64_t to);
/* What a report has: all; what lake_audit() gives; what lake_reports() gives. */
enum answer_parts { ANSWER_ALL, ANSWER_AUDIT, ANSWER_EARLIER };
/*
 * report.c: reads the run of a key.  losses_to: as for lake_losses_each(), 0: not each loss.  0; or -errno, with the
 * reason in why.
 */
int lake_report_of_key(struct lake *, const struct lake_key *, enum answer_parts, uint64_t losses_to,
		       struct lake_why *, struct lake_report **ret);
/* tasks.c: adds the processes to their tasks, adds tasks that have no record, and sorts all.  0 or -errno. */
int lake_tasks_sum(struct answer *);
int lake_sum_up(struct answer *); /* sums.c: the run's totals and the tools, after all others */

#endif
