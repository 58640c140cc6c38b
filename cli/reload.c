/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/reload.c - `skep reload`: asks a running skepd to read its configuration again, and
 * prints the changes, or the errors as `skepd -t` would.
 */
#include "cli/reload.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/answer.h"
#include "cli/base/ctl.h"
#include "cli/base/human.h"
#include "cli/base/json_out.h"
#include "cli/base/skep.h"

struct reload_options {
	struct answer_options answer;
	bool check;
};

static const struct command_option options[] = {
	{ "check", .help = "only report the changes and the errors",
	  COMMAND_AT(struct reload_options, check) },
	ANSWER_JSON(struct reload_options, answer.json),
	ANSWER_SOCKET(struct reload_options, answer.socket),
	{ 0 },
};

static int run_reload(int argc, char **argv);

const struct command cmd_reload = {
	.name = "reload",
	.summary = "have the running skepd apply its changed configuration",
	.about =
		"skepd applies the whole configuration or, after any error, nothing of it. A plugin whose options stay "
		"the same keeps running; skepd drains a removed plugin for 5 s at most. SIGHUP does the same; then the "
		"log and `skep status` report the result.\n",
	.options = options,
	.notes = "Exits with 3 when skepd rejects the configuration; the running configuration stays in use.\n",
	.most = -1,
	.run = run_reload,
};

/* Prints the wrong line and a mark below it. Keeps the line's tabs, which align the mark. */
static void shown_print(const char *text, const struct paint *p)
{
	bool ended = true;

	while (*text) {
		size_t len = strcspn(text, "\t\n");
		char *part = strndup(text, len);

		answer_print(p, INK_NONE, part ? part : "");
		free(part);
		text += len;
		ended = *text == '\n';
		if (*text)
			fputc(*text++, p->out);
	}
	if (!ended)
		fputc('\n', p->out);
}

/* Prints "FILE:3:5: error: TEXT", the same bytes as skepd -t. */
static void entries_print(const json_t *list, const char *severity, enum ink ink, const struct paint *p)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one) {
		const char *file = answer_text(one, "file");
		uint64_t line = answer_u64(one, "line"), column = answer_u64(one, "column");

		if (*file) {
			answer_print(p, INK_NONE, file);
			fputc(':', p->out);
			if (line)
				fprintf(p->out, "%llu:", (unsigned long long)line);
			if (line && column)
				fprintf(p->out, "%llu:", (unsigned long long)column);
			fputc(' ', p->out);
		}
		paint(p, ink, "%s: ", severity);
		answer_print(p, INK_NONE, answer_text(one, "text"));
		fputc('\n', p->out);
		shown_print(answer_text(one, "shown"), p);
	}
}

static const char *would(const char *how)
{
	static const struct {
		const char *how, *words;
	} words[] = {
		{ "added", "would be added" },         { "removed", "would be removed" },
		{ "applied", "would be applied" },     { "restarted", "would be restarted" },
		{ "retried", "would be tried again" }, { "changed", "would change" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i].how, how) == 0)
			return words[i].words;
	return how;
}

static void changes_print(const json_t *o, const struct paint *p)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(o, "changes"), i, one) {
		const char *how = answer_text(one, "change"), *words = answer_text(one, "words");

		answer_print(p, INK_NONE, answer_text(one, "kind"));
		fputc(' ', p->out);
		answer_print(p, INK_BOLD, answer_text(one, "name"));
		fputs(": ", p->out);
		answer_print(p, INK_GREEN, answer_true(o, "check") ? would(how) : how);
		if (*words) {
			fputs(", ", p->out);
			answer_print(p, INK_NONE, words);
		}
		fputc('\n', p->out);
	}
}

void reload_status_print(const json_t *o, const struct paint *p)
{
	const json_t *last = json_object_get(o, "last");
	char a[HUMAN_SIZE], b[HUMAN_SIZE];

	if (!json_is_object(last))
		return;
	fprintf(p->out, "reloads    %s succeeded, %s failed; the last at ", human_count(answer_u64(o, "ok"), a),
		human_count(answer_u64(o, "failed"), b));
	fprintf(p->out, "%.19s by ", *answer_text(last, "time") ? answer_text(last, "time") : "?");
	answer_print(p, INK_NONE, answer_text(last, "by"));
	if (answer_true(last, "ok")) {
		fputs(": succeeded\n", p->out);
	} else {
		fputs(": ", p->out);
		paint(p, INK_RED, "failed");
		fputs(", the running configuration stays in use\n", p->out);
	}
	entries_print(json_object_get(last, "errors"), "error", INK_RED, p);
	entries_print(json_object_get(last, "warnings"), "warning", INK_YELLOW, p);
}

int reload_print(const json_t *o, FILE *out, const struct paint_style *style)
{
	char a[HUMAN_SIZE], b[HUMAN_SIZE];
	struct paint p;

	paint_init(&p, out, style);
	entries_print(json_object_get(o, "warnings"), "warning", INK_YELLOW, &p);
	changes_print(o, &p);
	if (answer_true(o, "check"))
		fprintf(out, "%s of its plugins would not be touched; nothing has changed\n",
			human_count(answer_u64(o, "unchanged"), a));
	else
		fprintf(out, "%s of its plugins %s not touched; done in %s\n",
			human_count(answer_u64(o, "unchanged"), a), answer_u64(o, "unchanged") == 1 ? "was" : "were",
			human_time(answer_u64(o, "took_ns"), paint_units(&p), b));
	return fflush(out) != 0 || ferror(out) ? (errno ? -errno : -EIO) : 0;
}

/* Prints the errors of a wrong configuration to stderr, as skepd -t does. */
static int refused(const json_t *answer)
{
	struct paint p;

	if (strcmp(answer_text(answer, "code"), "config") != 0)
		return ctl_refused("reload", answer);
	paint_init(&p, stderr, NULL);
	entries_print(json_object_get(answer, "errors"), "error", INK_RED, &p);
	entries_print(json_object_get(answer, "warnings"), "warning", INK_YELLOW, &p);
	return skep_fail("reload", SKEP_EXIT_CONFIG, "configuration rejected: %s", answer_text(answer, "error"));
}

/* 60 s: plugins load their programs on a busy host, and skepd waits up to 5 s each for removed plugins to drain. */
#define ANSWER_MS 60000

static int ask(struct ctl *ctl, bool check, json_t **ret)
{
	int err = ctl_send(ctl, json_pack("{s:s, s:b}", "request", "reload", "check", (int)check)), got;

	/* Read also when sending failed: a daemon that refuses this client sends the reason and closes. */
	do
		got = ctl_receive(ctl, ANSWER_MS, ret);
	while (got == -EINTR);
	if (got == 0)
		return SKEP_EXIT_OK;
	err = err < 0 ? err : got;
	if (err == -EAGAIN)
		return skep_fail("reload", SKEP_EXIT_RUNTIME,
				 "skepd (pid %d) has not finished the reload within %d s; skep status shows its result",
				 ctl_peer_pid(ctl), ANSWER_MS / 1000);
	if (err == -EPIPE)
		return skep_fail("reload", SKEP_EXIT_RUNTIME,
				 "skepd closed the connection: it is stopping, or its limit of clients is reached");
	return skep_fail("reload", SKEP_EXIT_RUNTIME, "no answer from skepd: %s", strerror(-err));
}

static int run_reload(int argc, char **argv)
{
	struct reload_options o = { 0 };
	json_t *answer = NULL;
	struct ctl *ctl = NULL;
	int rc = 0, status = command_parse(&cmd_reload, argc, argv, &o);

	if (status >= 0)
		return status;
	if (optind < argc)
		return skep_usage("reload", "unexpected argument '%s': skepd reads the file that it was started with",
				  argv[optind]);
	status = ctl_open("reload", o.answer.socket, &ctl);
	if (status)
		return status;
	status = ask(ctl, o.check, &answer);
	ctl_close(ctl);
	if (status)
		return status;
	if (!answer_true(answer, "ok"))
		status = refused(answer);
	if (o.answer.json)
		rc = json_out_write(json_incref(answer), stdout);
	else if (status == SKEP_EXIT_OK)
		rc = reload_print(answer, stdout, NULL);
	json_decref(answer);
	if (rc)
		return skep_fail("reload", SKEP_EXIT_RUNTIME, "cannot write the answer: %s", strerror(-rc));
	return status;
}
