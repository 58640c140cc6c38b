/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/rules.c - `skep rules`: prints the rules that a running skepd uses, in their order, and the
 * number of processes that each has decided.
 */
#include "cli/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/answer.h"
#include "cli/base/human.h"
#include "cli/base/skep.h"
#include "cli/base/table.h"

static int run_rules(int argc, char **argv);

const struct command cmd_rules = {
	.name = "rules",
	.summary = "list the running skepd's rules, and the verdicts of each",
	.options = answer_options,
	.notes =
		"The first rule that holds decides, once for each program that a process executes. hits: verdicts of "
		"the rule, by the kernel (in its exec hook) and by skepd (user). \"by kernel\": the kernel can decide "
		"all of the rule once it has seen a value (a program, a user, a cgroup). \"+\" after a verdict: "
		"descendants get the same verdict without an evaluation of their own. ended: the processes that the "
		"rule excluded and that have ended since, with their CPU time. cost: the average time in which skepd "
		"evaluates the rule, including the read of fields that no earlier rule needs. A reload keeps the "
		"figures of a rule that stays the same. Before a change: skep filter test, skep reload --check.\n",
	.run = run_rules,
};

/* Adds a cell "filters.d/10-site.json:7", without the folders above. */
static void place_cell(struct table *t, const struct paint *p, const json_t *rule)
{
	const char *file = answer_text(rule, "file"), *slash = strrchr(file, '/');
	char *place = NULL;

	if (asprintf(&place, "%s:%llu", slash ? slash + 1 : file, (unsigned long long)answer_u64(rule, "line")) < 0)
		place = NULL;
	answer_cell(t, p, INK_DIM, *file && place ? place : "", "");
	free(place);
}

static void verdict_cell(struct table *t, const json_t *rule)
{
	const char *verdict = answer_text(rule, "verdict"), *inherit = answer_true(rule, "inherit") ? "+" : "";
	bool exclude = strcmp(verdict, "exclude") == 0;

	if (strcmp(verdict, "sample") == 0)
		table_cell(t, INK_CYAN, "1 in %llu%s", (unsigned long long)answer_u64(rule, "sample"), inherit);
	else
		table_cell(t, exclude ? INK_YELLOW : INK_GREEN, "%s%s",
			   exclude                           ? "exclude"
			   : strcmp(verdict, "include") == 0 ? "include"
							     : "?",
			   inherit);
}

static void figure_cells(struct table *t, const struct paint *p, const json_t *o)
{
	char a[HUMAN_SIZE], b[HUMAN_SIZE];
	const char *last = answer_text(o, "last");

	table_cell(t, INK_NONE, "%s", human_count(answer_u64(o, "hits_kernel"), a));
	table_cell(t, INK_NONE, "%s", human_count(answer_u64(o, "hits_user"), a));
	/* "2026-11-21T07:39:17.5Z": its clock */
	table_cell(t, INK_DIM, "%.8s", strlen(last) > 19 ? last + 11 : "-");
	if (answer_u64(o, "ended") > 0)
		table_cell(t, INK_NONE, "%s, %s%s", human_count(answer_u64(o, "ended"), a),
			   human_time(answer_u64(o, "ended_cpu_ns"), paint_units(p), b),
			   answer_true(o, "ended_shared") ? " *" : "");
	else
		table_cell(t, INK_NONE, "-");
	if (json_is_integer(json_object_get(o, "cost_ns")))
		table_cell(t, INK_NONE, "%s", human_time(answer_u64(o, "cost_ns"), paint_units(p), b));
	else
		table_cell(t, INK_NONE, "-");
}

static void head(const json_t *o, const struct paint *p)
{
	const json_t *judged = json_object_get(o, "judged");
	uint64_t user = answer_u64(judged, "user"), busy = answer_u64(judged, "busy_ns");
	char a[HUMAN_SIZE], b[HUMAN_SIZE];

	fprintf(p->out, "generation %llu, %zu rules, otherwise ", (unsigned long long)answer_u64(o, "generation"),
		json_array_size(json_object_get(o, "rules")));
	answer_print(p, INK_NONE, answer_text(o, "default"));
	fprintf(p->out, "; %s verdicts by the kernel, ", human_count(answer_u64(judged, "kernel"), a));
	fprintf(p->out, "%s by skepd", human_count(user, a));
	if (user > 0)
		fprintf(p->out, " (%s each)", human_time(busy / user, paint_units(p), b));
	fputc('\n', p->out);
	if (answer_u64(judged, "spent") > 0) {
		paint(p, INK_YELLOW,
		      "%s verdicts took longer than 20 ms: ", human_count(answer_u64(judged, "spent"), a));
		fputs("skepd recorded these processes; look for a slow `matches` in the column cost\n", p->out);
	}
	if (*answer_text(o, "kernel")) {
		paint(p, INK_YELLOW, "decided by skepd only: ");
		answer_print(p, INK_NONE, answer_text(o, "kernel"));
		fputc('\n', p->out);
	}
}

int rules_print(const json_t *o, FILE *out, const struct paint_style *style)
{
	static const struct table_column columns[] = {
		{ .title = "rule", .left = true },
		{ .title = "where", .left = true },
		{ .title = "verdict", .left = true },
		{ .title = "by", .left = true },
		{ .title = "kernel" },
		{ .title = "user" },
		{ .title = "last" },
		{ .title = "ended" },
		{ .title = "cost" },
		{ .title = "", .left = true, .flex = true },
	};
	struct table *t = table_new(columns, sizeof(columns) / sizeof(columns[0]));
	const json_t *list = json_object_get(o, "rules"), *one;
	bool shared = false;
	struct paint p;
	size_t i;
	int rc;

	if (!t)
		return -ENOMEM;
	paint_init(&p, out, style);
	head(o, &p);
	json_array_foreach(list, i, one) {
		answer_cell(t, &p, INK_BOLD, answer_text(one, "id"), "?");
		place_cell(t, &p, one);
		verdict_cell(t, one);
		table_cell(t, INK_NONE, answer_true(one, "in_kernel") ? "kernel" : "skepd");
		figure_cells(t, &p, one);
		answer_cell(t, &p, INK_DIM,
			    *answer_text(one, "why") ? answer_text(one, "why") : answer_text(one, "when"), "always");
		shared |= answer_true(one, "ended_shared");
	}
	one = json_object_get(o, "otherwise");
	if (json_is_object(one)) {
		table_cell(t, INK_BOLD, "otherwise");
		table_cell(t, INK_NONE, "%s", "");
		answer_cell(t, &p, INK_NONE, answer_text(o, "default"), "?");
		table_cell(t, INK_NONE, "%s", "");
		figure_cells(t, &p, one);
		table_cell(t, INK_NONE, "%s", "");
	}
	fputc('\n', out);
	rc = table_print(t, &p, 0, 2);
	table_free(t);
	if (shared)
		paint(&p, INK_DIM, "* one sum of all excluding rules after the 62nd\n");
	if (rc == 0 && (fflush(out) != 0 || ferror(out)))
		rc = errno ? -errno : -EIO;
	return rc;
}

static int run_rules(int argc, char **argv)
{
	struct answer_options options = { 0 };
	int status = command_parse(&cmd_rules, argc, argv, &options);

	return status >= 0 ? status : answer_command("rules", "rules", &options, rules_print);
}
