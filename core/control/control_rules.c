/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_rules.c - the request `rules`: the rules in use, in their order, and the counts
 * of their verdicts.
 */
#include <string.h>

#include "core/control/control_priv.h"
#include "core/control/control_record.h"
#include "core/rules/rule_eval.h"

static const char *verdict_name(enum rule_verdict verdict)
{
	switch (verdict) {
	case RULE_INCLUDE:
		return "include";
	case RULE_EXCLUDE:
		return "exclude";
	case RULE_SAMPLE:
		return "sample";
	}
	return "?";
}

static json_t *labels(const struct rule *rule)
{
	json_t *o = json_object();

	for (size_t i = 0; o && i < rule->n_labels; i++)
		if (json_object_set_new(o, rule->labels[i].name,
					control_json_string_or_null(rule->labels[i].value)) < 0)
			break;
	return o;
}

/* The figures of a rule, or of the default. */
static json_t *figures(const struct rule_eval_count *count)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b}", "hits_user", control_json_number(count->hits_user),
			 "hits_kernel", control_json_number(count->hits_kernel), "last",
			 control_json_time(count->last_ns, clock_realtime_offset_ns()), "ended",
			 control_json_number(count->gone), "ended_cpu_ns", control_json_number(count->gone_ns),
			 "cost_ns", count->timed ? control_json_number(count->timed_ns / count->timed) : json_null(),
			 "ended_shared", (int)count->shared, "in_kernel", (int)count->in_kernel);
}

static json_t *one(const struct rule_eval_count *count)
{
	const struct rule *rule = count->rule;
	json_t *o = json_pack("{s:o, s:o, s:i, s:s, s:i, s:b, s:o, s:o, s:o}", "id", control_json_string_or_null(rule->id), "file",
			      control_json_string_or_null(rule->file), "line", (int)rule->line, "verdict", verdict_name(rule->verdict),
			      "sample", (int)rule->sample, "inherit", (int)rule->inherit, "when",
			      control_json_string_or_null(rule->text), "why", control_json_string_or_null(rule->why), "labels", labels(rule));
	json_t *more = figures(count);

	if (!o || !more || json_object_update(o, more) < 0) {
		json_decref(o);
		o = NULL;
	}
	json_decref(more);
	return o;
}

struct lists {
	json_t *rules, *otherwise;
};

static void on_count(void *arg, const struct rule_eval_count *count)
{
	struct lists *l = arg;

	if (count->rule)
		/* no memory: the answer lacks this rule */
		json_array_append_new(l->rules, one(count));
	else
		l->otherwise = figures(count);
}

json_t *control_rules(const struct control *control)
{
	struct rule_eval *judge = collector_rule_eval(control->collector);
	struct lists l = { .rules = json_array() };
	struct rule_eval_self self = { 0 };
	struct ruleset *set;

	if (!judge || !l.rules) {
		json_decref(l.rules);
		return judge ? NULL : json_null();
	}
	set = rule_eval_rules(judge);
	rule_eval_counts(judge, on_count, &l);
	rule_eval_self(judge, &self);
	return json_pack("{s:o, s:s, s:o, s:o, s:o, s:{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}}", "generation",
			 control_json_number(self.generation), "default",
			 verdict_name(set ? ruleset_otherwise(set) : RULE_INCLUDE), "kernel",
			 control_json_string_or_null(rule_eval_kernel(judge)), "rules", l.rules, "otherwise",
			 l.otherwise ? l.otherwise : json_null(), "judged", "user",
			 control_json_number(self.evaluated_user), "kernel", control_json_number(self.evaluated_kernel),
			 "asked", control_json_number(self.asked), "answers", control_json_number(self.answers),
			 "answers_failed", control_json_number(self.answers_failed), "lineages_lost",
			 control_json_number(self.lineages_lost), "busy_ns", control_json_number(self.busy_ns), "spent",
			 control_json_number(self.spent));
}

json_t *control_answer_rules(const struct control *control)
{
	json_t *o = json_pack("{s:b, s:s}", "ok", 1, "request", "rules"), *rules = control_rules(control);

	if (json_is_null(rules)) {
		json_decref(rules);
		json_decref(o);
		return control_error("not_supported", "this program has no rules");
	}
	if (!o || !rules || json_object_update(o, rules) < 0) {
		json_decref(o);
		o = NULL;
	}
	json_decref(rules);
	return o;
}
