/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_report_files.c - folded stacks and traces of every situation of situations.c: the stacks add up to
 * the report's totals, and a decoder of protobuf's wire format finds each program once, on tracks where slices follow
 * each other.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/base/text.h"
#include "cli/report/flame.h"
#include "cli/report/trace.h"
#include "tests/unit/reports.h"

#define MOST 100000 /* tracks */

struct bytes {
	const unsigned char *at, *end;
};

static uint64_t varint(struct bytes *b)
{
	uint64_t number = 0;
	unsigned shift = 0;

	do {
		assert_true(b->at < b->end && shift < 64);
		number |= (uint64_t)(*b->at & 127) << shift;
		shift += 7;
	} while (*b->at++ & 128);
	return number;
}

/* Reads a field: its number in *ret_number, or its bytes in *ret_bytes. Returns which; 0: the end. */
static unsigned field(struct bytes *b, uint64_t *ret_number, struct bytes *ret_bytes)
{
	uint64_t key, n = 8;

	if (b->at == b->end)
		return 0;
	key = varint(b);
	if ((key & 7) == 0) {
		*ret_number = varint(b);
		return (unsigned)(key >> 3);
	}
	assert_true((key & 7) == 1 || (key & 7) == 2);
	if ((key & 7) == 2)
		n = varint(b);
	assert_true(n <= (uint64_t)(b->end - b->at));
	*ret_bytes = (struct bytes){ b->at, b->at + n };
	b->at += n;
	return (unsigned)(key >> 3);
}

struct decoded {
	size_t tracks, begun, ended, values;
	uint64_t parent[MOST], last_ns[MOST];
	bool known[MOST], open[MOST];
};

/* Protobuf allows UTF-8 alone. */
static void assert_text(struct bytes b)
{
	char *text = strndup((const char *)b.at, (size_t)(b.end - b.at)), *safe = text_safe(text, true);

	assert_non_null(safe);
	assert_string_equal(text, safe);
	free(text);
	free(safe);
}

static void decode_track(struct decoded *d, struct bytes b)
{
	uint64_t uuid = 0, number = 0, parent = 0;
	struct bytes in;
	unsigned f;

	while ((f = field(&b, &number, &in)))
		switch (f) {
		case 1:
			uuid = number;
			break;
		case 2:
			assert_text(in);
			break;
		case 5:
			parent = number;
			break;
		default:
			assert_int_equal(f, 8);
		}
	assert_in_range(uuid, 1, MOST - 1);
	assert_false(d->known[uuid]);
	assert_true(!parent || d->known[parent]);
	d->known[uuid] = true;
	d->parent[uuid] = parent;
	d->tracks++;
}

static void decode_event(struct decoded *d, struct bytes b, uint64_t ns)
{
	uint64_t type = 0, track = 0, number = 0;
	bool named = false;
	struct bytes in;
	unsigned f;

	while ((f = field(&b, &number, &in)))
		switch (f) {
		case 9:
			type = number;
			break;
		case 11:
			track = number;
			break;
		case 23:
			assert_text(in);
			named = true;
			break;
		default:
			assert_true(f == 4 || f == 44);
		}
	assert_in_range(track, 1, MOST - 1);
	assert_true(d->known[track] && ns >= d->last_ns[track]);
	d->last_ns[track] = ns;
	switch (type) {
	case 1:
		assert_true(named && !d->open[track]);
		d->open[track] = true;
		d->begun++;
		break;
	case 2:
		assert_true(d->open[track]);
		d->open[track] = false;
		d->ended++;
		break;
	default:
		assert_int_equal(type, 4);
		d->values++;
	}
}

static struct decoded *decode(const char *text, size_t size)
{
	struct bytes all = { (const unsigned char *)text, (const unsigned char *)text + size }, packet, in;
	struct decoded *d = calloc(1, sizeof(*d));
	uint64_t number;

	assert_non_null(d);
	while (field(&all, &number, &packet)) {
		struct bytes event = { 0 }, track = { 0 };
		uint64_t ns = 0;
		unsigned f;

		while ((f = field(&packet, &number, &in)))
			switch (f) {
			case 8:
				ns = number;
				break;
			case 11:
				event = in;
				break;
			case 60:
				track = in;
				break;
			default:
				assert_true(f == 6 || f == 10);
			}
		if (track.at)
			decode_track(d, track);
		if (event.at)
			decode_event(d, event, ns);
	}
	return d;
}

static void traces(void **state)
{
	(void)state;
	for (size_t i = 0; reports_situations[i]; i++) {
		struct reports *r = reports_situation(reports_situations[i]);
		const struct lake_report *report = &r->report;
		size_t size, begun = 1, ended = report->run.end_ns != 0, lanes;
		char *text = NULL;
		FILE *f = open_memstream(&text, &size);
		struct decoded *d;

		assert_non_null(f);
		assert_int_equal(trace_print(report, f), 0);
		fclose(f);
		d = decode(text, size);
		for (size_t t = 0; t < report->n_tasks; t++) {
			begun += report->tasks[t].start_ns != 0;
			ended += report->tasks[t].start_ns && report->tasks[t].end_ns >= report->tasks[t].start_ns;
		}
		for (size_t p = 0; p < report->n_processes; p++) {
			begun += report->processes[p].start_ns != 0;
			ended += report->processes[p].start_ns && report->processes[p].end_ns;
		}
		assert_int_equal(d->begun, begun);
		assert_int_equal(d->ended, ended);
		assert_true(report->n_samples ? d->values > 0 : d->values == 0);
		lanes = d->tracks - 1 - report->n_tasks - (report->n_samples ? 6 : 0);
		assert_in_range(lanes, report->n_processes != 0, report->n_processes);
		free(d);
		free(text);
		reports_free(r);
	}
}

static uint64_t sum_of(const struct lake_report *r, enum flame_of of)
{
	size_t size;
	uint64_t sum = 0;
	char *text = NULL, *next;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	assert_int_equal(flame_print(r, of, f), 0);
	fclose(f);
	for (char *line = text; *line; line = next) {
		char *number;

		next = strchr(line, '\n');
		assert_non_null(next);
		*next++ = '\0';
		number = strrchr(line, ' ');
		assert_non_null(number);
		assert_true(number > line);
		sum += strtoull(number + 1, NULL, 10);
	}
	free(text);
	return sum;
}

static void flames(void **state)
{
	(void)state;
	for (size_t i = 0; reports_situations[i]; i++) {
		struct reports *r = reports_situation(reports_situations[i]);
		uint64_t cpu = 0, queued = 0, blocked = 0;

		for (size_t p = 0; p < r->report.n_processes; p++) {
			cpu += r->report.processes[p].totals.cpu_ns;
			queued += r->report.processes[p].totals.run_delay_ns;
			blocked += r->report.processes[p].totals.block_delay_ns;
		}
		assert_int_equal(sum_of(&r->report, FLAME_CPU), cpu);
		assert_int_equal(sum_of(&r->report, FLAME_QUEUED), queued);
		assert_int_equal(sum_of(&r->report, FLAME_BLOCKED), blocked);
		reports_free(r);
	}
}

/* A shell of no task starts a task's shell, which starts a tool with a name made to break the format. */
static void stacks(void **state)
{
	struct reports *r = reports_new("nightly", "sh flow", 2);
	struct lake_process *p;
	size_t size;
	char *text = NULL;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	assert_non_null(f);
	reports_add(r, 0, "sh", "sh flow", 0, 100, 5);
	p = reports_add(r, 0, "bash", "bash -c x", 10, 90, 1);
	p->task = "align";
	reports_kind(p)->task_id = "1-a.0";
	for (int i = 0; i < 2; i++) { /* the same stack: one line */
		p = reports_add(r, 1, "a;b\n1 2", "x", 20, 80, 3);
		p->task = "align";
		reports_kind(p)->task_id = "1-a.0";
	}
	reports_finish(r, 100, 0, 0);
	assert_int_equal(flame_print(&r->report, FLAME_CPU, f), 0);
	fclose(f);
	assert_string_equal(text, "nightly;sh 5000000\nnightly;align;bash 1000000\nnightly;align;bash;a:b\\n1 2 6000000\n");
	free(text);
	reports_free(r);
}

/* A chain that is deeper than a stack of frames may be keeps its sum. */
static void deep(void **state)
{
	struct reports *r = reports_new("deep", "sh", 2);

	(void)state;
	for (size_t i = 0; i < 3000; i++)
		reports_add(r, i ? i - 1 : 0, "sh", "sh", i, 4000, 1);
	reports_finish(r, 5000, 0, 0);
	assert_int_equal(sum_of(&r->report, FLAME_CPU), 3000 * REPORTS_MS);
	reports_free(r);
}

static void full_disk(void **state)
{
	struct reports *r = reports_situation("single");
	FILE *f = fopen("/dev/full", "w");
	enum flame_of of;

	(void)state;
	assert_non_null(f);
	assert_int_equal(trace_print(&r->report, f), -ENOSPC);
	assert_int_equal(flame_print(&r->report, FLAME_CPU, f), -ENOSPC);
	fclose(f);
	reports_free(r);
	assert_int_equal(flame_of_name("wall", &of), -EINVAL);
	assert_int_equal(flame_of_name("blocked", &of), 0);
	assert_int_equal(of, FLAME_BLOCKED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(traces), cmocka_unit_test(flames), cmocka_unit_test(stacks),
		cmocka_unit_test(deep),   cmocka_unit_test(full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
