/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/trace.c - writes the protobuf messages of a trace. Numbers of fields are those of Perfetto's
 * protos/perfetto/trace/trace_packet.proto and track_event/.
 *
 * On one track, slices nest or follow each other, so programs that ran at once need a track each.
 */
#include "cli/report/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/report/reason.h"

enum { /* fields */
	TRACE_PACKET = 1,
	PACKET_CLOCKS = 6, PACKET_TIME = 8, PACKET_SEQUENCE = 10, PACKET_EVENT = 11, PACKET_TRACK = 60,
	CLOCKS_CLOCK = 1, CLOCK_ID = 1, CLOCK_TIME = 2,
	TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PARENT = 5, TRACK_COUNTER = 8,
	COUNTER_UNIT = 3, COUNTER_UNIT_NAME = 6,
	EVENT_NOTE = 4, EVENT_TYPE = 9, EVENT_TRACK = 11, EVENT_NAME = 23, EVENT_VALUE = 44,
	NOTE_UINT = 3, NOTE_INT = 4, NOTE_TEXT = 6, NOTE_NAME = 10,
};
enum { BEGIN = 1, END = 2, COUNTER = 4 };
enum { CLOCK_WALL = 1, CLOCK_BOOT = 6 };
enum { UNIT_NONE, UNIT_COUNT = 2, UNIT_BYTES = 3 };

#define LENGTH  4 /* bytes of a message's length: protobuf allows a number more bytes than it needs */
#define RUN     UINT64_C(1) /* uuid of the run's track */
#define COUNTED UINT64_C(2) /* of the first counter */

struct buffer {
	FILE *out;
	char *bytes;
	size_t n, room;
	int err;
};

struct lane {
	uint64_t uuid, end_ns;
};

/* A task's track and those below it; the last has the programs of no task. */
struct group {
	const struct lake_task *task;
	uint64_t uuid;
	struct lane *lanes;
	size_t n;
};

struct trace {
	const struct lake_report *report;
	struct buffer packet;
	struct group *groups; /* by task_id, then the one of no task */
	size_t n_groups;
	uint64_t next_uuid;
};

/* ---- protobuf --------------------------------------------------------------------- */

static void put(struct buffer *b, const void *bytes, size_t n)
{
	if (!b->err && b->n + n > b->room) {
		size_t room = 2 * (b->n + n) + 256;
		char *grown = realloc(b->bytes, room);

		if (!grown)
			b->err = -ENOMEM;
		else
			b->bytes = grown, b->room = room;
	}
	if (b->err)
		return;
	memcpy(b->bytes + b->n, bytes, n);
	b->n += n;
}

static void put_varint(struct buffer *b, uint64_t number)
{
	unsigned char bytes[10];
	size_t n = 0;

	for (; number > 127; number >>= 7)
		bytes[n++] = (unsigned char)(number | 128);
	bytes[n++] = (unsigned char)number;
	put(b, bytes, n);
}

static void put_number(struct buffer *b, unsigned field, uint64_t number)
{
	put_varint(b, field << 3);
	put_varint(b, number);
}

static void put_double(struct buffer *b, unsigned field, double number)
{
	uint64_t bits;
	unsigned char bytes[8];

	memcpy(&bits, &number, sizeof(bits));
	for (size_t i = 0; i < sizeof(bytes); i++) /* little-endian, wherever skep runs */
		bytes[i] = (unsigned char)(bits >> 8 * i);
	put_varint(b, field << 3 | 1);
	put(b, bytes, sizeof(bytes));
}

/* Begins a message within the message; returns what close_message() needs. */
static size_t open_message(struct buffer *b, unsigned field)
{
	static const char length[LENGTH];

	put_varint(b, field << 3 | 2);
	put(b, length, LENGTH);
	return b->n;
}

static void close_message(struct buffer *b, size_t begin)
{
	size_t n = b->n - begin;

	if (!b->err && n >> 7 * LENGTH)
		b->err = -EFBIG;
	for (size_t i = 0; !b->err && i < LENGTH; i++, n >>= 7)
		b->bytes[begin - LENGTH + i] = (char)((n & 127) | (i < LENGTH - 1 ? 128 : 0));
}

/* A text of a process: protobuf allows UTF-8 alone. */
static void put_text(struct buffer *b, unsigned field, const char *text)
{
	char *safe = text_safe(text, true);

	if (!safe)
		b->err = -ENOMEM;
	if (b->err) {
		free(safe);
		return;
	}
	put_varint(b, field << 3 | 2);
	put_varint(b, strlen(safe));
	put(b, safe, strlen(safe));
	free(safe);
}

static size_t open_packet(struct trace *t)
{
	t->packet.n = 0;
	return open_message(&t->packet, TRACE_PACKET);
}

static void close_packet(struct trace *t, size_t begin)
{
	struct buffer *b = &t->packet;

	put_number(b, PACKET_SEQUENCE, 1);
	close_message(b, begin);
	if (!b->err && fwrite(b->bytes, 1, b->n, b->out) != b->n)
		b->err = errno ? -errno : -EIO;
}

/* ---- tracks and events -------------------------------------------------------------- */

/* The trace's own clock is the boot clock: it equals the wall clock here, so that a viewer shows dates. */
static void put_clocks(struct trace *t)
{
	static const unsigned ids[] = { CLOCK_WALL, CLOCK_BOOT };
	size_t packet = open_packet(t), clocks = open_message(&t->packet, PACKET_CLOCKS);

	for (size_t i = 0; i < 2; i++) {
		size_t clock = open_message(&t->packet, CLOCKS_CLOCK);

		put_number(&t->packet, CLOCK_ID, ids[i]);
		put_number(&t->packet, CLOCK_TIME, t->report->run.start_ns);
		close_message(&t->packet, clock);
	}
	close_message(&t->packet, clocks);
	close_packet(t, packet);
}

/* unit: -1: no counter. unit_name: of a counter without a unit of Perfetto's own. */
static void put_track(struct trace *t, uint64_t uuid, uint64_t parent, const char *name, int unit,
		      const char *unit_name)
{
	size_t packet = open_packet(t), track = open_message(&t->packet, PACKET_TRACK);

	put_number(&t->packet, TRACK_UUID, uuid);
	if (parent)
		put_number(&t->packet, TRACK_PARENT, parent);
	put_text(&t->packet, TRACK_NAME, name);
	if (unit >= 0) {
		size_t counter = open_message(&t->packet, TRACK_COUNTER);

		put_number(&t->packet, COUNTER_UNIT, (uint64_t)unit);
		if (unit_name)
			put_text(&t->packet, COUNTER_UNIT_NAME, unit_name);
		close_message(&t->packet, counter);
	}
	close_message(&t->packet, track);
	close_packet(t, packet);
}

static size_t open_event(struct trace *t, size_t *ret_packet, uint64_t ns, unsigned type, uint64_t track)
{
	size_t event;

	*ret_packet = open_packet(t);
	put_number(&t->packet, PACKET_TIME, ns);
	event = open_message(&t->packet, PACKET_EVENT);
	put_number(&t->packet, EVENT_TYPE, type);
	put_number(&t->packet, EVENT_TRACK, track);
	return event;
}

static void close_event(struct trace *t, size_t packet, size_t event)
{
	close_message(&t->packet, event);
	close_packet(t, packet);
}

static void put_end(struct trace *t, uint64_t ns, uint64_t track)
{
	size_t packet, event = open_event(t, &packet, ns, END, track);

	close_event(t, packet, event);
}

static void note_number(struct trace *t, const char *name, uint64_t number)
{
	size_t note = open_message(&t->packet, EVENT_NOTE);

	put_text(&t->packet, NOTE_NAME, name);
	put_number(&t->packet, NOTE_UINT, number);
	close_message(&t->packet, note);
}

/* Frees the text; NULL: memory ran out. */
static void note_text_take(struct trace *t, const char *name, char *text)
{
	size_t note = open_message(&t->packet, EVENT_NOTE);

	if (!text)
		t->packet.err = -ENOMEM;
	put_text(&t->packet, NOTE_NAME, name);
	put_text(&t->packet, NOTE_TEXT, text ? text : "");
	close_message(&t->packet, note);
	free(text);
}

static void note_totals(struct trace *t, const struct lake_totals *totals, uint64_t rss_peak_bytes)
{
	note_number(t, "cpu_ns", totals->cpu_ns);
	note_number(t, "run_delay_ns", totals->run_delay_ns);
	note_number(t, "block_delay_ns", totals->block_delay_ns);
	note_number(t, "rss_peak_bytes", rss_peak_bytes);
	note_number(t, "read_bytes", totals->read_bytes);
	note_number(t, "write_bytes", totals->write_bytes);
}

static void put_run(struct trace *t)
{
	const struct lake_run *run = &t->report->run;
	const char *name = *run->name ? run->name : run->id;
	size_t packet, event;

	put_track(t, RUN, 0, name, -1, NULL);
	event = open_event(t, &packet, run->start_ns, BEGIN, RUN);
	put_text(&t->packet, EVENT_NAME, name);
	note_text_take(t, "run", strdup(run->id));
	note_text_take(t, "host", strdup(run->host));
	note_text_take(t, "end", reason_run(run));
	note_totals(t, &run->totals, run->totals.rss_peak_bytes);
	close_event(t, packet, event);
	if (run->end_ns)
		put_end(t, run->end_ns, RUN);
}

static void put_task(struct trace *t, const struct group *g)
{
	const struct lake_task *task = g->task;
	size_t packet, event;

	put_track(t, g->uuid, RUN, *task->task ? task->task : task->task_id, -1, NULL);
	if (!task->start_ns)
		return;
	event = open_event(t, &packet, task->start_ns, BEGIN, g->uuid);
	put_text(&t->packet, EVENT_NAME, *task->task ? task->task : task->task_id);
	note_text_take(t, "task_id", strdup(task->task_id));
	if (*task->sample)
		note_text_take(t, "sample", strdup(task->sample));
	if (task->attempt)
		note_number(t, "attempt", task->attempt);
	if (task->exit_code >= 0)
		note_number(t, "exit_code", (uint64_t)task->exit_code);
	note_totals(t, &task->totals, task->totals.rss_peak_bytes);
	close_event(t, packet, event);
	if (task->end_ns >= task->start_ns)
		put_end(t, task->end_ns, g->uuid);
}

/* ---- programs --------------------------------------------------------------------- */

static int by_id(const void *a_, const void *b_)
{
	const struct group *a = a_, *b = b_;

	return strcmp(a->task->task_id, b->task->task_id);
}

static struct group *group_of(struct trace *t, const struct lake_process *p)
{
	const struct lake_task task = { .task_id = p->kind->task_id };
	const struct group key = { .task = &task };
	struct group *found = *p->kind->task_id ? bsearch(&key, t->groups, t->n_groups, sizeof(*t->groups), by_id)
						: NULL;

	return found ? found : &t->groups[t->n_groups];
}

/* The first track of the group that is free at that time; a new one if none is. NULL when memory runs out. */
static struct lane *lane_of(struct trace *t, struct group *g, uint64_t start_ns)
{
	struct lane *lane = g->lanes;

	for (size_t i = 0; i < g->n; i++, lane++)
		if (lane->end_ns <= start_ns)
			return lane;
	if ((g->n & (g->n - 1)) == 0) {
		lane = realloc(g->lanes, (g->n ? 2 * g->n : 1) * sizeof(*lane));
		if (!lane)
			return NULL;
		g->lanes = lane;
	}
	lane = &g->lanes[g->n++];
	*lane = (struct lane){ .uuid = t->next_uuid++ };
	put_track(t, lane->uuid, g->uuid, "programs", -1, NULL);
	return lane;
}

static void put_program(struct trace *t, const struct lake_process *p)
{
	struct lane *lane = p->start_ns ? lane_of(t, group_of(t, p), p->start_ns) : NULL;
	size_t packet, event;

	if (!p->start_ns)
		return;
	if (!lane) {
		t->packet.err = -ENOMEM;
		return;
	}
	lane->end_ns = p->end_ns ? p->end_ns : UINT64_MAX; /* it runs */
	event = open_event(t, &packet, p->start_ns, BEGIN, lane->uuid);
	put_text(&t->packet, EVENT_NAME, reason_name(p));
	note_number(t, "pid", p->pid);
	note_number(t, "ppid", p->ppid);
	if (p->kind->execed && p->argv)
		note_text_take(t, "argv", text_argv(p->argv, p->argv_cut, true, 4096));
	note_text_take(t, "end", reason_text(p, true));
	note_totals(t, &p->totals, p->totals.rss_peak_bytes);
	close_event(t, packet, event);
	if (p->end_ns)
		put_end(t, p->end_ns > p->start_ns ? p->end_ns : p->start_ns, lane->uuid);
}

/* ---- counters --------------------------------------------------------------------- */

enum { CORES, QUEUED, MEMORY, READ, WRITTEN, PROCESSES, COUNTERS };

static const struct {
	const char *name, *unit_name;
	int unit;
} counters[COUNTERS] = {
	[CORES] = { "cores in use", "cores", UNIT_NONE },
	[QUEUED] = { "waiting for a CPU", "threads", UNIT_NONE },
	[MEMORY] = { "resident memory", NULL, UNIT_BYTES },
	[READ] = { "read per second", NULL, UNIT_BYTES },
	[WRITTEN] = { "written per second", NULL, UNIT_BYTES },
	[PROCESSES] = { "processes", NULL, UNIT_COUNT },
};

static void put_values(struct trace *t, uint64_t ns, const double values[COUNTERS])
{
	for (unsigned k = 0; k < COUNTERS; k++) {
		size_t packet, event = open_event(t, &packet, ns, COUNTER, COUNTED + k);

		put_double(&t->packet, EVENT_VALUE, values[k]);
		close_event(t, packet, event);
	}
}

/* The sums over the tools at each time; a value holds until the next one. */
static void put_counters(struct trace *t)
{
	const struct lake_report *r = t->report;
	static const double none[COUNTERS];
	uint64_t end_ns = 0;

	for (unsigned k = 0; k < COUNTERS && r->n_samples; k++)
		put_track(t, COUNTED + k, RUN, counters[k].name, counters[k].unit, counters[k].unit_name);
	for (size_t i = 0, next; i < r->n_samples; i = next) {
		const double seconds = (double)r->samples[i].interval_ns / 1e9;
		double values[COUNTERS] = { 0 };

		for (next = i; next < r->n_samples && r->samples[next].start_ns == r->samples[i].start_ns; next++) {
			const struct lake_sample *s = &r->samples[next];

			values[CORES] += seconds > 0 ? (double)s->cpu_ns / 1e9 / seconds : 0;
			values[QUEUED] += seconds > 0 ? (double)s->run_delay_ns / 1e9 / seconds : 0;
			values[MEMORY] += (double)s->rss_bytes;
			values[READ] += seconds > 0 ? (double)s->read_bytes / seconds : 0;
			values[WRITTEN] += seconds > 0 ? (double)s->write_bytes / seconds : 0;
			values[PROCESSES] += (double)s->processes;
		}
		if (end_ns && r->samples[i].start_ns > end_ns) /* an interval without a sample */
			put_values(t, end_ns, none);
		put_values(t, r->samples[i].start_ns, values);
		end_ns = r->samples[i].start_ns + r->samples[i].interval_ns;
	}
	if (end_ns)
		put_values(t, end_ns, none);
}

int trace_print(const struct lake_report *r, FILE *out)
{
	struct trace t = { .report = r, .packet = { .out = out }, .next_uuid = COUNTED + COUNTERS };

	errno = 0;
	t.groups = calloc(r->n_tasks + 1, sizeof(*t.groups));
	if (!t.groups)
		return -ENOMEM;
	put_clocks(&t);
	put_run(&t);
	put_counters(&t);
	for (size_t i = 0; i < r->n_tasks; i++) {
		t.groups[i] = (struct group){ .task = &r->tasks[i], .uuid = t.next_uuid++ };
		put_task(&t, &t.groups[i]);
	}
	t.n_groups = r->n_tasks;
	t.groups[t.n_groups].uuid = RUN;
	qsort(t.groups, t.n_groups, sizeof(*t.groups), by_id);
	for (size_t i = 0; i < r->n_processes && !t.packet.err; i++)
		put_program(&t, &r->processes[i]);
	if (!t.packet.err && fflush(out) != 0)
		t.packet.err = errno ? -errno : -EIO;
	for (size_t i = 0; i <= t.n_groups; i++)
		free(t.groups[i].lanes);
	free(t.groups);
	free(t.packet.bytes);
	return t.packet.err;
}
