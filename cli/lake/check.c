/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/check.c - `skep lake check`: whether a lake's files are in order, and its sums agree with its rows.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/human.h"
#include "cli/base/json_out.h"
#include "cli/base/skep.h"
#include "cli/base/text.h"
#include "cli/lake/options.h"
#include "lake/status.h"

/* 0 or -ENOMEM. */
static int print_one(const struct lake_check *c)
{
	char runs[HUMAN_SIZE], images[HUMAN_SIZE], n[HUMAN_SIZE];

	if (c->problem)
		return 0; /* fail() says it */
	if (!c->n_differences) {
		printf("%s: in order: %s run%s, %s images of processes; the sums agree with the rows", c->name,
		       human_count(c->runs, runs), c->runs == 1 ? "" : "s", human_count(c->images, images));
		if (c->summed)
			printf(", and have %s records more, whose users had spent their budgets", human_count(c->summed, n));
		puts("");
		return 0;
	}
	printf("%s: %s sum%s not what the rows have:\n", c->name, human_count(c->n_differences, n),
	       c->n_differences == 1 ? " is" : "s are");
	for (size_t i = 0; i < c->n_shown; i++) {
		const struct lake_difference *d = &c->shown[i];
		char *of = text_safe(d->of, true);

		if (!of)
			return -ENOMEM;
		printf("  %s, %s: %s is %" PRIu64 ", the rows have %" PRIu64 "\n", d->table, of, d->column, d->kept, d->rows);
		free(of);
	}
	if (c->n_differences > c->n_shown)
		printf("  and %s more\n", human_count(c->n_differences - c->n_shown, n));
	return 0;
}

static json_t *one_json(const struct lake_check *c)
{
	bool read = !c->problem;
	json_t *list = json_array();

	for (size_t i = 0; i < c->n_shown; i++) {
		const struct lake_difference *d = &c->shown[i];

		json_array_append_new(list, json_pack("{s:s, s:o, s:s, s:I, s:I}", "table", d->table, "of",
						      json_out_string(d->of), "column", d->column, "kept", (json_int_t)d->kept,
						      "rows", (json_int_t)d->rows));
	}
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", json_out_string(c->name), "problem",
			 read ? json_null() : json_out_string(c->problem), "runs",
			 read ? json_integer((json_int_t)c->runs) : json_null(), "images",
			 read ? json_integer((json_int_t)c->images) : json_null(), "summed",
			 read ? json_integer((json_int_t)c->summed) : json_null(), "n_differences",
			 read ? json_integer((json_int_t)c->n_differences) : json_null(), "differences", list);
}

/* The exit status of a file, with the words for a bad one. */
static int verdict(const char *path, const struct lake_check *c)
{
	if (c->problem)
		return skep_fail("lake", SKEP_EXIT_RUNTIME, "%s", c->problem);
	if (c->n_differences)
		return skep_fail("lake", SKEP_EXIT_RUNTIME,
				 "%s/%s: its sums do not agree with its rows: another program has changed the file, or skep has a "
				 "defect: report it; skep lake export --what all and skep lake import write sums anew", path, c->name);
	return SKEP_EXIT_OK;
}

int lake_command_check(const struct lake_options *o)
{
	struct lake *lake = NULL;
	char why[1024] = "", *path = NULL;
	int rc = 0, one, status = lake_command_open(o, &path, &lake);
	json_t *files = json_array();

	if (status) {
		json_decref(files);
		return status;
	}
	for (size_t i = 0; rc == 0; i++) {
		struct lake_check c = { 0 };

		rc = lake_check(lake, i, &c, why, sizeof(why));
		if (rc)
			break;
		if (o->json)
			json_array_append_new(files, one_json(&c));
		else if (print_one(&c))
			status = skep_fail("lake", SKEP_EXIT_RUNTIME, "out of memory");
		(void)fflush(stdout); /* a large file takes a while */
		one = verdict(path, &c);
		status = one ? one : status;
		lake_check_end(&c);
	}
	if (rc != -ENODATA)
		status = skep_fail("lake", SKEP_EXIT_RUNTIME, "%s", why);
	else if (o->json)
		rc = json_out_write(json_pack("{s:o, s:b, s:O}", "path", json_out_string(path), "in_order", status == 0, "files",
					      files), stdout);
	if (rc && rc != -ENODATA && o->json)
		status = SKEP_EXIT_RUNTIME;
	json_decref(files);
	lake_close(lake);
	free(path);
	return status;
}
