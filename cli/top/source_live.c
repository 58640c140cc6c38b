/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/top/source_live.c - reads the processes that a running skepd sends (docs/reference/control.md, watch), and once
 * from its lake the processes that ended before.
 *
 * skepd sends a message when its lake has all images that ended before the watch began.  The lake then also has some
 * images that skepd has sent since; the model finds these by their identity and does not count them twice.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/answer.h"
#include "cli/base/ctl.h"
#include "cli/base/human.h"
#include "cli/base/own_runs.h"
#include "cli/base/skep.h"
#include "cli/top/source.h"
#include "core/identify/users.h"

#define ENDED_MOST 50000u /* ended processes that keep a row of their own: about 40 MB */
#define FIRST_ANSWER_MS 30000
#define LINES_AT_ONCE 64u /* then the screen gets its turn */
#define HELD_MOST 4096u   /* lines, of up to 128 processes each */

struct source_live {
	char *socket, *lake; /* NULL: not given */
	char *lake_of;       /* that skepd writes; NULL: none */
	struct ctl *ctl;     /* NULL: not connected */
	json_t *runs;        /* of the first pass; NULL: it is still to come */
	bool whole;
	uint64_t since_ns;   /* boot time at which the watch began */
	uint64_t dropped;
	int64_t offset_ns;
	time_t tried;
	char note[TOP_NOTE_SIZE];
	bool hold, too_much; /* too_much: more arrived than is held */
	json_t *held;        /* lines; NULL: none */
	size_t held_at;
	struct source_room room;
};

/* ---- a row ------------------------------------------------------------------------------- */

static int64_t integer_of(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static int read_argv(struct source_live *s, const json_t *list, struct top_names *names)
{
	size_t len = 0;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *text = json_array_get(list, i);
		size_t n = json_string_length(text);

		if (source_room_grow(&s->room, len + n + 1) < 0)
			return -ENOMEM;
		if (n)
			memcpy(s->room.argv + len, json_string_value(text), n);
		s->room.argv[len + n] = '\0';
		len += n + 1;
	}
	names->argv = s->room.argv;
	names->argv_len = len;
	return 0;
}

static int read_names(struct source_live *s, const json_t *row, struct top_names *names)
{
	*names = (struct top_names){
		.run = answer_text(row, "run"),
		.pipeline = answer_text(row, "pipeline"),
		.task = answer_text(row, "task"),
		.tool = answer_text(row, "tool"),
		.container = answer_text(row, "container"),
		.comm = answer_text(row, "comm"),
		.exe = answer_text(row, "exe"),
		.filename = answer_text(row, "filename"),
		.cwd = answer_text(row, "cwd"),
		.cgroup = answer_text(row, "cgroup"),
		.start_ns = answer_u64(row, "start_ns"),
		.parent_start_boot_ns = answer_u64(row, "parent_start_boot_ns"),
		.ppid = (uint32_t)answer_u64(row, "ppid"),
		.uid = (uint32_t)answer_u64(row, "uid"),
		.gid = (uint32_t)answer_u64(row, "gid"),
		.session = (uint32_t)answer_u64(row, "session"),
		.wrapper = json_is_true(json_object_get(row, "wrapper")),
		.cut = json_is_true(json_object_get(row, "argv_cut")),
	};
	names->user = source_user(&s->room, names->uid);
	return read_argv(s, json_object_get(row, "argv"), names);
}

static char state_of(const char *state)
{
	switch (*state) {
	case 'r':
		return 'R';
	case 'b':
		return 'D';
	case 'z':
		return 'Z';
	default:
		return 'S';
	}
}

static int read_process(struct source_live *s, const json_t *row, struct top_names *names, struct top_process *p)
{
	*p = (struct top_process){
		.key = { .start_boot_ns = answer_u64(row, "start_boot_ns"), .pid = (uint32_t)answer_u64(row, "pid"),
			 .image = (uint32_t)answer_u64(row, "image") },
		.figures = {
			.cpu_ns = answer_u64(row, "cpu_ns"),
			.run_delay_ns = answer_u64(row, "run_delay_ns"),
			.block_delay_ns = answer_u64(row, "block_delay_ns"),
			.rss_bytes = answer_u64(row, "rss_bytes"),
			.rss_peak_bytes = answer_u64(row, "rss_peak_bytes"),
			.read_bytes = answer_u64(row, "read_bytes"),
			.write_bytes = answer_u64(row, "write_bytes"),
			.net_bytes = answer_u64(row, "net_rx_bytes") + answer_u64(row, "net_tx_bytes"),
			.block_known = json_is_integer(json_object_get(row, "block_delay_ns")),
			.net_known = json_is_integer(json_object_get(row, "net_rx_bytes")),
		},
		.state = state_of(answer_text(row, "state")),
		.last = json_is_true(json_object_get(row, "last")),
		.exit_code = (int)integer_of(row, "exit_code"),
		.signal = (int)integer_of(row, "signal"),
	};
	p->failed = p->exit_code > 0 || p->signal > 0;
	if (!json_object_get(row, "uid"))
		return 0;
	p->names = names;
	return read_names(s, row, names);
}

/* ---- the lake ---------------------------------------------------------------------------- */

static int add_run(struct source_live *s, struct top_model *m, const struct lake_report *r)
{
	int err = 0;

	for (size_t i = 0; i < r->n_processes && err == 0; i++) {
		struct top_names names;
		struct top_process p;

		err = source_lake_process(&r->processes[i], &r->run, &s->room, &names, &p);
		if (err == 0)
			err = top_model_earlier(m, &p);
	}
	return err;
}

/* A user outside group skep gets a copy of the run from skepd. */
static int open_lake(const struct source_live *s, const char *run, struct lake **ret, char *why, size_t size)
{
	const char *path = s->lake ? s->lake : s->lake_of;
	int err = lake_open(path, ret, why, size);

	return err == -EACCES ? own_runs_open(NULL, run, 0, path, ret, why, size) : err;
}

static int read_run(struct source_live *s, struct top_model *m, const char *id, char *why, size_t size)
{
	struct lake_report *report = NULL;
	struct lake *lake = NULL;
	int err = open_lake(s, id, &lake, why, size);

	if (err == 0)
		err = lake_report(lake, id, &report, why, size);
	if (err == -ENOENT)
		err = 0; /* no process of it has ended */
	else if (err == 0)
		err = add_run(s, m, report);
	lake_report_free(report);
	lake_close(lake);
	return err;
}

static void say_missing(struct source_live *s, const char *because)
{
	char clock[HUMAN_SIZE];

	human_date((uint64_t)((int64_t)s->since_ns + s->offset_ns), HUMAN_CLOCK, clock);
	snprintf(s->note, sizeof(s->note), "without processes that ended before %s: %s", clock, because);
}

static int read_earlier(struct source_live *s, struct top_model *m, const json_t *runs)
{
	char why[160] = "";
	int err = 0;

	for (size_t i = 0; i < json_array_size(runs) && err == 0; i++) {
		const json_t *run = json_array_get(runs, i);

		if (answer_u64(run, "start_ns") < s->since_ns)
			err = read_run(s, m, answer_text(run, "id"), why, sizeof(why));
	}
	s->note[0] = '\0';
	if (err == -ENOMEM)
		return err;
	if (err < 0)
		say_missing(s, *why ? why : strerror(-err));
	s->whole = true;
	top_model_bound(m, ENDED_MOST);
	return 0;
}

/* ---- lines ------------------------------------------------------------------------------- */

static int on_rows(struct source_live *s, struct top_model *m, const json_t *rows,
		   int (*report)(struct top_model *, const struct top_process *))
{
	int err = 0;

	for (size_t i = 0; i < json_array_size(rows) && err == 0; i++) {
		struct top_names names;
		struct top_process p;

		err = read_process(s, json_array_get(rows, i), &names, &p);
		if (err == 0)
			err = report(m, &p);
	}
	return err;
}

static void on_gone(struct top_model *m, const json_t *rows)
{
	for (size_t i = 0; i < json_array_size(rows); i++)
		top_model_gone(m, (uint32_t)answer_u64(json_array_get(rows, i), "pid"),
			       answer_u64(json_array_get(rows, i), "start_boot_ns"));
}

static int on_pass(struct source_live *s, struct top_model *m, const json_t *line)
{
	const json_t *runs = json_object_get(line, "runs");
	int err = 0;

	s->offset_ns = integer_of(line, "realtime_offset_ns");
	for (size_t i = 0; i < json_array_size(runs) && err == 0; i++) {
		const json_t *o = json_array_get(runs, i);
		const struct top_run run = {
			.id = answer_text(o, "id"),
			.name = answer_text(o, "name"),
			.engine = answer_text(o, "engine"),
			.start_ns = answer_u64(o, "start_ns"),
			.ended = json_is_true(json_object_get(o, "ended")),
		};

		err = top_model_run(m, &run);
	}
	if (answer_u64(line, "dropped") > s->dropped) {
		s->dropped = answer_u64(line, "dropped");
		snprintf(s->note, sizeof(s->note), "without %llu ended processes, which this terminal or skepd was too slow for; "
			 "skep show has them", (unsigned long long)s->dropped);
	}
	top_model_pass(m, answer_u64(line, "sampled_ns"));
	if (!s->whole && !*s->note)
		say_missing(s, s->lake_of ? "skepd is still storing them" : "this skepd writes no lake");
	s->whole |= !s->lake_of;
	if (s->whole)
		top_model_bound(m, ENDED_MOST);
	return err < 0 ? err : 1;
}

static int on_line(struct source_live *s, struct top_model *m, const json_t *line)
{
	const json_t *rows;

	if ((rows = json_object_get(line, "live")))
		return on_rows(s, m, rows, top_model_live);
	if ((rows = json_object_get(line, "ended")))
		return on_rows(s, m, rows, top_model_ended);
	if ((rows = json_object_get(line, "gone"))) {
		on_gone(m, rows);
		return 0;
	}
	if (json_object_get(line, "stored"))
		return read_earlier(s, m, s->runs);
	if (!json_object_get(line, "sampled_ns"))
		return 0;
	if (!s->runs)
		s->runs = json_incref(json_object_get(line, "runs"));
	return on_pass(s, m, line);
}

/* ---- connected --------------------------------------------------------------------------- */

static void take_answer(struct source_live *s, const json_t *answer)
{
	const char *lake = json_string_value(json_object_get(answer, "lake"));

	free(s->lake_of);
	s->lake_of = lake ? strdup(lake) : NULL;
	s->since_ns = answer_u64(answer, "start_ns");
	s->offset_ns = integer_of(answer, "realtime_offset_ns");
	s->whole = false;
	s->dropped = 0;
	s->note[0] = '\0';
}

int source_live_open(const char *socket, const char *lake, struct source_live **ret)
{
	struct source_live *s = calloc(1, sizeof(*s));
	json_t *answer = NULL;
	int status;

	if (!s)
		return skep_fail("top", SKEP_EXIT_RUNTIME, "out of memory");
	if (socket)
		setenv("SKEP_SOCKET", socket, 1); /* own_runs_open() asks the same skepd */
	s->socket = socket ? strdup(socket) : NULL;
	s->lake = lake ? strdup(lake) : NULL;
	s->room.users = users_new(NULL, NULL, NULL);
	status = s->room.users ? ctl_open("top", socket, &s->ctl) : skep_fail("top", SKEP_EXIT_RUNTIME, "out of memory");
	if (status == SKEP_EXIT_OK)
		status = ctl_ask("top", s->ctl, json_pack("{s:s}", "request", "watch"), &answer);
	if (status != SKEP_EXIT_OK) {
		source_live_close(s);
		return status;
	}
	take_answer(s, answer);
	json_decref(answer);
	*ret = s;
	return SKEP_EXIT_OK;
}

struct source_live *source_live_close(struct source_live *s)
{
	if (!s)
		return NULL;
	ctl_close(s->ctl);
	json_decref(s->held);
	json_decref(s->runs);
	users_free(s->room.users);
	free(s->room.argv);
	free(s->lake_of);
	free(s->socket);
	free(s->lake);
	free(s);
	return NULL;
}

int source_live_fd(const struct source_live *s)
{
	return s->ctl ? ctl_fd(s->ctl) : -1;
}

bool source_live_whole(const struct source_live *s)
{
	return s->whole;
}

const char *source_live_note(const struct source_live *s)
{
	return s->note;
}

int64_t source_live_offset_ns(const struct source_live *s)
{
	return s->offset_ns;
}

static void let_go(struct source_live *s)
{
	json_decref(s->held);
	s->held = NULL;
	s->held_at = 0;
}

static int lose(struct source_live *s)
{
	ctl_close(s->ctl);
	s->ctl = NULL;
	s->tried = time(NULL);
	snprintf(s->note, sizeof(s->note), "skepd has gone: these are its last figures; trying again each second");
	return -EPIPE;
}

/* A restarted skepd: the model begins anew with the processes of that skepd and of its lake. */
static int connect_again(struct source_live *s, struct top_model *m)
{
	json_t *answer = NULL;
	int err;

	if (time(NULL) == s->tried || !ctl_try_own(s->socket, &s->ctl)) {
		s->tried = time(NULL);
		return -EPIPE;
	}
	err = ctl_send(s->ctl, json_pack("{s:s}", "request", "watch"));
	if (err == 0)
		err = ctl_receive(s->ctl, FIRST_ANSWER_MS, &answer);
	if (err < 0 || !json_is_true(json_object_get(answer, "ok"))) {
		json_decref(answer);
		return lose(s);
	}
	top_model_clear(m);
	let_go(s);
	json_decref(s->runs);
	s->runs = NULL;
	take_answer(s, answer);
	json_decref(answer);
	return 0;
}

/* ---- held ---------------------------------------------------------------------------------- */

void source_live_hold(struct source_live *s, bool hold)
{
	s->hold = hold;
}

static int keep(struct source_live *s, json_t *line)
{
	if (!s->held)
		s->held = json_array();
	if (s->too_much || json_array_size(s->held) - s->held_at >= HELD_MOST) {
		s->too_much = true;
		let_go(s);
		return 0;
	}
	return json_array_append(s->held, line) < 0 ? -ENOMEM : 0;
}

/* The next line: one that was held, or one that arrives. */
static int next_line(struct source_live *s, json_t **ret)
{
	if (!s->hold && s->held_at < json_array_size(s->held)) {
		*ret = json_incref(json_array_get(s->held, s->held_at++));
		return 0;
	}
	if (!s->hold)
		let_go(s);
	return ctl_receive(s->ctl, 0, ret);
}

int source_live_read(struct source_live *s, struct top_model *m)
{
	int err = s->ctl ? 0 : s->hold ? -EPIPE : connect_again(s, m), news = 0;

	if (s->ctl && s->too_much && !s->hold) {
		s->too_much = false;
		return lose(s);
	}
	for (unsigned i = 0; err == 0 && i < LINES_AT_ONCE; i++) {
		json_t *line = NULL;

		err = next_line(s, &line);
		if (err == 0)
			err = s->hold ? keep(s, line) : on_line(s, m, line);
		json_decref(line);
		if (err == 1) {
			news = 1;
			err = 0;
		}
	}
	if (err == 0 || err == -EAGAIN || err == -EINTR)
		return news;
	return err == -EPIPE && s->ctl ? lose(s) : err;
}
