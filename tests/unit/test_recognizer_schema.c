/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/recognizer_schema: the schema has the keys that the reader of tables knows, each fact and each field.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/identify/recognizer_schema.h"
#include "core/identify/recognizer_table.h"

static const json_t *items_of(const json_t *properties, const char *key)
{
	return json_object_get(json_object_get(json_object_get(properties, key), "items"), "properties");
}

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
	static const char *const marks[] = { "run", "task", "learn" };
	json_t *schema = recognizer_schema();
	const json_t *root = json_object_get(schema, "properties"), *entry = items_of(root, "recognizers");
	struct recognizer_fields fields;
	const char *help;
	size_t words = 0;

	(void)state;
	assert_non_null(schema);
	same_keys(root, recognizer_root_keys);
	same_keys(entry, recognizer_entry_keys);
	recognizer_fields_init(&fields);
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const json_t *mark = items_of(entry, marks[i]), *source = items_of(mark, "facts");

		same_keys(mark, recognizer_mark_keys);
		same_keys(source, recognizer_source_keys);
		while (recognizer_fact_words()[words])
			words++;
		assert_int_equal(json_array_size(json_object_get(json_object_get(source, "as"), "enum")), words);
		help = json_string_value(json_object_get(json_object_get(mark, "when"), "description"));
		assert_non_null(help);
		for (uint32_t k = 0; k < fields.schema.n; k++) {
			char line[64];

			snprintf(line, sizeof(line), "\n%s: ", fields.fields[k].name);
			if (!strstr(help, line))
				fail_msg("the help of \"when\" lacks %s", fields.fields[k].name);
		}
	}
	json_decref(schema);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(keys_and_fields) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
