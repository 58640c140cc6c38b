/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/live/attach.c - `skep attach`: attaches a detail of a running skepd for some time, prints a line for each record,
 * and at the end a summary of all records.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/answer.h"
#include "cli/base/ctl.h"
#include "cli/base/paint.h"
#include "cli/base/signals_text.h"
#include "cli/base/skep.h"
#include "cli/live/series.h"
#include "core/config/config.h"
#include "core/control/control_request.h"

#define FIRST_ANSWER_MS 30000

struct attach_options {
	const char *detail, *run, *cgroup, *how_long;
	struct answer_options answer;
	uint64_t for_ns;
	unsigned long pid;
	bool list, quiet;
};

static const struct command_option options[] = {
	{ "list", .help = "the details of the running skepd, with their cost",
	  COMMAND_AT(struct attach_options, list) },
	{ "for", .value = "TIME", .help = "how long (default 60s; 0s: until Ctrl-C); at most 1d",
	  COMMAND_AT(struct attach_options, how_long) },
	{ "run", .value = "RUN", .help = "only processes of this live run (id or name)",
	  COMMAND_AT(struct attach_options, run) },
	{ "cgroup", .value = "PATH", .help = "only processes in this cgroup (path as in /proc/PID/cgroup, or its id)",
	  COMMAND_AT(struct attach_options, cgroup) },
	{ "pid", .value = "PID", .help = "only this process", .min = 1, .max = INT_MAX,
	  COMMAND_AT(struct attach_options, pid) },
	{ "quiet", 'q', .help = "no line for each record, only the summary at the end",
	  COMMAND_AT(struct attach_options, quiet) },
	{ "json", .help = "each record as a line of JSON", COMMAND_AT(struct attach_options, answer.json) },
	ANSWER_SOCKET(struct attach_options, answer.socket),
	{ 0 },
};

static int run_attach(int argc, char **argv);

const struct command cmd_attach = {
	.name = "attach",
	.operands = "DETAIL",
	.summary = "have the running skepd measure a detail for some time",
	.about = "DETAIL is one of `skep attach --list`, or PLUGIN:DETAIL where two plugins share the name.\n",
	.options = options,
	.notes =
		"Give at most one of --run, --cgroup and --pid. Ctrl-C detaches and shows the summary so far; a second "
		"Ctrl-C ends skep at once. skepd detaches by itself when the time is over, when the run or process "
		"ends, or when skep has ended.\n",
	.most = -1,
	.run = run_attach,
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

static int parse(int argc, char **argv, struct attach_options *ret)
{
	int status = command_parse(&cmd_attach, argc, argv, ret);

	if (status >= 0)
		return status;
	ret->for_ns = CONTROL_FOR_DEFAULT_NS;
	if (ret->how_long && (config_time(ret->how_long, &ret->for_ns) < 0 || ret->for_ns > CONTROL_FOR_MOST_NS))
		return skep_usage("attach", "--for '%s' is not a time of at most 1d, such as 60s or 5m", ret->how_long);
	if (argc - optind > 1)
		return skep_usage("attach", "unexpected argument '%s': one detail at a time", argv[optind + 1]);
	if ((ret->run != NULL) + (ret->cgroup != NULL) + (ret->pid != 0) > 1)
		return skep_usage("attach", "--run, --cgroup and --pid exclude each other");
	if (!ret->list && optind == argc)
		return skep_usage("attach", "no detail named: skep attach --list lists them");
	ret->detail = argv[optind];
	return -1;
}

/* ---- the list ------------------------------------------------------------------------ */

static int list_print(const json_t *answer, FILE *out, const struct paint_style *style)
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
	json_t *request =
		json_pack("{s:s, s:s, s:I}", "request", "attach", "detail", o->detail, "for_ns", (json_int_t)o->for_ns);
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
	uint64_t records, dropped;
	bool detaching;
	char ended[128]; /* the reason of the end; "": not ended */
};

static int line_in(struct attached *a, json_t *line)
{
	const char *end = json_string_value(json_object_get(line, "end"));
	int err = 0;

	if (json_object_get(line, "ok"))
		return 0; /* the answer to our "detach" */
	if (a->options->answer.json) {
		if (json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15)) < 0 ||
		    fputc('\n', stdout) == EOF || fflush(stdout) != 0)
			err = -EIO;
	} else if (!end) {
		err = series_add(a->set, line);
		if (err == 0 && !a->options->quiet && !series_many(a->set))
			err = series_line(a->set, line, &a->paint);
		fflush(stdout);
	}
	a->records += !end;
	if (end) {
		a->dropped = answer_u64(line, "dropped");
		snprintf(a->ended, sizeof(a->ended), "%s", *end ? end : "without a reason");
	}
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
		/* with a timeout: the loop sees a signal that arrives just before the call at its next pass */
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

/* Ctrl-C ends the measurement, and attach still prints the summary; a second Ctrl-C has its usual effect. */
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
	if (!a->options->answer.json && !a->options->quiet) {
		fputs("attached ", stdout);
		answer_print(&a->paint, INK_BOLD, answer_text(a->answer, "detail"));
		fputs(" to ", stdout);
		answer_print(&a->paint, INK_NONE, answer_text(a->answer, "scope"));
		printf(", id %llu; Ctrl-C ends it\n", (unsigned long long)answer_u64(a->answer, "id"));
		fflush(stdout);
	}
	err = read_all(a);
	if (!a->options->answer.json && a->records > 0) {
		int rc = series_print(a->set, &a->paint);

		err = err < 0 ? err : rc;
	}
	if (err == -EPIPE)
		return skep_fail("attach", SKEP_EXIT_RUNTIME,
				 "skepd closed the connection before the detail had ended (did it end? see its log)");
	if (err < 0)
		return skep_fail("attach", SKEP_EXIT_RUNTIME, "%s", strerror(-err));
	if (!a->options->answer.json) {
		safe = strdup(a->ended);
		fputs(a->records ? "\nended: " : "ended without a record: ", stdout);
		answer_print(&a->paint, INK_NONE, safe ? safe : "");
		fputc('\n', stdout);
		free(safe);
	}
	if (a->dropped)
		fprintf(stderr,
			"skep attach: skepd dropped %llu records, which this program did not read in time; "
			"the sinks have them\n",
			(unsigned long long)a->dropped);
	return SKEP_EXIT_OK;
}

static int attach(const struct attach_options *options)
{
	struct attached a = { .options = options };
	json_t *request;
	int err = 0, status = ctl_open("attach", options->answer.socket, &a.ctl);

	if (status)
		return status;
	paint_init(&a.paint, stdout, NULL);
	catch_signals();
	/* A record may arrive before the answer, and ctl_ask would take it for the answer: read the lines here. */
	request = request_of(options);
	if (!request)
		status = skep_usage("attach", "names must be UTF-8");
	else
		err = ctl_send(a.ctl, request);
	while (request && !a.answer) {
		json_t *line = NULL;
		int got = ctl_receive(a.ctl, FIRST_ANSWER_MS, &line);

		if (got == -EINTR && !interrupted)
			continue;
		if (got < 0) {
			status = skep_fail("attach", SKEP_EXIT_RUNTIME, "no answer from skepd: %s",
					   strerror(err < 0 ? -err : -got));
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

static int run_attach(int argc, char **argv)
{
	struct attach_options o = { 0 };
	int status = parse(argc, argv, &o);

	if (status >= 0)
		return status;
	return o.list ? answer_command("attach", "details", &o.answer, list_print) : attach(&o);
}
