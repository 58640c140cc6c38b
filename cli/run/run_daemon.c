/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/run_daemon.c - the client of run_begin, run_resume and run_end.
 *
 * A skepd saves the run with the state of live processes, and this client resumes the run after a restart of skepd.
 * Even if skepd stays away, CMD runs on and `skep run` exits with its status.
 */
#include "cli/run/run_daemon.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/ctl.h"
#include "cli/base/skep.h"
#include "cli/base/text.h"
#include "core/control/control.h"
#include "core/control/control_record.h"

#define FIND_MS   10000            /* waits for a busy skepd */
#define ANSWER_MS 10000
#define AGAIN_MS  250              /* between attempts to reach a skepd that has gone */
#define AWAY_MS   10000            /* after CMD's end: waits for the return of a skepd that has gone */
#define END_MS    30000            /* run_end is answered within 14 s */
#define LIVE_NS   1000000000       /* skepd sends figures once a second at most */
#define ROOM      128              /* of a request's line, for separators, which size_of does not count */

struct run_daemon {
	struct ctl *ctl; /* NULL: skepd is away */
	int pid;
	char *lake, *sink;
	bool closed; /* this user may not read the lake */
	char id[RUN_ID_SIZE];
	pid_t root;
	bool live;
	struct run_detail *details;
	uv_poll_t *lines; /* polls ctl; NULL: nothing is read */
	bool has_timer;
	uv_timer_t again;
	void (*on_live)(void *arg, const struct collector_live *);
	void *live_arg;
	bool ended;      /* CMD has ended */
	int status;
	uint64_t cpu_ns;
	uint64_t ended_ms; /* CMD's end, by the loop's clock */
	void (*done)(void *arg);
	void *done_arg;
	bool was_away;   /* the connection was lost */
	bool forgotten;  /* the skepd that came back does not know the run */
	bool unanswered; /* no skepd has confirmed that the run's records are stored */
};

/* ---- one answer ------------------------------------------------------------------------ */

static void take_line(struct run_daemon *d, json_t *line)
{
	struct collector_live l = { 0 };
	const char *busiest = json_string_value(json_object_get(line, "busiest"));

	if (json_object_get(line, "stream"))
		run_detail_record(d->details, line);
	if (!json_object_get(line, "live") || !d->on_live)
		return;
#define NUMBER(name) (uint64_t)json_integer_value(json_object_get(line, name))
	l.elapsed_ns = NUMBER("elapsed_ns");
	l.processes_alive = NUMBER("processes_alive");
	l.processes_total = NUMBER("processes_total");
	l.rss_bytes = NUMBER("rss_bytes");
	l.lost = NUMBER("lost");
#undef NUMBER
	l.cores_busy = json_number_value(json_object_get(line, "cores_busy"));
	l.read_bytes_per_s = json_number_value(json_object_get(line, "read_bytes_per_s"));
	l.write_bytes_per_s = json_number_value(json_object_get(line, "write_bytes_per_s"));
	l.busiest_cores = json_number_value(json_object_get(line, "busiest_cores"));
	snprintf(l.busiest, sizeof(l.busiest), "%s", busiest ? busiest : "");
	d->on_live(d->live_arg, &l);
}

/* Sends the request and owns it; handles other lines that come before the answer. 0 and the answer; or -errno. */
static int ask(struct run_daemon *d, json_t *request, int timeout_ms, json_t **ret)
{
	int err = ctl_send(d->ctl, request), got;
	json_t *line;

	/* Read also when sending failed: a daemon that refuses this client sends the reason and closes. */
	for (;;) {
		got = ctl_receive(d->ctl, timeout_ms, &line);
		if (got == -EINTR)
			continue;
		if (got < 0)
			return err < 0 ? err : got;
		if (json_object_get(line, "ok")) {
			*ret = line;
			return 0;
		}
		take_line(d, line);
		json_decref(line);
	}
}

static const char *code_of(const json_t *answer)
{
	const char *code = json_string_value(json_object_get(answer, "code"));

	return code ? code : "";
}

static void pause_ms(long ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* ---- which skepd --------------------------------------------------------------------------- */

static bool same_folder(const char *a, const char *b)
{
	struct stat of_a, of_b;

	return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

/* Finds the sink of skepd that writes this lake; NULL: any lake that the caller can read. */
static bool find_sink(struct run_daemon *d, const json_t *status, const char *lake)
{
	const json_t *sink;
	size_t i;

	json_array_foreach(json_object_get(status, "instances"), i, sink) {
		const char *plugin = json_string_value(json_object_get(sink, "plugin")),
			   *name = json_string_value(json_object_get(sink, "name"));
		const char *path = json_string_value(json_object_get(sink, "location")),
			   *state = json_string_value(json_object_get(sink, "state"));

		if (!plugin || !name || !path || !state || strcmp(plugin, "lake") != 0 ||
		    strcmp(state, "running") != 0 || (lake && !same_folder(lake, path)) ||
		    access(path, R_OK | X_OK) < 0)
			continue;
		d->lake = strdup(path);
		d->sink = strdup(name);
		return d->lake && d->sink;
	}
	return false;
}

/* For a user who is not in group skep: skepd gives such a user a copy of the run. */
static bool find_closed(struct run_daemon *d)
{
	json_t *version = NULL;
	const char *path, *name;

	if (ask(d, json_pack("{s:s}", "request", "version"), FIND_MS, &version) < 0)
		return false;
	path = json_string_value(json_object_get(version, "lake"));
	name = json_string_value(json_object_get(version, "sink"));
	if (path && name && json_is_false(json_object_get(version, "member"))) {
		d->closed = true;
		d->lake = strdup(path);
		d->sink = strdup(name);
	}
	json_decref(version);
	return d->lake && d->sink;
}

struct run_daemon *run_daemon_find(const char *lake)
{
	struct run_daemon *d = calloc(1, sizeof(*d));
	json_t *status = NULL;
	bool found = false, busy = true;

	/* A connection that has begun a run no longer counts against the limit, so a busy skepd soon has room. */
	for (int waited = 0; d && busy && waited < FIND_MS; waited += AGAIN_MS) {
		if (!ctl_try_own(NULL, &d->ctl))
			break;
		/* 0: skepd is outside of our pid namespace, where our pids name other processes */
		d->pid = ctl_peer_pid(d->ctl);
		if (d->pid == 0 || ask(d, json_pack("{s:s}", "request", "status"), FIND_MS, &status) < 0)
			break;
		/* A skepd in a pid namespace of its own cannot record our command: skep does it without skepd. */
		found = json_is_true(json_object_get(status, "ok")) &&
			!json_is_true(json_object_get(status, "own_pid_namespace")) && find_sink(d, status, lake);
		busy = strcmp(code_of(status), "busy") == 0;
		if (!lake && strcmp(code_of(status), "permission") == 0)
			found = find_closed(d);
		json_decref(status);
		if (found)
			return d;
		ctl_close(d->ctl);
		d->ctl = NULL;
		if (busy)
			pause_ms(AGAIN_MS);
	}
	return run_daemon_free(d);
}

const char *run_daemon_lake(const struct run_daemon *d)
{
	return d->lake;
}

bool run_daemon_is_closed(const struct run_daemon *d)
{
	return d->closed;
}

int run_daemon_pid(const struct run_daemon *d)
{
	return d->pid;
}

/* ---- the begin ------------------------------------------------------------------------------ */

static size_t size_of(const json_t *value)
{
	return json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);
}

/* The arguments that the line has room for: cuts the last of these and leaves out the rest. */
static json_t *argv_json(const char *const *argv, size_t room, uint64_t *ret_bytes)
{
	json_t *array = json_array();
	bool full = false;

	*ret_bytes = 0;
	for (size_t i = 0; array && argv[i]; i++) {
		size_t len = strlen(argv[i]), size;
		json_t *one;

		*ret_bytes += len + 1;
		if (full)
			continue;
		one = control_json_text(argv[i], len);
		size = one ? size_of(one) + 1 : 0;
		if (size > room) { /* JSON needs at most six bytes for one: \\u0001 */
			json_decref(one);
			one = control_json_text(argv[i], room > 12 ? (room - 12) / 6 : 0);
			size = room;
			full = true;
		}
		room -= size;
		if (json_array_append_new(array, one) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

/* The request run_begin; NULL: no memory. */
static json_t *begin_request(const struct run_daemon *d, const struct run_spec *spec)
{
	json_t *request = json_pack("{s:s, s:i, s:s}", "request", "run_begin", "pid", (int)spec->root, "sink", d->sink);
	const struct {
		const char *key, *text;
	} texts[] = { { "name", spec->name },
		      { "pipeline", spec->pipeline },
		      { "traceparent", spec->traceparent },
		      { "cwd", spec->cwd } };
	uint64_t bytes;
	json_t *value;
	size_t used;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!texts[i].text || !*texts[i].text)
			continue;
		value = control_json_string(texts[i].text);
		if (size_of(value) > CONTROL_LINE_MAX / 2) /* a cwd of unprintable bytes: the root's record has it */
			json_decref(value);
		else if (json_object_set_new(request, texts[i].key, value) < 0)
			goto no_memory;
	}
	if (d->live && json_object_set_new(request, "live_ns", json_integer(LIVE_NS)) < 0)
		goto no_memory;
	used = size_of(request) + ROOM;
	value = argv_json(spec->argv, used < CONTROL_LINE_MAX ? CONTROL_LINE_MAX - used : 0, &bytes);
	if (json_object_set_new(request, "argv", value) < 0 ||
	    json_object_set_new(request, "argv_bytes", json_integer((json_int_t)bytes)) < 0)
		goto no_memory;
	return request;
no_memory:
	json_decref(request);
	return NULL;
}

static int say_gone(int err)
{
	return skep_fail(
		"run", SKEP_EXIT_RUNTIME,
		"skepd did not begin the run: %s; try again, or collect without it into a lake of your own: "
		"--lake FOLDER",
		err == -EAGAIN  ? "no answer"
		: err == -EPIPE ? "it closed the connection"
				: strerror(-err));
}

/* Prints the error of an answer, and for a run also the remedy. */
static int say_refused(const json_t *answer, const char *detail)
{
	const char *why = json_string_value(json_object_get(answer, "error"));
	char *safe = text_safe(why ? why : "it gave no reason", false);
	int code;

	if (detail)
		code = skep_fail("run",
				 strcmp(code_of(answer), "not_found") == 0 ? SKEP_EXIT_USAGE : SKEP_EXIT_PRIVILEGE,
				 "--detail %s: %s", detail, safe ? safe : "");
	else
		code = skep_fail(
			"run", SKEP_EXIT_RUNTIME,
			"skepd does not collect this run: %s\nTo collect without skepd, use a lake of your own: "
			"--lake FOLDER",
			safe ? safe : "");
	free(safe);
	return code;
}

static int attach_details(struct run_daemon *d, bool quiet)
{
	json_t *request, *answer = NULL;
	int code = SKEP_EXIT_OK, err;

	for (size_t n = 0; code == SKEP_EXIT_OK && (request = run_detail_request(d->details, n, d->id)); n++) {
		err = ask(d, request, ANSWER_MS, &answer);
		if (err < 0)
			return quiet ? SKEP_EXIT_RUNTIME : say_gone(err);
		if (json_is_true(json_object_get(answer, "ok")))
			run_detail_answer(d->details, n, answer);
		else
			code = quiet ? SKEP_EXIT_RUNTIME : say_refused(answer, run_detail_name(d->details, n));
		json_decref(answer);
	}
	return code;
}

int run_daemon_begin(struct run_daemon *d, const struct run_spec *spec, bool live, struct run_detail *details,
		     char ret_id[RUN_ID_SIZE])
{
	json_t *request, *answer = NULL;
	const char *id;
	int err, code;

	d->live = live;
	d->details = details;
	d->root = spec->root;
	request = begin_request(d, spec);
	if (!request)
		return skep_fail("run", SKEP_EXIT_RUNTIME, "out of memory");
	err = ask(d, request, ANSWER_MS, &answer);
	if (err < 0)
		return say_gone(err);
	id = json_string_value(json_object_get(answer, "run"));
	if (!json_is_true(json_object_get(answer, "ok")) || !id || strlen(id) != RUN_ID_SIZE - 1) {
		code = say_refused(answer, NULL);
		json_decref(answer);
		return code;
	}
	memcpy(d->id, id, RUN_ID_SIZE);
	memcpy(ret_id, id, RUN_ID_SIZE);
	json_decref(answer);
	return attach_details(d, false);
}

/* ---- while it runs ---------------------------------------------------------------------------- */

static void on_again(uv_timer_t *timer);

static void over(struct run_daemon *d)
{
	void (*done)(void *) = d->done;

	run_daemon_close(d);
	d->done = NULL;
	if (done)
		done(d->done_arg);
}

static void on_poll_closed(uv_handle_t *handle)
{
	free(handle);
}

static void disconnect(struct run_daemon *d)
{
	if (d->lines)
		uv_close((uv_handle_t *)d->lines, on_poll_closed);
	d->lines = NULL;
	ctl_close(d->ctl);
	d->ctl = NULL;
}

static void lose(struct run_daemon *d)
{
	disconnect(d);
	d->was_away = true;
	uv_timer_start(&d->again, on_again, AGAIN_MS, AGAIN_MS);
}

static void on_lines(uv_poll_t *poll, int status, int events)
{
	struct run_daemon *d = poll->data;
	json_t *line;
	int err;

	(void)status;
	(void)events;
	while ((err = ctl_receive(d->ctl, 0, &line)) == 0) {
		bool answer = json_object_get(line, "ok") != NULL;

		if (!answer)
			take_line(d, line);
		else
			d->unanswered = !json_is_true(json_object_get(line, "ok"));
		json_decref(line);
		if (answer && d->ended) { /* of run_end */
			over(d);
			return;
		}
	}
	if (err != -EAGAIN && err != -EINTR)
		lose(d);
}

static int read_lines(struct run_daemon *d)
{
	int err;

	d->lines = malloc(sizeof(*d->lines));
	if (!d->lines)
		return -ENOMEM;
	err = uv_poll_init(d->again.loop, d->lines, ctl_fd(d->ctl));
	if (err < 0) {
		free(d->lines);
		d->lines = NULL;
		return err;
	}
	d->lines->data = d;
	return uv_poll_start(d->lines, UV_READABLE, on_lines);
}

static bool send_end(struct run_daemon *d)
{
	return ctl_send(d->ctl, json_pack("{s:s, s:s, s:i, s:I}", "request", "run_end", "run", d->id, "status",
					  d->status, "cpu_ns", (json_int_t)d->cpu_ns)) == 0;
}

/* Asks the skepd that has come back to resume the run. false: ask again later. */
static bool resume(struct run_daemon *d)
{
	json_t *request = json_pack("{s:s, s:s, s:i, s:s}", "request", "run_resume", "run", d->id, "pid", (int)d->root,
				    "sink", d->sink),
	       *answer = NULL;
	bool good;

	if (d->live && request)
		json_object_set_new(request, "live_ns", json_integer(LIVE_NS));
	if (ask(d, request, ANSWER_MS, &answer) < 0)
		return false;
	good = json_is_true(json_object_get(answer, "ok"));
	d->forgotten = !good && strcmp(code_of(answer), "not_found") == 0;
	json_decref(answer);
	if (good)
		(void)attach_details(d, true);
	return good || d->forgotten;
}

static void on_again(uv_timer_t *timer)
{
	struct run_daemon *d = timer->data;

	if (d->ended && uv_now(timer->loop) - d->ended_ms >= (d->ctl ? END_MS : AWAY_MS)) {
		d->unanswered = true;
		over(d);
		return;
	}
	if (d->ctl || !ctl_try_own(NULL, &d->ctl))
		return;
	if (!resume(d) || d->forgotten || (d->ended && !send_end(d)) || read_lines(d) < 0)
		disconnect(d);
	if (d->forgotten && d->ended)
		over(d);
	else if (d->forgotten || (d->ctl && !d->ended))
		uv_timer_stop(timer);
}

int run_daemon_watch(struct run_daemon *d, uv_loop_t *loop, void (*live)(void *arg, const struct collector_live *),
		     void *arg)
{
	int err;

	d->on_live = live;
	d->live_arg = arg;
	err = uv_timer_init(loop, &d->again);
	if (err < 0)
		return err;
	d->again.data = d;
	d->has_timer = true;
	return read_lines(d);
}

void run_daemon_end(struct run_daemon *d, int status, const struct rusage *usage, void (*done)(void *arg), void *arg)
{
	d->ended = true;
	d->status = status;
	d->cpu_ns = ((uint64_t)usage->ru_utime.tv_sec + (uint64_t)usage->ru_stime.tv_sec) * 1000000000u +
		    ((uint64_t)usage->ru_utime.tv_usec + (uint64_t)usage->ru_stime.tv_usec) * 1000u;
	d->done = done;
	d->done_arg = arg;
	uv_update_time(d->again.loop);
	d->ended_ms = uv_now(d->again.loop);
	if (d->forgotten) {
		over(d);
		return;
	}
	if (d->ctl && !send_end(d)) {
		disconnect(d);
		d->was_away = true;
	}
	uv_timer_start(&d->again, on_again, AGAIN_MS, AGAIN_MS);
}

void run_daemon_note(const struct run_daemon *d, FILE *out)
{
	if (d->unanswered)
		fprintf(out, "skep run: skepd has not confirmed that it stored run %s; when it is back: skep show %s\n",
			d->id, d->id);
	else if (d->forgotten)
		fprintf(out,
			"skep run: skepd was restarted during this run and ended it early (or has no spool): the "
			"report has what skepd recorded\n");
	else if (d->was_away && d->details)
		fprintf(out, "skep run: skepd was down during part of this run: details lack that time\n");
}

void run_daemon_close(struct run_daemon *d)
{
	if (!d || !d->has_timer)
		return;
	d->has_timer = false;
	disconnect(d);
	uv_close((uv_handle_t *)&d->again, NULL);
}

struct run_daemon *run_daemon_free(struct run_daemon *d)
{
	if (!d)
		return NULL;
	ctl_close(d->ctl);
	free(d->lake);
	free(d->sink);
	free(d);
	return NULL;
}
