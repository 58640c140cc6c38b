/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Positions of keys and values, in characters, through escapes, nesting and duplicates.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config_pos.h"

static struct config_pos *scan(const char *text)
{
	struct config_pos *root = NULL;

	assert_int_equal(config_pos_new(text, strlen(text), &root), 0);
	assert_non_null(root);
	return root;
}

static void assert_place(const struct config_pos *at, int key_line, int key_column, int line, int column)
{
	assert_non_null(at);
	assert_int_equal(at->key_line, key_line);
	assert_int_equal(at->key_column, key_column);
	assert_int_equal(at->line, line);
	assert_int_equal(at->column, column);
}

static void test_places(void **state)
{
	struct config_pos *root = scan(" {\n"
				       "\t\"a\": 1,\n"
				       "  \"b\" :\n"
				       "   [ 10, \"x\\\"]\", {\"c\":null} ],\r\n"
				       "  \"d\": { }\n"
				       "}\n");
	const struct config_pos *b = config_pos_key(root, "b");

	(void)state;
	assert_place(root, 0, 0, 1, 2);
	assert_place(config_pos_key(root, "a"), 2, 2, 2, 7);
	assert_place(b, 3, 3, 4, 4);
	assert_place(config_pos_at(b, 0), 0, 0, 4, 6);
	assert_place(config_pos_at(b, 1), 0, 0, 4, 10);
	assert_place(config_pos_at(b, 2), 0, 0, 4, 18);
	assert_place(config_pos_key(config_pos_at(b, 2), "c"), 4, 19, 4, 23);
	assert_null(config_pos_at(b, 3));
	assert_place(config_pos_key(root, "d"), 5, 3, 5, 8);
	assert_null(config_pos_key(root, "d")->first);
	assert_null(config_pos_key(root, "e"));
	assert_null(config_pos_key(NULL, "e"));
	assert_null(config_pos_at(NULL, 0));
	config_pos_free(root);
}

static void test_keys(void **state)
{
	/* Escapes are decoded; a character of several bytes is one column. */
	struct config_pos *root = scan("{\"\\u0061\\\"b\":1,\"\xc3\xa4\xe2\x82\xac\":2,\"k\":3,\"k\":4}");
	const struct config_pos *at = root->first;

	(void)state;
	assert_string_equal(at->key, "a\"b");
	assert_place(at, 1, 2, 1, 14);
	at = at->next;
	assert_string_equal(at->key, "\xc3\xa4\xe2\x82\xac");
	assert_place(at, 1, 16, 1, 21);
	at = at->next;
	assert_place(at, 1, 23, 1, 27);
	assert_ptr_equal(at, config_pos_key(root, "k"));
	at = at->next;
	assert_string_equal(at->key, "k");
	assert_place(at, 1, 29, 1, 33);
	assert_null(at->next);
	config_pos_free(root);
}

static void test_depth(void **state)
{
	enum { DEPTH = 100000 };
	char *text = malloc(2 * DEPTH);
	struct config_pos *root;
	const struct config_pos *at;
	int depth = 0;

	(void)state;
	assert_non_null(text);
	memset(text, '[', DEPTH);
	memset(text + DEPTH, ']', DEPTH);
	assert_int_equal(config_pos_new(text, 2 * DEPTH, &root), 0);
	for (at = root; at; at = at->first)
		depth++;
	assert_int_equal(depth, DEPTH);
	config_pos_free(root);
	free(text);
}

static void test_not_json(void **state)
{
	static const char *const texts[] = { "",       " ",       "{",         "[",     "[}",  "{]",   "]",
					     "{\"a\"", "{\"a\":", "{\"a\" 1}", "{a:1}", "[\"", "[\"\\" };
	struct config_pos *root = (struct config_pos *)state; /* any mark */

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(config_pos_new(texts[i], strlen(texts[i]), &root), -EINVAL);
		assert_ptr_equal(root, state);
	}
	assert_null(config_pos_free(NULL));
}

static void test_offsets(void **state)
{
	static const char text[] = "a\n\xc3\xa4x\n\ny";
	int line, column;

	(void)state;
	config_pos_offset(text, 0, &line, &column);
	assert_int_equal(line, 1);
	assert_int_equal(column, 1);
	config_pos_offset(text, 4, &line, &column); /* x */
	assert_int_equal(line, 2);
	assert_int_equal(column, 2);
	config_pos_offset(text, 7, &line, &column); /* y */
	assert_int_equal(line, 4);
	assert_int_equal(column, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_not_json),
		cmocka_unit_test(test_offsets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
