/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/rules/rules_file.c - parses the rules of one JSON text into a set.
 */
#include "core/rules/rules_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/rules/rules_priv.h"

const char *const rules_root_keys[] = { "rules", NULL };
const char *const rules_rule_keys[] = { "id", "when", "verdict", "inherit", "set", "why", NULL };
const char *const rules_sample_keys[] = { "sample", NULL };

struct reader {
	const char *text;
	size_t len;
	struct ruleset *set;
};

static bool read_verdict(const struct datanode *node, struct rule_spec *spec)
{
	const char *word = json_string_value(node->json);
	struct datanode sample;
	char is[CONFIG_QUOTE_SIZE];
	long n;

	if (word && strcmp(word, "include") == 0) {
		spec->verdict = RULE_INCLUDE;
		return true;
	}
	if (word && strcmp(word, "exclude") == 0) {
		spec->verdict = RULE_EXCLUDE;
		return true;
	}
	if (!json_is_object(node->json)) {
		config_describe(node->json, is, sizeof(is));
		datanode_error(node,
			       "is %s: give \"include\", \"exclude\", or { \"sample\": 100 } for one process in 100",
			       is);
		return false;
	}
	if (!datanode_object(node, rules_sample_keys))
		return false;
	if (!datanode_key(node, "sample", &sample)) {
		datanode_error(node, "\"sample\" is missing: { \"sample\": 100 } includes one process in 100");
		return false;
	}
	if (!datanode_number(&sample, 1, 1000000, &n))
		return false;
	spec->verdict = RULE_SAMPLE;
	spec->sample = (uint32_t)n;
	return true;
}

/* Borrows the labels' texts from the JSON; the caller frees the list. */
static bool read_labels(const struct datanode *node, struct rule_spec *spec, struct rule_label **ret)
{
	struct rule_label *labels;
	struct datanode value;
	const char *name;
	json_t *json;
	size_t n = 0;
	bool ok = true;

	if (!json_is_object(node->json)) {
		datanode_error(node, "is not an object: give labels as { \"domain\": \"genomics\" }");
		return false;
	}
	labels = calloc(json_object_size(node->json) + 1, sizeof(*labels));
	if (!labels) {
		datanode_error(node, "no memory for these labels");
		return false;
	}
	json_object_foreach(node->json, name, json) {
		datanode_key(node, name, &value);
		if (!json_is_string(json)) {
			datanode_error(&value, "is not a string: write the value of a label in quotes");
			ok = false;
			continue;
		}
		labels[n].name = name;
		labels[n++].value = json_string_value(json);
	}
	spec->labels = *ret = labels;
	spec->n_labels = n;
	return ok;
}

/* Reads a required key. */
static bool wants(const struct datanode *node, const char *key, const char *remedy, struct datanode *ret)
{
	if (datanode_key(node, key, ret))
		return true;
	datanode_error(node, "\"%s\" is missing: %s", key, remedy);
	return false;
}

static int add(const struct reader *r, const struct datanode *id, const struct datanode *when,
	       const struct rule_spec *spec)
{
	struct filter_error error;
	int err = ruleset_add(r->set, spec, &error);

	if (err == -EINVAL && error.line)
		when_error(when, &error, r->text, r->len);
	else if (err)
		datanode_error(id, "%s", error.what);
	return err == -ENOMEM ? err : 0;
}

static int read_rule(const struct reader *r, const struct datanode *node)
{
	struct rule_spec spec = { .file = node->file };
	struct rule_label *labels = NULL;
	struct datanode id, when, at;
	struct when condition = { 0 };
	size_t n_errors = node->diag->n_errors;
	int err = 0;

	if (!datanode_object(node, rules_rule_keys))
		return 0;
	if (wants(node, "id", "a name for messages, counters and reports", &id))
		spec.id = datanode_string(&id);
	if (wants(node, "when", "a condition such as \"user = 'root'\", or true for always", &when) &&
	    when_read(&when, &condition)) {
		spec.when = condition.text;
		spec.when_len = condition.len;
	}
	if (wants(node, "verdict", "\"include\", \"exclude\" or { \"sample\": 100 }", &at))
		read_verdict(&at, &spec);
	if (datanode_key(node, "inherit", &at))
		datanode_bool(&at, &spec.inherit);
	if (datanode_key(node, "set", &at))
		read_labels(&at, &spec, &labels);
	if (datanode_key(node, "why", &at))
		spec.why = datanode_string(&at);
	if (node->diag->n_errors == n_errors) {
		spec.line = id.pos ? (uint32_t)id.pos->line : 0;
		err = add(r, &id, &when, &spec);
	} else if (condition.text) {
		/* Other parts of the rule are wrong: checks the condition too, to report all errors at once. */
		struct filter_error error;
		struct filter_expr *e = filter_expr_new(condition.text, condition.len, ruleset_schema(r->set), &error);

		if (!e)
			when_error(&when, &error, r->text, r->len);
		filter_expr_free(e);
	}
	when_clear(&condition);
	free(labels);
	return err;
}

int rules_parse(const char *text, size_t len, const char *name, struct diag *diag, struct ruleset *set)
{
	const struct reader r = { text, len, set };
	struct config_pos *pos = NULL;
	struct datanode root = { .file = name, .diag = diag }, rules, rule;
	size_t n_errors = diag->n_errors, from = diag->n;
	int err = 0;

	root.json = config_json_positions(text, len, name, diag, &pos);
	if (!root.json)
		goto out;
	root.pos = pos;
	if (datanode_object(&root, rules_root_keys) && wants(&root, "rules", "{ \"rules\": [ ... ] }", &rules) &&
	    datanode_array(&rules))
		for (size_t i = 0; err == 0 && i < json_array_size(rules.json); i++) {
			datanode_at(&rules, i, &rule);
			err = read_rule(&r, &rule);
		}
	json_decref(root.json);
	config_pos_free(pos);
out:
	when_show(diag, from, text, len);
	if (err == 0 && diag->n_errors > n_errors)
		err = -EINVAL;
	return err;
}
