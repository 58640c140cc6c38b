/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/doctor/doctor.c - `skep doctor`: prints the signals that skep can measure on this machine, and the reasons why it
 * cannot measure the others.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/answer.h"
#include "cli/base/ctl.h"
#include "cli/base/json_out.h"
#include "cli/base/paint.h"
#include "cli/base/privilege.h"
#include "cli/base/signals_text.h"
#include "cli/base/skep.h"
#include "cli/base/text.h"
#include "cli/doctor/doctor_facts.h"
#include "cli/doctor/doctor_local.h"
#include "cli/doctor/doctor_places.h"
#include "core/base/trust.h"

struct doctor_options {
	bool local, json;
	const char *config, *socket;
};

static const struct command_option options[] = {
	{ "local", .help = "try the probes here instead of asking a running skepd",
	  COMMAND_AT(struct doctor_options, local) },
	{ "config", 'c', "FILE",
	  "try the probes of this configuration (implies --local; default: every installed probe, with its defaults)",
	  .chooses_code = true, COMMAND_AT(struct doctor_options, config) },
	ANSWER_JSON(struct doctor_options, json),
	ANSWER_SOCKET(struct doctor_options, socket),
	{ 0 },
};

static int run_doctor(int argc, char **argv);

const struct command cmd_doctor = {
	.name = "doctor",
	.summary = "report which signals this machine has, how, and why others are missing",
	.options = options,
	.notes =
		"skep prints a state for each signal of each plugin. ok: the plugin measures the signal. partial: it "
		"measures less, or less exactly. missing: this kernel or machine cannot. off: an option or a command "
		"switches it on. skep also checks the owners of the configuration, plugin folders, socket, bpffs and "
		"tracefs, and the space for the lake. If no skepd runs, skep starts the probes for a moment; this "
		"needs root, or CAP_BPF and CAP_PERFMON.\n"
		"\n"
		"Exit status: 0 when skep can collect here and every required plugin runs, else 1; 4 when skep lacks a "
		"privilege or kernel feature to try the probes.\n",
	.collects = true,
	.run = run_doctor,
};

/* ---- output ------------------------------------------------------------------------------- */

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
			continue; /* a running sink needs no line here */
		fputc('\n', p->out);
		answer_print(p, INK_BOLD, answer_text(one, "name"));
		fputs("  ", p->out);
		answer_print(p, state_ink(state), state);
		if (*reason) {
			char *safe = text_safe(reason, p->unicode);

			fputs(": ", p->out);
			paint_flow(p, INK_NONE, strlen(answer_text(one, "name")) + strlen(state) + 4, 2,
				   safe ? safe : "");
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
			paint(&p, INK_DIM,
			      "These are the signals of the running skepd (pid %lld); "
			      "skep doctor --local tries all probes anew.\n",
			      (long long)pid);
		else
			paint(&p, INK_DIM, "skep has tried these probes just now, without a running skepd.\n");
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

/* false: a required plugin does not run, or a fact prevents all collecting. */
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
	char *config = NULL; /* of the running skepd */
	int status = SKEP_EXIT_OK, pid = 0, rc;
	bool ok;

	if (!options->local && options->socket) {
		/* the user named this socket, so a skepd that does not listen there is an error */
		status = ctl_open("doctor", options->socket, &ctl);
		if (status != SKEP_EXIT_OK)
			return status;
	}
	if (ctl || (!options->local && ctl_try(NULL, &ctl))) {
		pid = ctl_peer_pid(ctl);
		status = ctl_ask("doctor", ctl, json_pack("{s:s}", "request", "plugins"), &answer);
		config = doctor_config_of_daemon(ctl);
		ctl_close(ctl);
	}
	/* The facts need no privileges: doctor reports them even when it cannot try the probes. */
	facts = doctor_facts("", pid);
	if (facts && pid)
		json_object_set(facts, "engine_files", json_object_get(answer, "engine_files"));
	judged = facts ? doctor_judge(facts) : NULL;
	if (judged)
		doctor_places(judged, "", facts, options->config ? options->config : config, options->socket);
	free(config);
	if (!answer && status == SKEP_EXIT_OK)
		status = try_here(options, &answer);
	plugins = answer ? json_incref(json_object_get(answer, "plugins")) : json_array();
	ok = judged && status == SKEP_EXIT_OK && all_there(judged, plugins);
	o = json_pack("{s:b, s:s, s:o, s:o, s:o, s:o}", "ok", ok, "source", pid ? "daemon" : "local", "daemon_pid",
		      pid ? json_integer(pid) : json_null(), "facts", facts, "judged", judged, "plugins", plugins);
	json_decref(answer);
	rc = o ? 0 : -ENOMEM;
	if (o && options->json)
		rc = json_out_write(json_incref(o), stdout);
	else if (o)
		rc = tell(o, stdout);
	json_decref(o);
	if (rc < 0)
		return skep_fail("doctor", SKEP_EXIT_RUNTIME, "cannot write the answer: %s", strerror(-rc));
	return status != SKEP_EXIT_OK ? status : ok ? SKEP_EXIT_OK : SKEP_EXIT_RUNTIME;
}

static int run_doctor(int argc, char **argv)
{
	struct doctor_options o = { 0 };
	int status = command_parse(&cmd_doctor, argc, argv, &o);

	o.local |= o.config != NULL;
	return status >= 0 ? status : examine(&o);
}
