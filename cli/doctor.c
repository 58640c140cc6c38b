/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/doctor.c - `skep doctor`: what can be measured on this machine, how, and what
 * cannot and why.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/answer.h"
#include "cli/ctl.h"
#include "cli/doctor_facts.h"
#include "cli/doctor_local.h"
#include "cli/doctor_places.h"
#include "cli/paint.h"
#include "cli/privilege.h"
#include "cli/report_json.h"
#include "cli/skep.h"
#include "cli/status.h"
#include "cli/text.h"
#include "core/trust.h"

const char cmd_doctor_help[] =
	"  --local         do not ask a running skepd: try the probes here and now\n"
	"  --config FILE   with the probes of that configuration (implies --local; default: every\n"
	"                  probe there is, with its defaults)\n"
	"  --json          for programs: one object\n"
	"  --socket PATH   the daemon's socket (default: $SKEP_SOCKET, else /run/skep/skepd.sock)\n"
	"\n"
	"Each signal of each plugin: ok; partial, when less of it is had or less exactly; missing,\n"
	"when this kernel or machine cannot; off, when an option or command would switch it on.\n"
	"Also whose the configuration, plugin folders, socket, bpffs and tracefs are, and the lake's space.\n"
	"Without a running skepd the probes are started for a moment, which needs root, or CAP_BPF\n"
	"and CAP_PERFMON.\n"
	"\n"
	"Exit status: 0 when nothing that is required is missing, 1 when something is, 4 when it\n"
	"could not be tried for want of a privilege or kernel feature.\n";

struct doctor_options {
	bool local, json;
	const char *config, *socket;
};

static int parse(int argc, char **argv, struct doctor_options *ret)
{
	static const struct option longs[] = {
		{ "local", no_argument, NULL, 'l' }, { "config", required_argument, NULL, 'c' },
		{ "json", no_argument, NULL, 'j' },  { "socket", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },  { 0 },
	};
	int got;

	optind = 0;
	opterr = 0;
	while ((got = getopt_long(argc, argv, ":hc:", longs, NULL)) != -1) {
		switch (got) {
		case 'l':
			ret->local = true;
			break;
		case 'c':
			if (privileged_start())
				return skep_fail("doctor", SKEP_EXIT_PRIVILEGE, SKEP_NO_CHOICE, "--config", optarg);
			ret->local = true;
			ret->config = optarg;
			break;
		case 'j':
			ret->json = true;
			break;
		case 's':
			ret->socket = optarg;
			break;
		case 'h':
			return skep_help("doctor");
		default:
			return skep_usage_option("doctor", got, argv, longs);
		}
	}
	if (optind < argc)
		return skep_usage("doctor", "what is '%s'?", argv[optind]);
	return -1;
}

/* ---- told --------------------------------------------------------------------------------- */

static void facts_print(const json_t *list, const struct paint *p)
{
	const json_t *one;
	size_t i;

	paint(p, INK_BOLD, "this machine\n");
	json_array_foreach(list, i, one) {
		char *safe = text_safe(answer_text(one, "text"), p->unicode);
		const char *mark = signal_mark(p, answer_text(one, "state"));
		size_t column = 2 + text_width(mark) + 2 + 21;

		fputs("  ", p->out);
		paint(p, signal_ink(answer_text(one, "state")), "%s", mark);
		fprintf(p->out, "  %-19s  ", answer_text(one, "fact"));
		paint_flow(p, INK_NONE, column, column, safe ? safe : "");
		free(safe);
	}
}

static void plugins_signals(const json_t *list, const struct paint *p)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one) {
		const char *state = answer_text(one, "state"), *reason = answer_text(one, "reason");

		if (strcmp(answer_text(one, "kind"), "probe") != 0 && strcmp(state, "running") == 0 &&
		    json_array_size(json_object_get(one, "signals")) == 0)
			continue; /* a sink that works has nothing to tell here */
		fputc('\n', p->out);
		answer_print(p, INK_BOLD, answer_text(one, "name"));
		fputs("  ", p->out);
		answer_print(p, state_ink(state), state);
		if (*reason) {
			char *safe = text_safe(reason, p->unicode);

			fputs(": ", p->out);
			paint_flow(p, INK_NONE, strlen(answer_text(one, "name")) + strlen(state) + 4, 2, safe ? safe : "");
			free(safe);
		} else {
			fputc('\n', p->out);
		}
		signals_print(json_object_get(one, "signals"), p, 2);
	}
}

static int tell(const json_t *o, FILE *out)
{
	int64_t pid = answer_i64(o, "daemon_pid");
	struct paint p;

	paint_init(&p, out, NULL);
	facts_print(json_object_get(o, "judged"), &p);
	plugins_signals(json_object_get(o, "plugins"), &p);
	if (json_array_size(json_object_get(o, "plugins")) > 0) {
		fputc('\n', out);
		if (pid > 0)
			paint(&p, INK_DIM, "As the running skepd (pid %lld) has them; skep doctor --local tries all probes anew.\n", (long long)pid);
		else
			paint(&p, INK_DIM, "Tried just now; no skepd was asked.\n");
	}
	return fflush(out) != 0 || ferror(out) ? (errno ? -errno : -EIO) : 0;
}

/* ---- asked ---------------------------------------------------------------------------------- */

static int try_here(const struct doctor_options *options, json_t **ret)
{
	char *const command_line[] = { (char *)(uintptr_t)"doctor", NULL };
	struct privilege_facts facts;

	privilege_facts(&facts);
	if (!privilege_check(&facts, command_line, stderr))
		return SKEP_EXIT_PRIVILEGE;
	return doctor_local(options->config, ret);
}

/* Required and not running, or a fact without which nothing can be collected. */
static bool all_there(const json_t *judged, const json_t *plugins)
{
	const json_t *one;
	size_t i;

	json_array_foreach(judged, i, one)
		if (strcmp(answer_text(one, "state"), "missing") == 0)
			return false;
	json_array_foreach(plugins, i, one)
		if (answer_true(one, "required") && strcmp(answer_text(one, "state"), "running") != 0)
			return false;
	return true;
}

static int examine(const struct doctor_options *options)
{
	json_t *answer = NULL, *plugins, *facts, *judged, *o;
	struct ctl *ctl = NULL;
	int status = SKEP_EXIT_OK, pid = 0, rc;
	bool ok;

	if (!options->local && ctl_try(options->socket, &ctl)) {
		pid = ctl_peer_pid(ctl);
		status = ctl_ask("doctor", ctl, json_pack("{s:s}", "request", "plugins"), &answer);
		ctl_close(ctl);
	} else if (options->socket) {
		return ctl_open("doctor", options->socket, &ctl); /* who names one wants that one: says why not */
	}
	/* The facts need no privilege: they are told also when the rest cannot be. */
	facts = doctor_facts("", pid);
	judged = facts ? doctor_judge(facts) : NULL;
	if (judged)
		doctor_places(judged, "", facts, options->config, options->socket);
	if (!answer && status == SKEP_EXIT_OK)
		status = try_here(options, &answer);
	plugins = answer ? json_incref(json_object_get(answer, "plugins")) : json_array();
	ok = judged && status == SKEP_EXIT_OK && all_there(judged, plugins);
	o = json_pack("{s:b, s:s, s:o, s:o, s:o, s:o}", "ok", ok, "source", pid ? "daemon" : "local", "daemon_pid",
		      pid ? json_integer(pid) : json_null(), "facts", facts, "judged", judged, "plugins", plugins);
	json_decref(answer);
	rc = o ? 0 : -ENOMEM;
	if (o && options->json)
		rc = report_json_write(json_incref(o), stdout);
	else if (o)
		rc = tell(o, stdout);
	json_decref(o);
	if (rc < 0)
		return skep_fail("doctor", SKEP_EXIT_RUNTIME, "cannot write the answer: %s", strerror(-rc));
	return status != SKEP_EXIT_OK ? status : ok ? SKEP_EXIT_OK : SKEP_EXIT_RUNTIME;
}

int cmd_doctor(int argc, char **argv)
{
	struct doctor_options options = { 0 };
	int status = parse(argc, argv, &options);

	return status >= 0 ? status : examine(&options);
}
