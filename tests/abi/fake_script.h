/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/abi/fake_script.h - the fake probe's script as a list of actions. fake_probe.c describes the format.
 */
#ifndef SKEP_TESTS_FAKE_SCRIPT_H
#define SKEP_TESTS_FAKE_SCRIPT_H

#include <skep/plugin.h>

enum fake_what {
	/* streams: index in fake_streams, argument of host->emit */
	FAKE_FORK,
	FAKE_EXEC,
	FAKE_EXIT,
	FAKE_FINAL,
	FAKE_LIVE,
	FAKE_OOM,
	FAKE_FACET,
	FAKE_EVENT,
	FAKE_N_STREAMS,
	/* other actions */
	FAKE_SWEEP_BEGIN = FAKE_N_STREAMS,
	FAKE_SWEEP_END,
	FAKE_DRAINED,
	FAKE_LOST,
	FAKE_SLEEP,
	FAKE_N_WHATS,
};

struct fake_facet {
	uint64_t widgets;
	double temperature;
};

struct fake_event {
	struct skep_str text;
};

/* Arguments of the actions that are not records. */
struct fake_order {
	uint64_t at_ns, for_ns, n;
	uint32_t complete, stream, where;
};

struct fake_line {
	uint64_t when_ns; /* since the script's beginning */
	enum fake_what what;
	struct skep_upid who;     /* start_ns since the beginning, until fake_script_base */
	struct skep_upid *parent; /* in the record; NULL: this record has none */
	void *record;             /* the stream's struct, or a struct fake_order */
	char **strings;           /* the memory behind its strings */
	size_t n_strings;
	struct fake_line *next;
};

extern const struct skep_stream *const fake_streams[FAKE_N_STREAMS];

/* 0, or a negative errno with the reason ("file:line: ...") in why. */
int fake_script_read(const char *path, struct fake_line **ret_lines, char *why, size_t why_size);
/* Makes identities absolute. Call it once. */
void fake_script_base(struct fake_line *lines, uint64_t base_ns);
struct fake_line *fake_script_free(struct fake_line *lines); /* NULL is fine; returns NULL */

#endif
