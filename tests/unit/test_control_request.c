/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_control_request.c - how skepd reads requests, and every refusal with the wrong value and the remedy.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/control/control_request.h"

static struct control_request parsed(const char *line)
{
	struct control_request r;
	char why[CONTROL_WHY_SIZE] = "";

	if (control_request_parse(line, strlen(line), &r, why) != 0)
		fail_msg("%s: %s", line, why);
	return r;
}

static void assert_refused(const char *line, const char *expected)
{
	struct control_request r = { .what = 99 };
	char why[CONTROL_WHY_SIZE] = "";

	assert_int_equal(control_request_parse(line, strlen(line), &r, why), -EINVAL);
	assert_string_equal(why, expected);
	assert_int_equal(r.what, 99);
}

static void simple(void **state)
{
	static const struct {
		const char *line;
		enum control_what what;
	} cases[] = {
		{ "{\"request\":\"status\"}", CONTROL_STATUS },
		{ " { \"request\" : \"plugins\" } ", CONTROL_PLUGINS },
		{ "{\"request\":\"details\"}", CONTROL_DETAILS },
		{ "{\"request\":\"runs\"}", CONTROL_RUNS },
		{ "{\"request\":\"loglevel\"}", CONTROL_LOGLEVEL },
		{ "{\"request\":\"stats\"}", CONTROL_STATS },
		{ "{\"request\":\"reload\"}", CONTROL_RELOAD },
		{ "{\"request\":\"rules\"}", CONTROL_RULES },
		{ "{\"request\":\"recognize\",\"pid\":7}", CONTROL_RECOGNIZE },
		{ "{\"request\":\"watch\"}", CONTROL_WATCH },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct control_request r = parsed(cases[i].line);

		assert_int_equal(r.what, cases[i].what);
		assert_int_equal(r.level, 0);
		control_request_clear(&r);
		control_request_clear(&r); /* a second call does no harm */
	}
}

static void attach(void **state)
{
	struct control_request r = parsed("{\"request\":\"attach\",\"detail\":\"runqlat\"}");

	(void)state;
	assert_int_equal(r.what, CONTROL_ATTACH);
	assert_string_equal(r.detail, "runqlat");
	assert_int_equal(r.scope, SKEP_SCOPE_HOST);
	assert_int_equal(r.for_ns, CONTROL_FOR_DEFAULT_NS);
	control_request_clear(&r);

	r = parsed("{\"request\":\"attach\",\"detail\":\"a:b\",\"scope\":\"host\",\"for_ns\":0}");
	assert_int_equal(r.scope, SKEP_SCOPE_HOST);
	assert_int_equal(r.for_ns, 0);
	control_request_clear(&r);

	/* the named thing implies the scope */
	r = parsed("{\"request\":\"attach\",\"detail\":\"d\",\"run\":\"r1\",\"for_ns\":5000000000}");
	assert_int_equal(r.scope, SKEP_SCOPE_GROUP);
	assert_string_equal(r.run, "r1");
	assert_int_equal(r.for_ns, 5000000000);
	control_request_clear(&r);
	r = parsed("{\"request\":\"attach\",\"cgroup\":\"/a/b\",\"detail\":\"d\",\"scope\":\"cgroup\"}");
	assert_int_equal(r.scope, SKEP_SCOPE_CGROUP);
	assert_string_equal(r.cgroup, "/a/b");
	control_request_clear(&r);
	r = parsed("{\"request\":\"attach\",\"detail\":\"d\",\"pid\":4711}");
	assert_int_equal(r.scope, SKEP_SCOPE_PID);
	assert_int_equal(r.pid, 4711);
	control_request_clear(&r);

	r = parsed("{\"request\":\"detach\",\"id\":7}");
	assert_int_equal(r.id, 7);
	control_request_clear(&r);
	r = parsed("{\"request\":\"loglevel\",\"level\":\"debug\"}");
	assert_int_equal(r.level, SKEP_LOG_DEBUG);
	control_request_clear(&r);
}

static void reload(void **state)
{
	struct control_request r = parsed("{\"request\":\"reload\"}");

	(void)state;
	assert_false(r.check);
	control_request_clear(&r);
	r = parsed("{\"request\":\"reload\",\"check\":true}");
	assert_true(r.check);
	control_request_clear(&r);
}

static void runs(void **state)
{
	struct control_request r = parsed(
		"{\"request\":\"run_begin\",\"pid\":7,\"argv\":[\"a\",\"\"],\"name\":\"n\",\"pipeline\":\"p\",\"cwd\":\"/\",\"sink\":\"lake\","
		"\"argv_bytes\":9,\"live_ns\":5,\"traceparent\":\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\"}");
	char line[400], name[CONTROL_NAME_MOST + 2], why[CONTROL_WHY_SIZE];

	(void)state;
	assert_int_equal(r.what, CONTROL_RUN_BEGIN);
	assert_int_equal(r.pid, 7);
	assert_int_equal(json_array_size(r.argv), 2);
	assert_string_equal(r.run_name, "n");
	assert_string_equal(r.name, "run_begin");
	assert_int_equal(r.argv_bytes, 9);
	assert_int_equal(r.live_ns, 5);
	control_request_clear(&r);
	r = parsed("{\"request\":\"audit_publish\",\"run\":\"r\",\"entries\":8,\"head\":\""
		   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}");
	assert_int_equal(r.what, CONTROL_AUDIT_PUBLISH);
	assert_int_equal(r.entries, 8);
	assert_true(r.any && strlen(r.head) == 64);
	control_request_clear(&r);
	r = parsed("{\"request\":\"lake_copy\",\"run\":\"last\",\"since_ns\":8}");
	assert_int_equal(r.what, CONTROL_LAKE_COPY);
	assert_true(r.any);
	assert_string_equal(r.run, "last");
	assert_int_equal(r.since_ns, 8);
	control_request_clear(&r);
	r = parsed("{\"request\":\"run_resume\",\"run\":\"id\",\"pid\":7}");
	assert_int_equal(r.what, CONTROL_RUN_RESUME);
	assert_string_equal(r.run, "id");
	assert_int_equal(r.live_ns, 0);
	control_request_clear(&r);
	r = parsed("{\"request\":\"run_end\",\"run\":\"id\",\"status\":0,\"cpu_ns\":0}");
	assert_int_equal(r.what, CONTROL_RUN_END);
	control_request_clear(&r);

	assert_refused("{\"request\":\"audit_publish\",\"run\":\"r\",\"entries\":8,\"head\":\"0123456789ABCDEF\"}",
		       "head: expected a SHA-256 of 64 hexadecimal digits, in lower case, found the string \"0123456789ABCDEF\"");
	assert_refused("{\"request\":\"audit_publish\",\"run\":\"r\",\"entries\":8}", "audit_publish: \"head\" is missing");
	assert_refused("{\"request\":\"run_begin\",\"pid\":7}", "run_begin: \"argv\" is missing");
	assert_refused("{\"request\":\"run_begin\",\"argv\":[\"a\"]}", "run_begin: \"pid\" is missing");
	assert_refused("{\"request\":\"run_begin\",\"pid\":7,\"argv\":[]}",
		       "argv: expected an array of one or more strings, found an array");
	assert_refused("{\"request\":\"run_begin\",\"pid\":7,\"argv\":[\"a\",1]}",
		       "argv: expected an array of one or more strings, found an array");
	assert_refused("{\"request\":\"run_begin\",\"pid\":7,\"argv\":\"a\"}",
		       "argv: expected an array of one or more strings, found the string \"a\"");
	assert_refused(
		"{\"request\":\"run_begin\",\"pid\":7,\"argv\":[\"a\"],\"traceparent\":\"00-0-0-00\"}",
		"traceparent: expected a W3C traceparent such as \"00-<32 hex digits>-<16 hex digits>-01\", found the string \"00-0-0-00\"");
	assert_refused("{\"request\":\"run_begin\",\"pid\":7,\"argv\":[\"a\"],\"id\":\"mine\"}",
		       "run_begin has no key \"id\": did you mean \"pid\"?");
	assert_refused("{\"request\":\"run_end\",\"run\":\"id\",\"status\":65536}",
		       "status: expected a whole number from 0 to 65535, found the integer 65536");
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	snprintf(line, sizeof(line), "{\"request\":\"run_end\",\"run\":\"%s\",\"status\":0}", name);
	assert_int_equal(control_request_parse(line, strlen(line), &r, why), -EINVAL);
	assert_non_null(strstr(why, "run: expected a string of 1 to 255 bytes, found the string"));
}

static void not_a_request(void **state)
{
	char why[CONTROL_WHY_SIZE];
	struct control_request r;

	(void)state;
	assert_refused("[]", "request: expected an object such as { \"request\": \"status\" }, found an array");
	assert_refused(
		"{}",
		"\"request\" is missing: one of status, plugins, details, runs, attach, detach, loglevel, reload, stats, rules, recognize, run_begin, run_resume, run_end, task_begin, version, lake_copy, audit_publish, watch");
	assert_refused("{\"request\":5}", "request: expected a string, found the integer 5");
	assert_refused("{\"request\":\"stauts\"}", "unknown request \"stauts\": did you mean \"status\"?");
	assert_refused(
		"{\"request\":\"reboot everything\"}",
		"unknown request \"reboot everything\": known are status, plugins, details, runs, attach, detach, loglevel, reload, stats, rules, recognize, run_begin, run_resume, run_end, task_begin, version, lake_copy, audit_publish, watch");
	/* jansson's words differ between versions; ours are around them */
	assert_int_equal(control_request_parse("status", 6, &r, why), -EINVAL);
	assert_non_null(strstr(why, "not a JSON object: "));
	assert_non_null(strstr(why, "expected such as { \"request\": \"status\" }"));
	assert_int_equal(control_request_parse("", 0, &r, why), -EINVAL);
	assert_int_equal(control_request_parse("{\"request\":\"status\",\"request\":\"plugins\"}", 41, &r, why),
			 -EINVAL);
	assert_int_equal(control_request_parse("{\"request\":\"status\\u0000\"}", 25, &r, why), -EINVAL);
	assert_int_equal(control_request_parse("{\"request\":\"status\"}\0x", 22, &r, why), -EINVAL);
}

static void wrong_keys(void **state)
{
	(void)state;
	assert_refused("{\"request\":\"reload\",\"check\":1}", "check: expected true or false, found the integer 1");
	assert_refused("{\"request\":\"reload\",\"file\":\"/x\"}", "reload has no key \"file\"");
	assert_refused("{\"request\":\"stats\",\"check\":true}", "stats has no key \"check\"");
	assert_refused("{\"request\":\"status\",\"detail\":\"x\"}", "status has no key \"detail\"");
	assert_refused("{\"request\":\"attach\",\"detial\":\"x\"}",
		       "attach has no key \"detial\": did you mean \"detail\"?");
	assert_refused("{\"request\":\"attach\"}", "attach: \"detail\" is missing");
	assert_refused("{\"request\":\"attach\",\"detail\":\"\"}",
		       "detail: expected a string that is not empty, found the string \"\"");
	assert_refused("{\"request\":\"attach\",\"detail\":null}",
		       "detail: expected a string that is not empty, found null");
	assert_refused("{\"request\":\"attach\",\"detail\":\"x\",\"for_ns\":-1}",
		       "for_ns: expected a whole number from 0 to 86400000000000, found the integer -1");
	assert_refused("{\"request\":\"attach\",\"detail\":\"x\",\"for_ns\":86400000000001}",
		       "for_ns: expected a whole number from 0 to 86400000000000, found the integer 86400000000001");
	assert_refused("{\"request\":\"attach\",\"detail\":\"x\",\"for_ns\":\"5s\"}",
		       "for_ns: expected a whole number from 0 to 86400000000000, found the string \"5s\"");
	assert_refused("{\"request\":\"attach\",\"detail\":\"x\",\"pid\":0}",
		       "pid: expected a whole number from 1 to 2147483647, found the integer 0");
	assert_refused("{\"request\":\"attach\",\"detail\":\"x\",\"scope\":\"group\"}",
		       "scope: expected \"host\", \"run\", \"cgroup\" or \"pid\", found the string \"group\"");
	assert_refused("{\"request\":\"detach\",\"id\":0}",
		       "id: expected a whole number from 1 to 9223372036854775807, found the integer 0");
	assert_refused("{\"request\":\"detach\"}", "detach: \"id\" is missing");
	assert_refused(
		"{\"request\":\"loglevel\",\"level\":\"loud\"}",
		"level: expected \"error\", \"warning\", \"notice\", \"info\" or \"debug\", found the string \"loud\"");
}

static void wrong_scope(void **state)
{
	(void)state;
	assert_refused("{\"request\":\"attach\",\"detail\":\"x\",\"scope\":\"run\"}",
		       "the scope is \"run\": \"run\" is missing: which one is it?");
	assert_refused("{\"request\":\"attach\",\"detail\":\"x\",\"scope\":\"host\",\"pid\":5}",
		       "the scope is \"host\", so \"pid\" has no place there: give one of run, cgroup, pid");
	assert_refused("{\"request\":\"attach\",\"detail\":\"x\",\"run\":\"r\",\"pid\":5}",
		       "the scope is \"run\", so \"pid\" has no place there: give one of run, cgroup, pid");
}

static void names(void **state)
{
	(void)state;
	for (int level = SKEP_LOG_ERROR; level <= SKEP_LOG_DEBUG; level++)
		assert_int_equal(control_level(control_level_name(level)), level);
	assert_null(control_level_name(0));
	assert_int_equal(control_level("Debug"), 0);
	assert_string_equal(control_scope_name(SKEP_SCOPE_GROUP), "run");
	assert_string_equal(control_scope_name((enum skep_scope)17), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(simple),      cmocka_unit_test(attach),        cmocka_unit_test(reload),
		cmocka_unit_test(runs),        cmocka_unit_test(not_a_request), cmocka_unit_test(wrong_keys),
		cmocka_unit_test(wrong_scope), cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
