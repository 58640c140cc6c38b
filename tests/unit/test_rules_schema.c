/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/rules_schema: the schema has the keys that core/rules_file accepts, and every field.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/rules/rule_fields.h"
#include "core/rules/rules_priv.h"
#include "core/rules/rules_schema.h"

static void same_keys(const json_t *properties, const char *const *keys)
{
	size_t n = 0;

	assert_non_null(properties);
	for (; keys[n]; n++)
		if (!json_object_get(properties, keys[n]))
			fail_msg("the schema lacks %s", keys[n]);
	assert_int_equal(json_object_size(properties), n);
}

static void keys_and_fields(void **state)
{
	json_t *schema = rules_schema();
	const json_t *root = json_object_get(schema, "properties");
	const json_t *rule = json_object_get(json_object_get(json_object_get(root, "rules"), "items"), "properties");
	const json_t *sample = json_array_get(json_object_get(json_object_get(rule, "verdict"), "anyOf"), 1);
	const char *help;

	(void)state;
	assert_non_null(schema);
	same_keys(root, rules_root_keys);
	same_keys(rule, rules_rule_keys);
	same_keys(json_object_get(sample, "properties"), rules_sample_keys);
	help = json_string_value(json_object_get(json_object_get(rule, "when"), "description"));
	assert_non_null(help);
	for (uint32_t i = 0; i < rule_fields_schema.n; i++) {
		char line[64];

		snprintf(line, sizeof(line), "\n%s (", rule_fields_schema.fields[i].name);
		if (!strstr(help, line))
			fail_msg("the help of \"when\" lacks %s", rule_fields_schema.fields[i].name);
	}
	json_decref(schema);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(keys_and_fields) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
