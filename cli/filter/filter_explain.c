/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/filter/filter_explain.c - `skep filter explain PID`: prints the rule that decides about a process, and for each
 * rule before it the condition that does not hold.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/answer.h"
#include "cli/base/json_out.h"
#include "cli/base/skep.h"
#include "cli/base/text.h"
#include "cli/filter/filter.h"

/* The field's value in the syntax of rules. The caller frees it; NULL: no memory. */
static char *value_text(const struct filter_reason *why)
{
	const struct filter_text *t = &why->value.text;

	switch (why->type) {
	case FILTER_BOOL:
		return strdup(why->value.b ? "true" : "false");
	case FILTER_UINT:
		return text_format("%" PRIu64, why->value.u);
	case FILTER_INT:
		return text_format("%" PRId64, why->value.i);
	case FILTER_LIST: {
		char *list = NULL;
		size_t size;
		FILE *out = open_memstream(&list, &size);

		if (!out)
			return NULL;
		for (uint32_t at = 0; at < t->len;) {
			uint32_t n = (uint32_t)strnlen(t->ptr + at, t->len - at);

			fprintf(out, "%s'%.*s'", at ? ", " : "", (int)n, t->ptr + at);
			at += n + 1;
		}
		if (fclose(out)) {
			free(list);
			return NULL;
		}
		return list;
	}
	default:
		return text_format("'%.*s'", (int)t->len, t->ptr);
	}
}

/* "uid is 1000". The caller frees it; NULL: no memory. */
static char *reason_text(const struct filter_reason *why)
{
	const char *name = why->field == UINT32_MAX ? "" : rule_fields_schema.fields[why->field].name,
		   *of = why->of_parent ? "parent." : "";
	char *value, *text;

	if (why->field == UINT32_MAX)
		return strdup(why->negated ? "it holds" : "none of them holds");
	if (why->of_any)
		return text_format(why->negated ? "it is true of some ancestor" : "it is true of no ancestor");
	if (why->known == FILTER_NOBODY)
		return text_format("its parent is unknown");
	if (why->known == FILTER_UNKNOWN)
		return text_format("its %s%s is unknown", of, name);
	value = value_text(why);
	text = value ? text_format("%s%s is %s", of, name, value) : NULL;
	free(value);
	return text;
}

/* The part of the condition that decides, in one line. */
static char *part_text(const struct rule *r, const struct filter_reason *why)
{
	char *part = strndup(r->text + why->at, why->length);

	for (char *c = part; c && *c; c++)
		if (*c == '\n' || *c == '\t')
			*c = ' ';
	return part;
}

static void print_line(const struct paint *p, const char *text, size_t limit)
{
	char *safe = text ? text_safe(text, p->unicode) : NULL, *cut = safe ? text_cut(safe, limit, p->unicode) : NULL;

	fputs(cut ? cut : "?", p->out);
	free(cut);
	free(safe);
}

static void print_not(const struct paint *p, const struct rule *r, const struct filter_reason *why)
{
	char *part = part_text(r, why), *reason = reason_text(why);
	size_t limit = p->width > 30 ? p->width - 14 : 16;

	paint(p, INK_NONE, "no    %s\n", r->id);
	fputs("        wants ", p->out);
	paint_begin(p, INK_DIM);
	print_line(p, part, limit);
	paint_end(p, INK_DIM);
	fputs("\n        but   ", p->out);
	print_line(p, reason, limit);
	fputc('\n', p->out);
	free(part);
	free(reason);
}

static void print_taken(const struct paint *p, const struct rule *r, const struct filter_process *one)
{
	char verdict[32];

	paint(p, INK_GREEN, "MATCH ");
	paint(p, INK_BOLD, "%s", r->id);
	fprintf(p->out, ": %s%s", filter_verdict(r, verdict, sizeof(verdict)),
		r->inherit ? ", with its descendants" : "");
	for (size_t i = 0; i < r->n_labels; i++)
		fprintf(p->out, "%s%s=%s", i ? ", " : ", sets ", r->labels[i].name, r->labels[i].value);
	fputc('\n', p->out);
	if (r->file)
		fprintf(p->out, "        at    %s:%u\n", r->file, r->line);
	if (r->why) {
		fputs("        why   ", p->out);
		print_line(p, r->why, p->width > 30 ? p->width - 14 : 16);
		fputc('\n', p->out);
	}
	if (one->inherited) {
		fprintf(p->out, "        It matches the process's ancestor %u (", one->inherited->pid);
		print_line(p, process_word(one->inherited, RULE_FIELD_TOOL), 60);
		fputs(") and says inherit: skep does not evaluate the process itself.\n", p->out);
	}
}

static void print_head(const struct paint *p, const struct filter_process *one)
{
	union filter_value argv;
	const struct filter_reason why = { .type = FILTER_LIST };

	paint(p, INK_BOLD, "%u ", one->pid);
	print_line(p, process_word(one, RULE_FIELD_TOOL), 60);
	fputs(" of ", p->out);
	print_line(p, *process_word(one, RULE_FIELD_USER) ? process_word(one, RULE_FIELD_USER) : "?", 40);
	fputc('\n', p->out);
	if (rule_field_get(&one->subject, 0, RULE_FIELD_ARGV, &argv) == FILTER_KNOWN) {
		struct filter_reason list = why;
		char *text;

		list.value = argv;
		text = value_text(&list);
		fputs("argv    ", p->out);
		print_line(p, text, p->width > 30 ? p->width - 9 : 16);
		fputc('\n', p->out);
		free(text);
	}
	fputs(one->parent ? "parents " : "parents unknown", p->out);
	for (const struct filter_process *above = one->parent; above; above = above->parent) {
		print_line(p, process_word(above, RULE_FIELD_TOOL), 40);
		fprintf(p->out, " %u%s", above->pid, above->parent ? ", " : "");
		if (above->parent == one)
			break;
	}
	fputs("\n\n", p->out);
}

static json_t *reason_json(const struct rule *r, const struct filter_reason *why)
{
	json_t *o = json_object();
	char *part = part_text(r, why), *reason = reason_text(why);

	json_object_set_new(o, "id", json_string(r->id));
	json_object_set_new(o, "wants", json_out_string(part ? part : ""));
	json_object_set_new(o, "but", json_out_string(reason ? reason : ""));
	json_object_set_new(o, "field",
			    why->field == UINT32_MAX ? json_null()
						     : json_string(rule_fields_schema.fields[why->field].name));
	free(part);
	free(reason);
	return o;
}

static int write_json(const struct ruleset *set, const struct filter_process *one)
{
	const struct rule *taken = one->decision.rule;
	json_t *o = process_json(one), *before = json_array();

	for (size_t i = 0; !one->inherited && i < ruleset_count(set); i++) {
		const struct rule *r = ruleset_rule(set, i);
		struct filter_reason why;

		if (r == taken)
			break;
		if (r->when && filter_expr_reason(r->when, rule_field_get, &one->subject, &why))
			json_array_append_new(before, reason_json(r, &why));
	}
	json_object_set_new(o, "rule", taken ? json_string(taken->id) : json_null());
	json_object_set_new(o, "verdict",
			    json_string(!taken ? (ruleset_otherwise(set) == RULE_EXCLUDE ? "exclude" : "include")
					: taken->verdict == RULE_SAMPLE ? "sample"
					: one->decision.include         ? "include"
									: "exclude"));
	json_object_set_new(o, "inherited_from_pid", one->inherited ? json_integer(one->inherited->pid) : json_null());
	json_object_set_new(o, "before", before);
	return json_out_write(o, stdout);
}

int filter_explain(const struct filter_options *o, const struct ruleset *set, struct filter_processes *processes)
{
	const struct filter_process *one = processes_find(processes, o->pid);
	const struct rule *taken;
	struct paint p;
	int rc = 0;

	if (!one)
		return skep_fail("filter", SKEP_EXIT_RUNTIME, "no process %u, or it is a kernel thread",
				 o->pid);
	taken = one->decision.rule;
	paint_init(&p, stdout, NULL);
	if (o->json) {
		rc = write_json(set, one);
		return rc ? skep_fail("filter", SKEP_EXIT_RUNTIME, "cannot write the answer: %s", strerror(-rc))
			  : SKEP_EXIT_OK;
	}
	print_head(&p, one);
	for (size_t i = 0; !one->inherited && i < ruleset_count(set); i++) {
		const struct rule *r = ruleset_rule(set, i);
		struct filter_reason why;

		if (r == taken)
			break;
		if (r->when && filter_expr_reason(r->when, rule_field_get, &one->subject, &why))
			print_not(&p, r, &why);
	}
	if (taken)
		print_taken(&p, taken, one);
	else
		printf("No rule matches it: filters.default applies, which is %s.\n",
		       ruleset_otherwise(set) == RULE_EXCLUDE ? "exclude" : "include");
	return SKEP_EXIT_OK;
}
