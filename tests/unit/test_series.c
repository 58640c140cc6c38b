/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_series.c - records of a detail summed by object and by the semantics of their fields; text from the
 * daemon that contains terminal controls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/live/series.h"

static json_t *json(const char *text)
{
	json_t *o = json_loads(text, 0, NULL);

	assert_non_null(o);
	return o;
}

#define FIELD(name_, type_, sem_, unit_) \
	"{\"name\":\"" name_ "\",\"type\":\"" type_ "\",\"semantics\":\"" sem_ "\",\"unit\":\"" unit_ \
	"\",\"help\":\"\"}"
/* clang-format off */
static const char stream_text[] = "{\"name\":\"s\",\"fields\":["
	FIELD("detail.id", "u64", "attribute", "") ","
	FIELD("state", "str", "attribute", "") ","
	FIELD("port", "u64", "attribute", "") ","
	FIELD("begin", "time", "attribute", "") ","
	FIELD("sum_ns", "u64", "delta", "ns") ","
	FIELD("level", "i64", "gauge", "1") ","
	FIELD("total", "u64", "cumulative", "By") ","
	FIELD("took", "hist", "delta", "ns") "]}";
/* clang-format on */

#define RECORD(more_, n_) \
	"{\"stream\":\"s\",\"time\":\"2026-11-21T07:39:22.000000001Z\",\"detail.id\":3,\"begin\":\"x\"," more_ \
	"\"took\":{\"count\":" n_ ",\"sum\":3000,\"scale\":2,\"zero_count\":0,\"offset\":39,\"counts\":[" n_ "]}}"

static char *printed(struct series_set *set)
{
	struct paint p = { .width = 80 };
	char *text = NULL;
	size_t size;

	p.out = open_memstream(&text, &size);
	assert_non_null(p.out);
	assert_int_equal(series_print(set, &p), 0);
	fclose(p.out);
	return text;
}

static void add(struct series_set *set, const char *text)
{
	json_t *record = json(text);

	assert_int_equal(series_add(set, record), 0);
	json_decref(record);
}

static void put_together(void **state)
{
	json_t *stream = json(stream_text);
	struct series_set *set = series_new(stream);
	char *text;

	(void)state;
	assert_non_null(set);
	add(set,
	    RECORD("\"upid\":\"12345678-42-ff\",\"tool\":\"sort\",\"state\":\"io\",\"port\":80,\"sum_ns\":1000,\"level\":5,\"total\":100,",
		   "2"));
	add(set,
	    RECORD("\"upid\":\"12345678-42-ff\",\"tool\":\"sort\",\"state\":\"io\",\"port\":80,\"sum_ns\":500,\"level\":-3,\"total\":300,",
		   "1"));
	add(set, RECORD("\"upid\":null,\"state\":\"x\\u001b[31m\",\"port\":0,\"sum_ns\":7,", "1"));
	text = printed(set);
	assert_string_equal(text, "\n"
				  "sort pid 42, state io, port 80  sum_ns 1.50 us  level -3  total 300 B\n"
				  "took  p50 943 ns  p90 1.01 us  p99 1.02 us  mean 2.00 us\n"
				  "  861 ns to 1.02 us  3  ##################################################\n"
				  "\n"
				  "state x\\x1b[31m  sum_ns 7 ns  level 0  total 0\n"
				  "took  p50 943 ns  p90 1.01 us  p99 1.02 us  mean 3.00 us\n"
				  "  861 ns to 1.02 us  1  ##################################################\n");
	free(text);
	series_free(set);
	json_decref(stream);
}

static void lines(void **state)
{
	json_t *stream = json(stream_text),
	       *record = json(RECORD("\"upid\":null,\"state\":\"io\",\"sum_ns\":1000,", "2"));
	struct series_set *set = series_new(stream);
	struct paint p = { .width = 80 };
	char *text = NULL;
	size_t size;

	(void)state;
	p.out = open_memstream(&text, &size);
	assert_non_null(p.out);
	assert_int_equal(series_line(set, record, &p), 0);
	json_decref(record);
	record = json("{}"); /* a daemon of another version may send anything */
	assert_int_equal(series_line(set, record, &p), 0);
	json_decref(record);
	fclose(p.out);
	assert_string_equal(
		text, "07:39:22  state io  sum_ns 1.00 us  p50 943 ns  p90 1.01 us  p99 1.02 us  mean 1.50 us\n\n");
	free(text);
	series_free(set);
	json_decref(stream);
}

/* Beyond the bound all things share one series, so that a busy machine does not fill memory. */
static void bounded(void **state)
{
	json_t *stream = json(stream_text);
	struct series_set *set = series_new(stream);
	char record[400], *text;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		snprintf(record, sizeof(record), RECORD("\"state\":\"s%d\",\"sum_ns\":1,", "1"), i);
		add(set, record);
	}
	text = printed(set);
	assert_non_null(strstr(text, "state s255  "));
	assert_null(strstr(text, "state s256  "));
	assert_non_null(strstr(text, "all others  sum_ns 744 ns"));
	free(text);
	series_free(set);
	json_decref(stream);
}

/* clang-format off */
static const char table_text[] = "{\"name\":\"t\",\"fields\":["
	FIELD("detail.id", "u64", "attribute", "") ","
	FIELD("file.path", "str", "attribute", "") ","
	FIELD("error.type", "str", "attribute", "") ","
	FIELD("opens", "u64", "delta", "{open}") ","
	FIELD("failed", "u64", "delta", "{open}") "]}";
/* clang-format on */

#define OPENED(upid_, tool_, path_, error_, opens_, failed_)                                                     \
	"{\"stream\":\"t\",\"detail.id\":1,\"upid\":\"" upid_ "\",\"tool\":\"" tool_ "\",\"file.path\":\"" path_ \
	"\",\"error.type\":\"" error_ "\",\"opens\":" opens_ ",\"failed\":" failed_ "}"

/* Without distributions: a row for each thing, one for all processes of a tool, largest first. */
static void table(void **state)
{
	json_t *stream = json(table_text);
	struct series_set *set = series_new(stream);
	char *text;

	(void)state;
	assert_true(series_many(set));
	add(set, OPENED("12345678-42-ff", "cc1", "/usr/include/stdio.h", "", "3", "0"));
	add(set, OPENED("12345678-43-ff", "cc1", "/usr/include/stdio.h", "", "4", "0"));
	add(set, OPENED("12345678-42-ff", "cc1", "/x/stdio.h", "ENOENT", "0", "1200"));
	add(set, OPENED("12345678-44-ff", "", "/a/long/way/down/to/the/very/last/file/\\u001b[31m", "", "9", "0"));
	text = printed(set);
	assert_string_equal(text, "\n"
				  "opens  failed  process  error.type  file.path\n"
				  "    -   1,200  cc1      ENOENT      /x/stdio.h\n"
				  "    9       -  pid 44               ...y/down/to/the/very/last/file/\\x1b[31m\n"
				  "    7       -  cc1                  /usr/include/stdio.h\n");
	free(text);
	series_free(set);
	json_decref(stream);
}

/* Rows that are not shown are summed up, so that the columns stay complete. */
static void table_bounded(void **state)
{
	json_t *stream = json(table_text);
	struct series_set *set = series_new(stream);
	char record[400], *text;
	unsigned lines = 0;

	(void)state;
	for (int i = 1; i <= 70000; i++) {
		snprintf(record, sizeof(record), OPENED("12345678-42-ff", "sh", "/f%d", "", "%d", "0"), i,
			 i <= 100 ? i : 1);
		add(set, record);
	}
	text = printed(set);
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	assert_int_equal(lines, 1 + 1 + 40 + 1);
	assert_non_null(strstr(text, "  100  "));
	assert_non_null(strstr(text, "   61  "));
	assert_null(strstr(text, "   60  "));
	/* 1 + ... + 60, and one each of the others */
	assert_non_null(strstr(text, "71,730  "));
	assert_non_null(strstr(text, "65497 more\n"));
	free(text);
	series_free(set);
	json_decref(stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(put_together),
		cmocka_unit_test(lines),
		cmocka_unit_test(bounded),
		cmocka_unit_test(table),
		cmocka_unit_test(table_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
