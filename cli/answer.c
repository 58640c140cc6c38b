/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/answer.c - reading and showing a daemon's answers.
 */
#include "cli/answer.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ctl.h"
#include "cli/report_json.h"
#include "cli/skep.h"
#include "cli/text.h"

const char *answer_text(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

int64_t answer_i64(const json_t *o, const char *key)
{
	return (int64_t)json_integer_value(json_object_get(o, key));
}

uint64_t answer_u64(const json_t *o, const char *key)
{
	int64_t n = answer_i64(o, key);

	return n > 0 ? (uint64_t)n : 0;
}

bool answer_true(const json_t *o, const char *key)
{
	return json_is_true(json_object_get(o, key));
}

void answer_cell(struct table *t, const struct paint *p, enum ink ink, const char *text, const char *none)
{
	char *safe = text_safe(*text ? text : none, p->unicode);

	table_cell(t, ink, "%s", safe ? safe : "?");
	free(safe);
}

void answer_print(const struct paint *p, enum ink ink, const char *text)
{
	char *safe = text_safe(text, p->unicode);

	paint(p, ink, "%s", safe ? safe : "?");
	free(safe);
}

int answer_parse(const char *command, int argc, char **argv, int most, struct answer_options *ret)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "socket", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int got;

	optind = 0; /* GNU: begin anew */
	opterr = 0;
	while ((got = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
		switch (got) {
		case 'j':
			ret->json = true;
			break;
		case 's':
			if (!*optarg)
				return skep_usage(command, "--socket: an empty path");
			ret->socket = optarg;
			break;
		case 'h':
			return skep_help(command);
		default:
			return skep_usage_option(command, got, argv, longs);
		}
	}
	if (argc - optind > most)
		return skep_usage(command, "what is '%s'?", argv[optind + most]);
	return -1;
}

int answer_command(const char *command, const char *request, const struct answer_options *options,
		   int (*print)(const json_t *, FILE *, const struct report_style *))
{
	struct ctl *ctl = NULL;
	json_t *answer = NULL;
	int rc, status = ctl_open(command, options->socket, &ctl);

	if (status)
		return status;
	status = ctl_ask(command, ctl, json_pack("{s:s}", "request", request), &answer);
	ctl_close(ctl);
	if (status)
		return status;
	if (options->json)
		rc = report_json_write(answer, stdout); /* takes it */
	else
		rc = print(answer, stdout, NULL);
	if (!options->json)
		json_decref(answer);
	if (rc)
		return skep_fail(command, SKEP_EXIT_RUNTIME, "cannot write the answer: %s", strerror(-rc));
	return SKEP_EXIT_OK;
}
