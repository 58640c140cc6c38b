/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/reload_plan.c - plans a reload: loads every entry of the new configuration and checks its options
 * exactly as a start does, then compares the values.  Changes nothing that runs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config_pos.h"
#include "core/config/options_diff.h"
#include "core/collect/reload_priv.h"
#include "core/rules/rules_file.h"

/* ---- plugins --------------------------------------------------------------------- */

static struct skep_instance *find(const struct collector *c, const char *name, uint32_t kind, const char *plugin)
{
	for (struct skep_instance *inst = c->instances; inst; inst = inst->next)
		if (strcmp(inst->name, name) == 0 && inst->plugin->note.kind == kind &&
		    strcmp(inst->plugin->note.name, plugin) == 0)
			return inst;
	return NULL;
}

/* Loaded code stays in the process, so two files of one plugin would each have streams of the same names. */
static int same_file(const struct collector *c, struct reload *r, const struct config_plugin *entry,
		     const struct skep_instance *next)
{
	int line, column;

	for (const struct skep_instance *inst = c->instances; inst; inst = inst->next) {
		if (inst->plugin == next->plugin || strcmp(inst->plugin->note.name, next->plugin->note.name) != 0)
			continue;
		config_option_position(entry, "plugin", &line, &column);
		diag_add(&r->diag, DIAG_ERROR, r->next->file, line, column,
			 "plugin \"%s\" is now found at %s, but %s is loaded: restart skepd for that", entry->plugin,
			 next->plugin->path, inst->plugin->path);
		return -ENOTSUP;
	}
	return 0;
}

/*
 * The spool has one offset for each name of a sink.  A new sink would begin at the offset of the old sink of that name,
 * and the spool would forget this offset when the old sink leaves.
 */
static int same_sink(const struct collector *c, struct reload *r, const struct config_plugin *entry)
{
	int line, column;

	for (const struct skep_instance *inst = c->instances; inst; inst = inst->next) {
		if (inst->plugin->note.kind != SKEP_KIND_SINK || strcmp(inst->name, entry->name) != 0 ||
		    strcmp(inst->plugin->note.name, entry->plugin) == 0)
			continue;
		config_option_position(entry, "plugin", &line, &column);
		diag_add(&r->diag, DIAG_ERROR, r->next->file, line, column,
			 "sink %s cannot change from plugin %s to %s without a restart of skepd, as the spool has one "
			 "offset for that name: give the new sink another name",
			 entry->name, inst->plugin->note.name, entry->plugin);
		return -ENOTSUP;
	}
	return 0;
}

static enum change_what compare(struct change *change)
{
	const struct skep_plugin *desc = change->next->plugin->desc;

	if (!change->old)
		return CHANGE_ADD;
	switch (options_diff(desc, change->old->pristine, change->next->pristine, &change->options)) {
	case OPTIONS_SAME:
		return change->old->state == INSTANCE_FAILED ? CHANGE_RETRY : CHANGE_NONE;
	case OPTIONS_RELOADABLE:
		return change->old->state == INSTANCE_RUNNING && desc->reload ? CHANGE_APPLY : CHANGE_RESTART;
	case OPTIONS_OTHER:
		break;
	}
	return CHANGE_RESTART;
}

static int plan_entry(struct collector *c, struct reload *r, const struct config_plugin *entry, uint32_t kind)
{
	struct change *change = &r->changes[r->n];
	int err = collector_instance_new(c, r->next, entry, kind, &r->diag, &change->next);

	if (err < 0)
		return err;
	r->n++;
	change->old = find(c, entry->name, kind, entry->plugin);
	change->required = entry->required;
	change->terms = change->next->terms;
	change->what = compare(change);
	err = same_file(c, r, entry, change->next);
	if (err == 0 && kind == SKEP_KIND_SINK && delivery_spooled(c->delivery))
		err = same_sink(c, r, entry);
	return err;
}

static bool is_wanted(const struct reload *r, const struct skep_instance *inst)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->changes[i].old == inst)
			return true;
	return false;
}

static int plan_plugins(struct collector *c, struct reload *r)
{
	size_t room = r->next->n_probes + r->next->n_sinks;
	int err, first = 0;

	for (const struct skep_instance *inst = c->instances; inst; inst = inst->next)
		room++;
	r->changes = calloc(room + 1, sizeof(*r->changes));
	if (!r->changes) {
		diag_add(&r->diag, DIAG_ERROR, NULL, 0, 0, "out of memory");
		return -ENOMEM;
	}
	/* Plans every entry, to report all errors at once. */
	for (size_t i = 0; i < r->next->n_probes; i++) {
		err = plan_entry(c, r, &r->next->probes[i], SKEP_KIND_PROBE);
		if (err < 0 && first == 0)
			first = err;
	}
	for (size_t i = 0; i < r->next->n_sinks; i++) {
		err = plan_entry(c, r, &r->next->sinks[i], SKEP_KIND_SINK);
		if (err < 0 && first == 0)
			first = err;
	}
	if (first < 0)
		return first;
	r->removed = calloc(room + 1, sizeof(*r->removed));
	if (!r->removed) {
		diag_add(&r->diag, DIAG_ERROR, NULL, 0, 0, "out of memory");
		return -ENOMEM;
	}
	for (struct skep_instance *inst = c->instances; inst; inst = inst->next)
		if (!is_wanted(r, inst)) {
			r->changes[r->n++] = (struct change){ .what = CHANGE_REMOVE, .old = inst };
			r->removed[r->n_removed++] = inst;
		}
	return 0;
}

/* ---- settings -------------------------------------------------------------------- */

/* "250ms", "true", "/run/x"; NULL: a list, or labels. The caller frees it. */
static char *value_text(const struct config_key *key, const struct config *config)
{
	const void *at = (const char *)config + key->offset;
	char number[CONFIG_UNITS_SIZE];

	switch (key->type) {
	case SKEP_O_TIME:
	case SKEP_O_SIZE:
		option_bound_format(key, (int64_t)*(const uint64_t *)at, number);
		return strdup(number);
	case SKEP_O_STR:
		if (*(const char *const *)at)
			return strdup(*(const char *const *)at);
		return strdup(key->flags & CONFIG_OR_FALSE ? "false" : "none");
	case SKEP_O_BOOL:
		return strdup(*(const bool *)at ? "true" : "false");
	case CONFIG_O_EITHER:
		return strdup(key->words[*(const bool *)at]);
	default:
		return NULL;
	}
}

/* Reports a key that changes.  -ENOTSUP, with an error added: the key cannot change. */
static int say_key(struct reload *r, const struct config_key *key, const struct config *was, const struct config *next)
{
	char *a = value_text(key, was), *b = value_text(key, next), *name = NULL, *words = NULL;
	const struct config_pos *at = next->positions;
	int err = 0;

	if (asprintf(&name, "%s%s%s", key->section ? key->section : "", key->section ? "." : "", key->name) < 0)
		name = NULL;
	if (asprintf(&words, "%s%s%s%s", a && b ? "from " : "", a && b ? a : "", a && b ? " to " : "", a && b ? b : "") < 0)
		words = NULL;
	if (!name || !words) {
		diag_add(&r->diag, DIAG_ERROR, NULL, 0, 0, "out of memory");
		err = -ENOMEM;
	} else if (key->flags & CONFIG_FIXED) {
		at = config_pos_key(key->section ? config_pos_key(at, key->section) : at, key->name);
		diag_add(&r->diag, DIAG_ERROR, next->file, at ? at->key_line : 0, at ? at->key_column : 0,
			 "%s cannot change %s%swithout a restart of skepd", name, words, *words ? " " : "");
		err = -ENOTSUP;
	} else {
		reload_report_add(&r->report, RELOAD_CHANGED, "setting", name, "%s%s%s", words,
				  *words && (key->flags & CONFIG_AT_START) ? ": " : "",
				  key->flags & CONFIG_AT_START ? "with the next start of skepd" : "");
	}
	free(a);
	free(b);
	free(name);
	free(words);
	return err;
}

/* One line for each rule that differs, and one if the unchanged ones have another order. */
static void say_rules(struct reload *r, const struct ruleset *was, const struct ruleset *next)
{
	size_t n_was = was ? ruleset_count(was) : 0, n = ruleset_count(next), at = 0;
	bool moved = false;

	for (size_t i = 0; i < n; i++) {
		const struct rule *rule = ruleset_rule(next, i), *before = was ? ruleset_find(was, rule->id) : NULL;

		if (!before) {
			reload_report_add(&r->report, RELOAD_ADDED, "rule", rule->id, "%s", "");
			continue;
		}
		if (!rule_same(before, rule))
			reload_report_add(&r->report, RELOAD_CHANGED, "rule", rule->id, "%s", "");
		moved |= before->number < at;
		at = before->number;
	}
	for (size_t i = 0; i < n_was; i++)
		if (!ruleset_find(next, ruleset_rule(was, i)->id))
			reload_report_add(&r->report, RELOAD_REMOVED, "rule", ruleset_rule(was, i)->id, "%s", "");
	if (moved)
		reload_report_add(&r->report, RELOAD_CHANGED, "setting", "filters", "rules are in another order");
}

static int plan_rules(struct collector *c, struct reload *r)
{
	int err = rules_load(r->next, &r->diag, &r->rules);

	if (err == 0 && c->rule_eval)
		say_rules(r, rule_eval_rules(c->rule_eval), r->rules);
	return err;
}

static int plan_settings(struct collector *c, struct reload *r)
{
	const struct config *was = c->config, *next = r->next;
	int err = 0, one;

	for (const struct config_key *key = config_key_table; key->name; key++) {
		one = key->type == CONFIG_O_ENTRIES || option_same(key, was, next) ? 0 : say_key(r, key, was, next);
		err = err ? err : one;
	}
	/* Reads the tables in any case: their files may have changed. */
	r->tools = tools_new(next->tools, &r->diag);
	r->redact = redact_new(next->redact, &r->diag);
	r->containers = containers_new(next->containers, &r->diag);
	r->recognizers = recognizers_new(next->recognizers, &r->diag);
	if (r->tools && r->recognizers && err == 0) {
		size_t n_errors = r->diag.n_errors;

		recognizers_test(r->recognizers, r->tools, true, &r->diag);
		err = r->diag.n_errors > n_errors ? -EINVAL : 0;
	}
	if ((!r->tools || !r->redact || !r->containers || !r->recognizers) && err == 0)
		err = -EINVAL;
	one = plan_rules(c, r);
	return err ? err : one;
}

/* ---- all of it --------------------------------------------------------------------- */

static void say_plugin(struct reload *r, const struct change *change)
{
	static const enum reload_how how[] = {
		[CHANGE_RETRY] = RELOAD_RETRIED, [CHANGE_APPLY] = RELOAD_APPLIED, [CHANGE_RESTART] = RELOAD_RESTARTED,
		[CHANGE_ADD] = RELOAD_ADDED,     [CHANGE_REMOVE] = RELOAD_REMOVED,
	};
	const struct skep_instance *inst = change->next ? change->next : change->old;

	if (change->what == CHANGE_NONE)
		r->report.unchanged++;
	else if (change->what != CHANGE_REMOVE ||
		 r->check) /* collector_leave.c reports a removed plugin, with the records that it lost */
		reload_report_add(&r->report, how[change->what], collector_instance_kind(inst), inst->name, "%s%s",
				  change->options && *change->options ? "options: " : "",
				  change->options ? change->options : "");
}

void reload_say(struct reload *r)
{
	for (size_t i = 0; i < r->n; i++)
		say_plugin(r, &r->changes[i]);
}

int reload_plan(struct collector *c, struct reload *r)
{
	int err = plan_settings(c, r), more = plan_plugins(c, r);

	return err < 0 ? err : more;
}

void reload_plan_free(struct collector *c, struct reload *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct skep_instance *next = r->changes[i].next;

		if (next && next->state != INSTANCE_NEW)
			collector_leave(c, next, 0);
		else
			collector_instance_free(next);
		free(r->changes[i].options);
	}
	free(r->changes);
	tools_free(r->tools);
	redact_free(r->redact);
	containers_free(r->containers);
	recognizers_unref(r->recognizers);
	r->rules = ruleset_unref(r->rules);
	r->changes = NULL;
	r->n = 0;
	r->tools = NULL;
	r->redact = NULL;
	r->containers = NULL;
	r->recognizers = NULL;
}
