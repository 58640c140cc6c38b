/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/track_fixture.h - a tracker with everything around it and without a plugin: a test feeds records directly
 * and reads the delivered ones. The test sets the time, a number.
 */
#ifndef SKEP_TESTS_TRACK_FIXTURE_H
#define SKEP_TESTS_TRACK_FIXTURE_H

#include "core/process/track_priv.h"

#define SECOND 1000000000ull
#define MS 1000000ull

struct seen_process {
	struct record_process r; /* the strings behind it are freed; these are copies: */
	char state[16], tool[64], run[48], comm[32], exe[64], cwd[64], cgroup[128], oom_cgroup[64], container[80];
	char argv0[64];
	char step[160], scopes[128];
	char task[136], task_id[48], traceparent[64], environ[64]; /* of environ: the first variable */
	uint64_t widgets; /* first facet */
	double heat;
};

struct seen_sample {
	struct record_tool_sample r;
	char run[48], tool[64];
};

/* Sums of the process.sample records of one image. */
struct seen_part {
	struct skep_upid upid;
	uint64_t image;
	size_t next; /* next record with the same hash: number + 1, 0: none */
	unsigned n, last; /* records; records that said that the process has ended */
	uint64_t until_ns; /* end of the newest interval */
	uint64_t interval_ns, quiet_ns; /* of the newest */
	struct skep_counters sum; /* without the halves */
	uint64_t widgets;
};

struct seen_task {
	struct record_task r;
	char task[136], id[48], run[48], state[16], traceparent[64], engine[32], sample[64], source[16], job[32];
	char requested_source[16], granted_source[16], scopes[128];
	char container[72], unit[64];
};

struct seen_run {
	char id[48], name[64], engine[32], pipeline[64], parent[48], job[32], account[32];
	bool over;
	int status;
	uint64_t seen, end_ns;
	unsigned records;
};

struct seen_finding {
	struct record_finding r;
	uint64_t time_ns;
	char id[24], kind[24], state[8], severity[8], run[48], task[136], tool[64], container[80], cgroup[128], unit[8];
	char evidence[512], advice[512];
};

struct fixture {
	struct track *track;
	struct delivery *out;
	struct delivery_sink *sink;
	struct tools *tools;
	struct recognizers *recognizers;
	struct facets *facets;
	struct cgroups *cgroups;
	int sample_stream;
	uint64_t now_ns, start_ns;
	bool discard; /* only counts records: for benchmarks */
	size_t n_records;
	struct seen_process *processes;
	size_t n_processes, room;
	struct seen_sample *samples;
	size_t n_samples, samples_room;
	struct seen_part *parts;
	size_t n_parts, parts_room;
	size_t parts_by_hash[1024]; /* number + 1, 0: none */
	struct seen_run runs[16];
	size_t n_runs;
	struct seen_task tasks[16]; /* further tasks are only counted */
	size_t n_tasks;
	struct seen_finding findings[32]; /* further ones are only counted */
	size_t n_findings;
	uint64_t open[8]; /* of the newest record of "findings", by enum finding_kind */
};

extern const struct skep_stream fixture_facet;
struct fixture_facet {
	uint64_t widgets;
	double heat;
};

extern const struct skep_stream fixture_gpu;
struct fixture_gpu {
	uint64_t busy_ns, held_ns, known_ns;
};

extern const char *fixture_mountinfo; /* for cgroups_new(); by default a file that does not exist */

/* start_ns: the collector's start. Aborts on failure. */
void fixture_open(struct fixture *, bool runs_only, uint64_t start_ns);
void fixture_close(struct fixture *);
/* Delivers everything emitted so far to the lists; asserts that the sums agree and nothing is pending. */
void fixture_settle(struct fixture *);
/* An interval ends. */
void fixture_sample(struct fixture *);
/* The only record of that pid and image; fails the test when there is none or more than one. */
const struct seen_process *fixture_image(struct fixture *, uint32_t pid, uint64_t image);
/* The samples of that image; NULL: none. */
const struct seen_part *fixture_part(const struct fixture *, const struct skep_upid *, uint64_t image);
size_t fixture_images(const struct fixture *, uint32_t pid);

struct skep_str str(const char *text); /* of static text */

/* Records; start is the process's start time. */
void tell_fork(struct fixture *, uint64_t t, uint32_t pid, uint64_t start, uint32_t ppid, uint64_t pstart);
void tell_exec(struct fixture *, uint64_t t, uint32_t pid, uint64_t start, const char *exe, uint64_t cpu_ns,
	       uint64_t maxrss);
void tell_exit(struct fixture *, uint64_t t, uint32_t pid, uint64_t start, uint32_t status);
void tell_final(struct fixture *, uint64_t t, uint32_t pid, uint64_t start, uint32_t status, uint64_t cpu_ns,
		uint64_t maxrss);
void tell_live(struct fixture *, uint64_t t, uint32_t pid, uint64_t start, uint32_t ppid, uint64_t pstart,
	       uint64_t cpu_ns, uint32_t flags);
void tell(struct fixture *, enum skep_role, uint64_t t, uint32_t pid, uint64_t start, const void *rec);

/*
 * The state saved for the next skepd, as the spool stores it. Free it with free() or pass it to fixture_load(), which
 * frees it.
 */
char *fixture_save(struct track *, size_t *ret_size);
void fixture_load(struct track *, char *text, size_t size);

#endif
