/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/attach.c - `skep attach`: a detail of a running skepd, for some time: a line for each
 * of its records, and at the end all of them together.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/ctl.h"
#include "cli/paint.h"
#include "cli/question.h"
#include "cli/report_json.h"
#include "cli/series.h"
#include "cli/skep.h"
#include "cli/status.h"
#include "core/config.h"
#include "core/control_request.h"

#define FIRST_ANSWER_MS 30000

const char cmd_attach_help[] =
	"DETAIL is one of `skep attach --list`, or PLUGIN:DETAIL where two plugins share the name.\n"
	"\n"
	"  --list          the details that the running skepd has, with what they cost\n"
	"  --for TIME      how long (default 60s; 0s: until Ctrl-C); at most 1d\n"
	"  --run RUN       only processes of that live run (id or name)\n"
	"  --cgroup PATH   only processes in that cgroup (path as in /proc/PID/cgroup, or its id)\n"
	"  --pid PID       only that process\n"
	"  --quiet         no line for each record, only the whole at the end\n"
	"  --json          each record as a line of JSON\n"
	"  --socket PATH   the daemon's socket (default: $SKEP_SOCKET, else /run/skep/skepd.sock)\n"
	"\n"
	"Ctrl-C detaches and shows what there is by then; twice leaves at once. The daemon detaches\n"
	"by itself when the time is over, when the run or process ends, or when skep is gone.\n";

struct attach_options {
	const char *detail, *run, *cgroup, *socket;
	uint64_t for_ns;
	unsigned long pid;
	bool list, json, quiet;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

static int parse(int argc, char **argv, struct attach_options *ret)
{
	static const struct option longs[] = {
		{ "list", no_argument, NULL, 'L' },	     { "for", required_argument, NULL, 'f' },
		{ "run", required_argument, NULL, 'r' },     { "cgroup", required_argument, NULL, 'c' },
		{ "pid", required_argument, NULL, 'p' },     { "quiet", no_argument, NULL, 'q' },
		{ "json", no_argument, NULL, 'j' },	     { "socket", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },	     { 0 },
	};
	int got;

	ret->for_ns = CONTROL_FOR_DEFAULT_NS;
	optind = 0;
	opterr = 0;
	while ((got = getopt_long(argc, argv, ":hq", longs, NULL)) != -1) {
		switch (got) {
		case 'L':
			ret->list = true;
			break;
		case 'f':
			if (config_time(optarg, &ret->for_ns) < 0 || ret->for_ns > CONTROL_FOR_MOST_NS)
				return skep_usage("attach", "--for '%s' is not a time of at most 1d, such as 60s or 5m", optarg);
			break;
		case 'r':
			ret->run = optarg;
			break;
		case 'c':
			ret->cgroup = optarg;
			break;
		case 'p':
			if (question_number(optarg, 1, INT_MAX, &ret->pid))
				return skep_usage("attach", "--pid '%s' is not a process id", optarg);
			break;
		case 'q':
			ret->quiet = true;
			break;
		case 'j':
			ret->json = true;
			break;
		case 's':
			ret->socket = optarg;
			break;
		case 'h':
			return skep_help("attach");
		default:
			return skep_usage_option("attach", got, argv, longs);
		}
	}
	if (argc - optind > 1)
		return skep_usage("attach", "one detail at a time, not '%s' as well", argv[optind + 1]);
	if ((ret->run != NULL) + (ret->cgroup != NULL) + (ret->pid != 0) > 1)
		return skep_usage("attach", "one of --run, --cgroup and --pid");
	if (!ret->list && optind == argc)
		return skep_usage("attach", "which detail? skep attach --list shows them");
	ret->detail = argv[optind];
	return -1;
}

/* ---- the list ------------------------------------------------------------------------ */

static int list_print(const json_t *answer, FILE *out, const struct report_style *style)
{
	const json_t *list = json_object_get(answer, "details");
	struct paint p;

	paint_init(&p, out, style);
	if (json_array_size(list) > 0)
		details_print(list, &p, 0);
	else
		fputs("no plugin of this skepd has a detail; skep plugins shows which are loaded\n", out);
	return fflush(out) != 0 || ferror(out) ? (errno ? -errno : -EIO) : 0;
}

/* ---- a detail -------------------------------------------------------------------------- */

static json_t *request_of(const struct attach_options *o)
{
	json_t *request = json_pack("{s:s, s:s, s:I}", "request", "attach", "detail", o->detail, "for_ns", (json_int_t)o->for_ns);
	int err = request ? 0 : -1;

	if (err == 0 && o->run)
		err = json_object_set_new(request, "run", json_string(o->run));
	if (err == 0 && o->cgroup)
		err = json_object_set_new(request, "cgroup", json_string(o->cgroup));
	if (err == 0 && o->pid)
		err = json_object_set_new(request, "pid", json_integer((json_int_t)o->pid));
	if (err < 0) {
		json_decref(request);
		return NULL;
	}
	return request;
}

struct attached {
	const struct attach_options *options;
	struct ctl *ctl;
	json_t *answer; /* to "attach" */
	struct series_set *set;
	struct paint paint;
	uint64_t records;
	bool detaching;
	char ended[128]; /* why; "" not yet */
};

static int line_in(struct attached *a, json_t *line)
{
	const char *end = json_string_value(json_object_get(line, "end"));
	int err = 0;

	if (json_object_get(line, "ok"))
		return 0; /* the answer to our "detach" */
	if (a->options->json) {
		if (json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15)) < 0 || fputc('\n', stdout) == EOF || fflush(stdout) != 0)
			err = -EIO;
	} else if (!end) {
		err = series_add(a->set, line);
		if (err == 0 && !a->options->quiet && !series_many(a->set))
			err = series_line(a->set, line, &a->paint);
		fflush(stdout);
	}
	a->records += !end;
	if (end)
		snprintf(a->ended, sizeof(a->ended), "%s", *end ? end : "for no reason");
	return err;
}

static int read_all(struct attached *a)
{
	while (!*a->ended) {
		json_t *line = NULL;
		int err;

		if (interrupted && !a->detaching) {
			a->detaching = true;
			err = ctl_send(a->ctl, json_pack("{s:s, s:I}", "request", "detach", "id",
							 (json_int_t)answer_u64(a->answer, "id")));
			if (err < 0)
				return err;
		}
		/* not without end: a signal that comes just before it is looked for again */
		err = ctl_receive(a->ctl, 500, &line);
		if (err == -EINTR || err == -EAGAIN)
			continue;
		if (err == 0)
			err = line_in(a, line);
		json_decref(line);
		if (err < 0)
			return err;
	}
	return 0;
}

/* Ctrl-C ends the measurement, not the showing; a second one has its usual effect. */
static void catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaction(numbers[i], &action, NULL);
}

static int show(struct attached *a)
{
	char *safe;
	int err;

	a->set = series_new(json_object_get(a->answer, "stream"));
	if (!a->set)
		return skep_fail("attach", SKEP_EXIT_RUNTIME, "out of memory");
	if (!a->options->json && !a->options->quiet) {
		fputs("attached ", stdout);
		answer_print(&a->paint, INK_BOLD, answer_text(a->answer, "detail"));
		fputs(" to ", stdout);
		answer_print(&a->paint, INK_NONE, answer_text(a->answer, "scope"));
		printf(", id %llu; Ctrl-C ends it\n", (unsigned long long)answer_u64(a->answer, "id"));
		fflush(stdout);
	}
	err = read_all(a);
	if (!a->options->json && a->records > 0) {
		int rc = series_print(a->set, &a->paint);

		err = err < 0 ? err : rc;
	}
	if (err == -EPIPE)
		return skep_fail("attach", SKEP_EXIT_RUNTIME, "skepd closed the connection before the detail had ended (did it end? see its log)");
	if (err < 0)
		return skep_fail("attach", SKEP_EXIT_RUNTIME, "%s", strerror(-err));
	if (!a->options->json) {
		safe = strdup(a->ended);
		fputs(a->records ? "\nended: " : "ended without a record: ", stdout);
		answer_print(&a->paint, INK_NONE, safe ? safe : "");
		fputc('\n', stdout);
		free(safe);
	}
	return SKEP_EXIT_OK;
}

static int attach(const struct attach_options *options)
{
	struct attached a = { .options = options };
	json_t *request;
	int err = 0, status = ctl_open("attach", options->socket, &a.ctl);

	if (status)
		return status;
	paint_init(&a.paint, stdout, NULL);
	catch_signals();
	/* ctl_ask would take a record that overtakes the answer for it: read here. */
	request = request_of(options);
	if (!request)
		status = skep_usage("attach", "names have to be UTF-8");
	else
		err = ctl_send(a.ctl, request);
	while (request && !a.answer) {
		json_t *line = NULL;
		int got = ctl_receive(a.ctl, FIRST_ANSWER_MS, &line);

		if (got == -EINTR && !interrupted)
			continue;
		if (got < 0) {
			status = skep_fail("attach", SKEP_EXIT_RUNTIME, "no answer from skepd: %s", strerror(err < 0 ? -err : -got));
			break;
		}
		if (json_object_get(line, "ok"))
			a.answer = line;
		else
			json_decref(line);
	}
	if (a.answer && json_is_true(json_object_get(a.answer, "ok")))
		status = show(&a);
	else if (a.answer)
		status = ctl_refused("attach", a.answer);
	series_free(a.set);
	json_decref(a.answer);
	ctl_close(a.ctl);
	return status;
}

int cmd_attach(int argc, char **argv)
{
	struct attach_options options = { 0 };
	int status = parse(argc, argv, &options);

	if (status >= 0)
		return status;
	if (options.list) {
		const struct answer_options asked = { .json = options.json, .socket = options.socket };

		return answer_command("attach", "details", &asked, list_print);
	}
	return attach(&options);
}
