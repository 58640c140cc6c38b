/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_web.c - which requests become which command line, which requests are refused, and how soon a stream
 * asks again.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/web/request.h"
#include "cli/web/stream.h"

static const char token[] = "0123456789abcdef0123456789abcdef";

/* "a b c" of the command line; the values are "key=value" texts, NULL-terminated. */
static int route(const char *path, const char *const *query, const char *lake, char *line, size_t room)
{
	struct request_value values[8];
	static char texts[8][600];
	struct request_command c;
	char why[256] = "";
	size_t n = 0, at = 0;
	int err;

	for (; query && query[n]; n++) {
		snprintf(texts[n], sizeof(texts[n]), "%s", query[n]);
		values[n].key = texts[n];
		values[n].value = strchr(texts[n], '=') + 1;
		texts[n][strcspn(texts[n], "=")] = '\0';
	}
	err = request_route(path, values, n, lake, &c, why, sizeof(why));
	if (err) {
		snprintf(line, room, "%s", why);
		return err;
	}
	line[0] = '\0';
	for (size_t i = 0; c.argv[i]; i++)
		at += (size_t)snprintf(line + at, room - at, "%s%s", i ? " " : "", c.argv[i]);
	return 0;
}

static void check(const char *path, const char *const *query, const char *lake, const char *want)
{
	char line[1024];

	assert_int_equal(route(path, query, lake, line, sizeof(line)), 0);
	assert_string_equal(line, want);
}

static void refused(const char *path, const char *const *query, int want)
{
	char line[1024];

	assert_int_equal(route(path, query, NULL, line, sizeof(line)), want);
	if (want == -EINVAL)
		assert_true(line[0] != '\0');
}

#define QUERY(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void routes(void **state)
{
	(void)state;
	check("/api/runs", NULL, NULL, "runs --json --limit=200");
	check("/api/runs", QUERY("limit=7", "state=failed", "pipeline=-x y"), "/l",
	      "runs --lake /l --json --limit=7 --state=failed --pipeline=-x y");
	check("/api/runs", QUERY("all=1"), NULL, "runs --json --limit=200 --all");
	check("/api/run/20261121-ab", NULL, "/l", "show --lake /l --json --columns -- 20261121-ab");
	/* an operand, never an option */
	check("/api/run/--lake=x", NULL, NULL, "show --json --columns -- --lake=x");
	check("/api/run/r", QUERY("summary=1"), NULL, "show --json --summary -- r");
	check("/api/tune/r", NULL, NULL, "tune --json -- r");
	check("/api/hosts", NULL, NULL, "hosts --json");
	check("/api/sweep", QUERY("since=3d", "host=-a b"), "/l", "sweep --lake /l --json --host=-a b --since=3d");
	check("/api/diff", QUERY("b=r"), NULL, "diff --json -- r");
	check("/api/diff", QUERY("b=r", "a=q"), "/l", "diff --lake /l --json -- q r");
	/* skepd's socket has no lake */
	check("/api/status", NULL, "/l", "status --json");
	check("/api/rules", NULL, "/l", "rules --json");
}

static void refusals(void **state)
{
	char longer[400];

	(void)state;
	refused("/api/nothing", NULL, -ENOENT);
	refused("/api/run/", NULL, -ENOENT);
	refused("/api/run/../../etc/passwd", NULL, -ENOENT);
	refused("/api/run/a\nb", NULL, -ENOENT);
	refused("/api/tune/r", QUERY("summary=1"), -EINVAL);
	refused("/api/runs", QUERY("lake=/etc"), -EINVAL);
	refused("/api/runs", QUERY("limit=0"), -EINVAL);
	refused("/api/runs", QUERY("limit=-1"), -EINVAL);
	refused("/api/runs", QUERY("limit=999999"), -EINVAL);
	refused("/api/runs", QUERY("state="), -EINVAL);
	refused("/api/runs", QUERY("state=a\x1b[0m"), -EINVAL);
	refused("/api/hosts", QUERY("watch=1s"), -EINVAL);
	refused("/api/diff", NULL, -EINVAL);
	snprintf(longer, sizeof(longer), "/api/run/%0300d", 1);
	refused(longer, NULL, -ENOENT);
	snprintf(longer, sizeof(longer), "pipeline=%0300d", 1);
	refused("/api/runs", QUERY(longer), -EINVAL);
}

static void hosts(void **state)
{
	static const char *const names[] = { "node1", NULL };

	(void)state;
	assert_true(request_host("127.0.0.1:7000", names));
	assert_true(request_host("[::1]:7000", names));
	assert_true(request_host("localhost", names));
	assert_true(request_host("NODE1:7000", names));
	assert_false(request_host(NULL, names));
	assert_false(request_host("", names));
	assert_false(request_host("evil.example", names));
	assert_false(request_host("127.0.0.1.evil.example:7000", names));
	assert_false(request_host("node1.evil.example", names));
	assert_false(request_host("[::1", names));
	assert_false(request_host("[::1]x", names));
	assert_false(request_host("[localhost]", names));
	assert_false(request_host("node1:", (const char *const[]){ NULL }));
}

static void origins(void **state)
{
	const char *host = "127.0.0.1:7000";

	(void)state;
	assert_true(request_origin(NULL, NULL, host, false, false)); /* curl */
	assert_true(request_origin("http://127.0.0.1:7000", "same-origin", host, false, false));
	assert_true(request_origin(NULL, "none", host, false, true));       /* typed */
	assert_true(request_origin(NULL, "cross-site", host, false, true)); /* a link in a mail */
	assert_false(request_origin(NULL, "cross-site", host, false, false));
	assert_false(request_origin(NULL, "same-site", host, false, false)); /* another port of this host */
	assert_false(request_origin("http://evil.example", NULL, host, false, false));
	assert_false(request_origin("http://127.0.0.1:7001", NULL, host, false, false));
	assert_false(request_origin("http://127.0.0.1:7000", NULL, host, true, false));
	assert_false(request_origin("null", NULL, host, false, true));
	assert_false(request_origin("http://127.0.0.1:7000", NULL, NULL, false, false));
}

static void tokens(void **state)
{
	char header[128];

	(void)state;
	assert_true(request_token_equal(token, token));
	assert_false(request_token_equal(NULL, token));
	assert_false(request_token_equal("", token));
	assert_false(request_token_equal("0123456789abcdef0123456789abcdee", token));
	assert_false(request_token_equal("0123456789abcdef0123456789abcdef0", token));
	snprintf(header, sizeof(header), "a=b; skep_1=%s; c=d", token);
	assert_true(request_token(header, "skep_1", NULL, token));
	assert_false(request_token(header, "skep_2", NULL, token));
	assert_false(request_token(header, "kep_1", NULL, token));
	/* the browser sends two of one name: of another path, set by another program on this host */
	snprintf(header, sizeof(header), "skep_1=%032d; skep_1=%s", 0, token);
	assert_true(request_token(header, "skep_1", NULL, token));
	snprintf(header, sizeof(header), "Bearer %s", token);
	assert_true(request_token(NULL, "skep_1", header, token));
	assert_false(request_token(NULL, "skep_1", token, token));
	assert_false(request_token(NULL, "skep_1", NULL, token));
}

static void folders(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "/%s/api/runs", token);
	assert_string_equal(request_below(path, token), "/api/runs");
	snprintf(path, sizeof(path), "/%s/", token);
	assert_string_equal(request_below(path, token), "/");
	snprintf(path, sizeof(path), "/%s", token);
	assert_null(request_below(path, token));
	snprintf(path, sizeof(path), "/%s0/", token);
	assert_null(request_below(path, token));
	snprintf(path, sizeof(path), "//%s/", token);
	assert_null(request_below(path, token));
	assert_null(request_below("/0123456789abcdef0123456789abcdee/", token));
	assert_null(request_below("/api/runs", token));
	assert_null(request_below("/", token));
	assert_null(request_below("", token));
}

static void pauses(void **state)
{
	(void)state;
	assert_int_equal(stream_pause_ms(0, 10, 2), 2000);
	assert_int_equal(stream_pause_ms(0, 3000, 2), 12000);
	assert_int_equal(stream_pause_ms(-ETIMEDOUT, 60000, 2), 240000);
	assert_int_equal(stream_pause_ms(-ENOMEM, 0, 60), 60000);
	/* other questions occupied skep web: this one did not begin */
	assert_true(stream_pause_ms(-EBUSY, 0, 3600) <= 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(routes),  cmocka_unit_test(refusals), cmocka_unit_test(hosts),
		cmocka_unit_test(origins), cmocka_unit_test(tokens),  cmocka_unit_test(folders),
		cmocka_unit_test(pauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
