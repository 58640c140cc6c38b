/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/filter/filter_test.c - `skep filter test`: prints the processes that rules, or one expression, match.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/answer.h"
#include "cli/base/human.h"
#include "cli/base/json_out.h"
#include "cli/base/skep.h"
#include "cli/base/text.h"
#include "cli/filter/filter.h"

#define TOOLS_SHOWN 4u

struct share {
	const char *tool;
	size_t n;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct share *)a)->tool, ((const struct share *)b)->tool);
}

static int by_number(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return x->n != y->n ? (x->n < y->n ? 1 : -1) : strcmp(x->tool, y->tool);
}

/*
 * Counts the processes that the rule decides, by tool, the most frequent first. rule NULL: counts the processes that
 * no rule decides. The caller frees the array; NULL: no memory.
 */
static struct share *shares(const struct filter_processes *processes, const struct rule *rule, size_t *ret_n,
			    size_t *ret_taken)
{
	struct share *at = calloc(processes->n + 1, sizeof(*at));
	size_t n = 0, m = 0;

	for (size_t i = 0; at && i < processes->n; i++)
		if (processes->at[i].decision.rule == rule)
			at[n++] = (struct share){ process_word(&processes->at[i], RULE_FIELD_TOOL), 1 };
	if (n)
		qsort(at, n, sizeof(*at), by_name);
	for (size_t i = 0; i < n; i++) {
		if (m && strcmp(at[m - 1].tool, at[i].tool) == 0)
			at[m - 1].n++;
		else
			at[m++] = at[i];
	}
	if (m)
		qsort(at, m, sizeof(*at), by_number);
	*ret_n = m;
	*ret_taken = n;
	return at;
}

/* The verdict as text. "sampled": /proc's start time is too coarse to know whether the sample includes the process. */
static const char *said(const struct filter_process *p)
{
	if (p->decision.rule && p->decision.rule->verdict == RULE_SAMPLE && !p->keyed)
		return "sampled";
	return p->decision.include ? "included" : "excluded";
}

/* "image" for records: each is of one image, which begins with an exec. */
static const char *noun(const struct filter_options *o)
{
	return o->recorded ? "images" : "processes";
}

struct sums {
	size_t included, excluded, sampled;
};

static struct sums sums_of(const struct filter_processes *processes)
{
	struct sums s = { 0 };

	for (size_t i = 0; i < processes->n; i++) {
		const char *is = said(&processes->at[i]);

		s.included += strcmp(is, "included") == 0;
		s.excluded += strcmp(is, "excluded") == 0;
		s.sampled += strcmp(is, "sampled") == 0;
	}
	return s;
}

/* ---- as text ------------------------------------------------------------------------------ */

static int print_processes(const struct filter_processes *processes, bool expression, const struct paint *p)
{
	static const struct table_column columns[] = {
		{ .title = "pid" },
		{ .title = "user", .left = true },
		{ .title = "tool", .left = true },
		{ .title = "rule", .left = true },
		{ .title = "exe", .left = true, .flex = true },
	};
	static const struct table_column short_columns[] = {
		{ .title = "pid" },
		{ .title = "user", .left = true },
		{ .title = "tool", .left = true },
		{ .title = "exe", .left = true, .flex = true },
	};
	struct table *t = expression ? table_new(short_columns, 4) : table_new(columns, 5);
	int rc;

	if (!t)
		return -ENOMEM;
	for (size_t i = 0; i < processes->n; i++) {
		const struct filter_process *one = &processes->at[i];

		if (expression && !one->decision.include)
			continue;
		table_cell(t, INK_NONE, "%u", one->pid);
		answer_cell(t, p, INK_NONE, process_word(one, RULE_FIELD_USER), "-");
		answer_cell(t, p, INK_BOLD, process_word(one, RULE_FIELD_TOOL), "-");
		if (!expression)
			table_cell(t, one->decision.include ? INK_NONE : INK_DIM, "%s%s",
				   one->decision.rule ? one->decision.rule->id : "(none)",
				   one->inherited ? " (inherited)" : "");
		answer_cell(t, p, INK_DIM, process_word(one, RULE_FIELD_EXE), "-");
	}
	fputc('\n', p->out);
	rc = table_print(t, p, 0, 2);
	table_free(t);
	return rc;
}

static char *words_of(const struct share *s, size_t n, const struct paint *p)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = 0; i < n && i < TOOLS_SHOWN; i++) {
		char *safe = text_safe(*s[i].tool ? s[i].tool : "?", p->unicode);

		fprintf(out, "%s%s", i ? ", " : "", safe ? safe : "?");
		if (s[i].n > 1)
			fprintf(out, " %zu", s[i].n);
		free(safe);
	}
	if (n > TOOLS_SHOWN)
		fprintf(out, ", and %zu more", n - TOOLS_SHOWN);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static int row(struct table *t, const struct paint *p, const struct filter_processes *processes,
	       const struct ruleset *set, const struct rule *r, bool all)
{
	enum rule_verdict otherwise = ruleset_otherwise(set);
	size_t n, taken;
	struct share *s = shares(processes, r, &n, &taken);
	char *words, verdict[32];

	if (!s)
		return -ENOMEM;
	if (taken || all || !r) {
		table_cell(t, INK_BOLD, "%s", r ? r->id : "(none)");
		table_cell(t, INK_NONE, "%s%s",
			   r                           ? filter_verdict(r, verdict, sizeof(verdict))
			   : otherwise == RULE_EXCLUDE ? "exclude"
						       : "include",
			   r && r->inherit ? " +" : "");
		table_cell(t, taken ? INK_NONE : INK_DIM, "%zu", taken);
		words = words_of(s, n, p);
		table_cell(t, INK_DIM, "%s", words ? words : "");
		free(words);
	}
	free(s);
	return taken == 0;
}

/* Names the rules by which any user can hide a process. */
static void warn_of_choice(const struct ruleset *set)
{
	char *ids = NULL;
	size_t size, n = 0;
	FILE *out = open_memstream(&ids, &size);

	for (size_t i = 0; out && i < ruleset_count(set); i++) {
		const struct rule *r = ruleset_rule(set, i);

		if (r->verdict != RULE_INCLUDE && r->when && !filter_expr_is_fixed(r->when, ruleset_schema(set)))
			fprintf(out, "%s%s%s", n++ ? ", " : "", r->id, r->inherit ? " (with all descendants)" : "");
	}
	if (out && fclose(out) == 0 && n)
		skep_say("filter",
			 "warning: %s: any user can hide a process by %s; add a condition that a user cannot choose: "
			 "on uid, gid, user, group, cgroup or container, or on the folder of exe",
			 ids, n == 1 ? "this rule" : "these rules");
	free(ids);
}

static int print_rules(const struct filter_options *o, const struct ruleset *set,
		       const struct filter_processes *processes, const struct paint *p)
{
	const struct table_column columns[] = {
		{ .title = "rule", .left = true },
		{ .title = "verdict", .left = true },
		{ .title = noun(o) },
		{ .title = "tools", .left = true, .flex = true },
	};
	const struct sums sums = sums_of(processes);
	struct table *t = table_new(columns, 4);
	size_t idle = 0;
	int rc = t ? 0 : -ENOMEM;

	fprintf(p->out, "%zu %s: %zu included, %zu excluded", processes->n, noun(o), sums.included, sums.excluded);
	if (sums.sampled)
		fprintf(p->out, ", %zu sampled", sums.sampled);
	fputs("\n\n", p->out);
	for (size_t i = 0; rc >= 0 && i < ruleset_count(set); i++) {
		rc = row(t, p, processes, set, ruleset_rule(set, i), o->all);
		idle += rc > 0;
	}
	if (rc >= 0)
		rc = row(t, p, processes, set, NULL, true);
	if (rc >= 0)
		rc = table_print(t, p, 0, 2);
	if (rc == 0 && idle && !o->all)
		fprintf(p->out, "\n%zu rules matched nothing; --all lists them.\n", idle);
	table_free(t);
	return rc;
}

/* ---- for programs ------------------------------------------------------------------------ */

static json_t *rule_json(const struct ruleset *set, const struct rule *r, const struct filter_processes *processes)
{
	size_t n, taken;
	struct share *s = shares(processes, r, &n, &taken);
	json_t *o = json_object(), *tools = json_array();

	if (r) {
		json_object_set_new(o, "id", json_string(r->id));
		json_object_set_new(o, "verdict",
				    json_string(r->verdict == RULE_INCLUDE   ? "include"
						: r->verdict == RULE_EXCLUDE ? "exclude"
									     : "sample"));
		if (r->verdict == RULE_SAMPLE)
			json_object_set_new(o, "sample", json_integer(r->sample));
		json_object_set_new(o, "inherit", json_boolean(r->inherit));
		json_object_set_new(o, "file", r->file ? json_out_string(r->file) : json_null());
		json_object_set_new(o, "line", json_integer(r->line));
	} else {
		json_object_set_new(o, "id", json_null());
		json_object_set_new(o, "verdict",
				    json_string(ruleset_otherwise(set) == RULE_EXCLUDE ? "exclude" : "include"));
	}
	json_object_set_new(o, "processes", json_integer((json_int_t)taken));
	for (size_t i = 0; s && i < n; i++) {
		json_t *one = json_object();

		json_object_set_new(one, "tool", json_out_string(s[i].tool));
		json_object_set_new(one, "processes", json_integer((json_int_t)s[i].n));
		json_array_append_new(tools, one);
	}
	json_object_set_new(o, "tools", tools);
	free(s);
	return o;
}

static json_t *processes_json(const struct filter_processes *processes, bool expression)
{
	json_t *list = json_array();

	for (size_t i = 0; i < processes->n; i++) {
		const struct filter_process *p = &processes->at[i];
		json_t *o;

		if (expression && !p->decision.include)
			continue;
		o = process_json(p);
		if (!expression) {
			json_object_set_new(o, "rule",
					    p->decision.rule ? json_string(p->decision.rule->id) : json_null());
			json_object_set_new(o, "verdict", json_string(said(p)));
			json_object_set_new(o, "inherited_from_pid",
					    p->inherited ? json_integer(p->inherited->pid) : json_null());
		}
		json_array_append_new(list, o);
	}
	return list;
}

static int write_json(const struct filter_options *o, const struct ruleset *set,
		      const struct filter_processes *processes)
{
	const struct sums sums = sums_of(processes);
	json_t *all = json_object(), *rules = json_array();

	json_object_set_new(all, "source", json_out_string(processes->source));
	json_object_set_new(all, "processes", json_integer((json_int_t)processes->n));
	if (o->expression) {
		json_object_set_new(all, "expression", json_out_string(o->expression));
		json_object_set_new(all, "true_of", json_integer((json_int_t)sums.included));
		json_object_set_new(all, "taken", processes_json(processes, true));
		json_decref(rules);
		return json_out_write(all, stdout);
	}
	json_object_set_new(all, "included", json_integer((json_int_t)sums.included));
	json_object_set_new(all, "excluded", json_integer((json_int_t)sums.excluded));
	json_object_set_new(all, "sampled", json_integer((json_int_t)sums.sampled));
	for (size_t i = 0; i < ruleset_count(set); i++)
		json_array_append_new(rules, rule_json(set, ruleset_rule(set, i), processes));
	json_object_set_new(all, "rules", rules);
	json_object_set_new(all, "default", rule_json(set, NULL, processes));
	if (o->processes)
		json_object_set_new(all, "taken", processes_json(processes, false));
	return json_out_write(all, stdout);
}

int filter_test(const struct filter_options *o, const struct ruleset *set, struct filter_processes *processes)
{
	struct paint p;
	int rc;

	paint_init(&p, stdout, NULL);
	if (!o->expression)
		warn_of_choice(set);
	if (o->json) {
		rc = write_json(o, set, processes);
	} else if (o->expression) {
		printf("true of %zu of %zu %s\n", sums_of(processes).included, processes->n, noun(o));
		rc = sums_of(processes).included ? print_processes(processes, true, &p) : 0;
	} else {
		rc = print_rules(o, set, processes, &p);
		if (rc == 0 && o->processes)
			rc = print_processes(processes, false, &p);
	}
	if (processes->unreadable && !o->recorded && !o->json)
		printf("\nOf %zu process%s the executable cannot be read: conditions on exe do not hold.%s\n",
		       processes->unreadable, processes->unreadable == 1 ? "" : "es",
		       geteuid() ? " root sees more." : "");
	if (rc < 0)
		return skep_fail("filter", SKEP_EXIT_RUNTIME, "cannot write the answer: %s", strerror(-rc));
	return SKEP_EXIT_OK;
}
