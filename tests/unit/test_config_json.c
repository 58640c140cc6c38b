/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON with comments: where a comment begins and ends, and that each error names the character that caused it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/config/config.h"

static json_t *parse(const char *text)
{
	struct diag diag;
	json_t *json;

	diag_init(&diag);
	json = config_json(text, strlen(text), "f", &diag);
	diag_print(&diag, stderr);
	assert_non_null(json);
	assert_int_equal(diag.n, 0);
	diag_clear(&diag);
	return json;
}

/* The parser refuses the text with exactly that one error. */
static void assert_refused_n(const char *text, size_t len, int line, int column, const char *says)
{
	struct diag diag;

	diag_init(&diag);
	assert_null(config_json(text, len, "f", &diag));
	assert_int_equal(diag.n_errors, 1);
	assert_int_equal(diag.n, 1);
	if (!strstr(diag.entries[0].text, says))
		fail_msg("\"%s\" does not say \"%s\"", diag.entries[0].text, says);
	assert_string_equal(diag.entries[0].file, "f");
	assert_int_equal(diag.entries[0].line, line);
	assert_int_equal(diag.entries[0].column, column);
	diag_clear(&diag);
}

static void assert_refused(const char *text, int line, int column, const char *says)
{
	assert_refused_n(text, strlen(text), line, column, says);
}

static void test_comments(void **state)
{
	json_t *json =
		parse("\xef\xbb\xbf// first\n"
		      "{ /* one */ \"a\": /* two\n lines */ 1, // \"b\": 2,\n"
		      "  \"url\": \"http://x/*y*/\", \"q\": \"\\\"// no\", /**/ \"e\": \"\\\\\" /***/ } // last");

	(void)state;
	assert_int_equal(json_object_size(json), 4);
	assert_int_equal(json_integer_value(json_object_get(json, "a")), 1);
	assert_string_equal(json_string_value(json_object_get(json, "url")), "http://x/*y*/");
	assert_string_equal(json_string_value(json_object_get(json, "q")), "\"// no");
	assert_string_equal(json_string_value(json_object_get(json, "e")), "\\");
	json_decref(json);
}

static void test_comment_errors(void **state)
{
	(void)state;
	assert_refused("{\n  /* begins \n }", 2, 3, "no end");
	assert_refused("{ } /*/", 1, 5, "no end");
	assert_refused("{ } /", 1, 5, "end of file expected");
	/* A string without an end does not hide the place of the error. */
	assert_refused("{ \"a: 1,\n \"b\": \"/*\" }", 1, 3, "unexpected newline");
}

static void test_syntax_errors(void **state)
{
	(void)state;
	assert_refused("", 1, 1, "end of file");
	assert_refused("{\n \"a\": tru }", 2, 7, "near 'tru'");
	assert_refused("{\n \"a\": 1,\n}", 3, 1, "remove the comma");
	assert_refused("{ \"a\": [1, /* x */ ] }", 1, 20, "remove the comma");
	assert_refused("{ 'a': 1 }", 1, 3, "double quotes");
	assert_refused("{ \"a\" 1 }", 1, 7, "':' expected");
	assert_refused("{ \"\xc3\xa4\": /* \xe2\x82\xac */ x }", 1, 16, "near 'x'");
	assert_refused("{ \"a\": 99999999999999999999 }", 1, 8, "too big");
	assert_refused_n("{ \"a\": \0 }", 10, 1, 8, "");
	assert_refused("{ \"a\": \"\xff\" }", 1, 8, "decode");
}

static void test_duplicates(void **state)
{
	static const char text[] = "{ \"a\": 1,\n  \"b\": { \"c\": 1, \"c\": 2 },\n  \"a\": 3,\n  \"\\u0061\": 4 }";
	struct diag diag;

	(void)state;
	diag_init(&diag);
	assert_null(config_json(text, sizeof(text) - 1, "f", &diag));
	assert_int_equal(diag.n_errors, 3);
	assert_int_equal(diag.entries[0].line, 2);
	assert_int_equal(diag.entries[0].column, 18);
	assert_string_equal(diag.entries[0].text, "key \"c\" stands here a second time, first in line 2: remove one");
	assert_int_equal(diag.entries[1].line, 3);
	assert_int_equal(diag.entries[1].column, 3);
	assert_string_equal(diag.entries[1].text, "key \"a\" stands here a second time, first in line 1: remove one");
	assert_int_equal(diag.entries[2].line, 4);
	diag_clear(&diag);
	/* A duplicate before a syntax error does not hide it. */
	assert_refused("{ \"a\": 1, \"a\": 2, }", 1, 19, "remove the comma");
}

static void test_depth(void **state)
{
	enum { DEPTH = 100000 };
	char *text = malloc(2 * DEPTH);
	struct diag diag;

	(void)state;
	assert_non_null(text);
	memset(text, '[', DEPTH);
	memset(text + DEPTH, ']', DEPTH);
	diag_init(&diag);
	assert_null(config_json(text, 2 * DEPTH, "f", &diag));
	assert_int_equal(diag.n_errors, 1);
	assert_non_null(strstr(diag.entries[0].text, "depth"));
	diag_clear(&diag);
	free(text);
}

static void test_files(void **state)
{
	char file[] = "/tmp/skep-test-json-XXXXXX";
	int fd = mkstemp(file);
	struct diag diag;
	json_t *json;
	char *text;
	size_t len;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "[ 1 ] // one\n", 13), 13);
	close(fd);
	diag_init(&diag);
	json = config_json_file(file, &diag);
	assert_int_equal(json_integer_value(json_array_get(json, 0)), 1);
	json_decref(json);
	assert_int_equal(diag.n, 0);
	assert_int_equal(config_read_file(file, 12, &diag, &text, &len), -EFBIG);
	assert_int_equal(config_read_file(file, 13, &diag, &text, &len), 0);
	assert_int_equal(len, 13);
	assert_string_equal(text, "[ 1 ] // one\n");
	free(text);
	unlink(file);
	assert_null(config_json_file(file, &diag));
	assert_null(config_json_file("/tmp", &diag));
	assert_null(config_json_file("/dev/zero", &diag));
	assert_int_equal(diag.n_errors, 4);
	/* skepd's loop reads a file that an option names: a FIFO would block the loop until a process writes */
	assert_int_equal(mkfifo(file, 0600), 0);
	assert_int_equal(config_read_file(file, 13, &diag, &text, &len), -EINVAL);
	assert_non_null(strstr(diag.entries[diag.n - 1].text, "not a regular file"));
	unlink(file);
	assert_non_null(strstr(diag.entries[0].text, "larger than 12 bytes"));
	assert_string_equal(diag.entries[1].text, "cannot read: No such file or directory");
	assert_string_equal(diag.entries[2].text, "cannot read: Is a directory");
	assert_string_equal(diag.entries[3].text, "cannot read: not a regular file");
	diag_clear(&diag);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_comments),
		cmocka_unit_test(test_comment_errors),
		cmocka_unit_test(test_syntax_errors),
		cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
