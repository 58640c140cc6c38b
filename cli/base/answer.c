/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/answer.c - reads and prints a daemon's answers.
 */
#include "cli/base/answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/ctl.h"
#include "cli/base/json_out.h"
#include "cli/base/skep.h"
#include "cli/base/text.h"

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

const struct command_option answer_options[] = {
	ANSWER_JSON(struct answer_options, json),
	ANSWER_SOCKET(struct answer_options, socket),
	{ 0 },
};

int answer_command(const char *command, const char *request, const struct answer_options *options,
		   int (*print)(const json_t *, FILE *, const struct paint_style *))
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
		rc = json_out_write(answer, stdout); /* frees the answer */
	else
		rc = print(answer, stdout, NULL);
	if (!options->json)
		json_decref(answer);
	if (rc)
		return skep_fail(command, SKEP_EXIT_RUNTIME, "cannot write the answer: %s", strerror(-rc));
	return SKEP_EXIT_OK;
}
