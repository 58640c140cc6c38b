/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_reload_text.c - the output of skep reload and skep stats, letter by letter, and that Prometheus
 * readers accept the text for them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/reload.h"
#include "cli/rules.h"
#include "cli/stats.h"

typedef int (*print_fn)(const json_t *, FILE *, const struct paint_style *);

static const struct paint_style plain = { .width = 80, .colour = PAINT_NEVER, .unicode = PAINT_NEVER };

static json_t *parsed(const char *answer)
{
	json_error_t error;
	json_t *o = json_loads(answer, 0, &error);

	if (!o)
		fail_msg("%d: %s", error.position, error.text);
	return o;
}

static char *printed(print_fn print, const char *answer)
{
	json_t *o = parsed(answer);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(print(o, out, &plain), 0);
	fclose(out);
	json_decref(o);
	return text;
}

static void assert_printed(print_fn print, const char *answer, const char *expected)
{
	char *text = printed(print, answer);

	assert_string_equal(text, expected);
	free(text);
}

#define CHANGES \
	"\"changes\":[{\"change\":\"changed\",\"kind\":\"setting\",\"name\":\"interval\",\"words\":\"from 5s to 1s\"}," \
	"{\"change\":\"added\",\"kind\":\"sink\",\"name\":\"a\\u001b\",\"words\":\"\"}],\"unchanged\":3,\"took_ns\":12000000}"

static void reloaded(void **state)
{
	(void)state;
	assert_printed(
		reload_print,
		"{\"ok\":true,\"check\":false,\"errors\":[],\"warnings\":[{\"file\":null,\"line\":null,\"column\":null,\"text\":\"late\"}]," CHANGES,
		"warning: late\n"
		"setting interval: changed, from 5s to 1s\n"
		"sink a\\x1b: added\n"
		"3 of its plugins were not touched; done in 12.0 ms\n");
	assert_printed(reload_print, "{\"ok\":true,\"check\":true,\"errors\":[],\"warnings\":[]," CHANGES,
		       "setting interval: would change, from 5s to 1s\n"
		       "sink a\\x1b: would be added\n"
		       "3 of its plugins would not be touched; nothing has changed\n");
	assert_printed(reload_print, "{}", "0 of its plugins were not touched; done in 0\n");
}

static void in_status(void **state)
{
	json_t *o = parsed(
		"{\"ok\":2,\"failed\":1,\"last\":{\"ok\":false,\"time\":\"2026-11-21T07:39:17.5Z\",\"by\":\"SIGHUP\","
		"\"errors\":[{\"file\":\"f\",\"line\":3,\"column\":5,\"text\":\"no such\",\"shown\":\"a = b\\n    ^\"},{\"file\":\"f\",\"line\":4,\"column\":null,\"text\":\"two\"}],"
		"\"warnings\":[]}}");
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct paint p;

	(void)state;
	assert_non_null(out);
	paint_init(&p, out, &plain);
	reload_status_print(o, &p);
	reload_status_print(json_object_get(o, "nothing"), &p);
	fclose(out);
	assert_string_equal(
		text,
		"reloads    2 succeeded, 1 failed; the last at 2026-11-21T07:39:17 by SIGHUP: failed, the running configuration stays in use\n"
		"f:3:5: error: no such\n"
		"a = b\n"
		"    ^\n"
		"f:4: error: two\n");
	free(text);
	json_decref(o);
}

#define RULES \
	"\"generation\":3,\"default\":\"include\",\"kernel\":null,\"rules\":[" \
	"{\"id\":\"no-true\",\"file\":\"/etc/skep/filters.d/10.json\",\"line\":4,\"verdict\":\"exclude\",\"sample\":0,\"inherit\":true," \
	"\"when\":\"comm = 'true'\",\"why\":\"nothing to see\",\"hits_user\":1,\"hits_kernel\":1200,\"last\":\"2026-11-21T07:39:17.5Z\"," \
	"\"ended\":1201,\"ended_cpu_ns\":5000000000,\"cost_ns\":1530,\"ended_shared\":false,\"in_kernel\":true}," \
	"{\"id\":\"some\",\"file\":null,\"line\":0,\"verdict\":\"sample\",\"sample\":10,\"inherit\":false,\"when\":null,\"why\":null," \
	"\"hits_user\":0,\"hits_kernel\":0,\"last\":null,\"ended\":0,\"ended_cpu_ns\":0,\"cost_ns\":null,\"ended_shared\":false,\"in_kernel\":false}]," \
	"\"otherwise\":{\"hits_user\":7,\"hits_kernel\":90,\"last\":\"2026-11-21T07:39:18.5Z\",\"ended\":0,\"in_kernel\":true}," \
	"\"judged\":{\"user\":8,\"kernel\":1290,\"asked\":2,\"answers\":9,\"answers_failed\":0,\"busy_ns\":16000}"

static void rules(void **state)
{
	(void)state;
	assert_printed(
		rules_print, "{\"ok\":true," RULES "}",
		"generation 3, 2 rules, otherwise include; 1,290 verdicts by the kernel, 8 by skepd (2.00 us each)\n"
		"\n"
		"rule       where      verdict   by      kernel  user      last          ended     cost  \n"
		"no-true    10.json:4  exclude+  kernel   1,200     1  07:39:17  1,201, 5.00 s  1.53 us  nothi...\n"
		"some                  1 in 10   skepd        0     0         -              -        -  always\n"
		"otherwise             include               90     7  07:39:18              -        -  \n");
	assert_printed(rules_print, "{\"kernel\":\"no privilege\"}",
		       "generation 0, 0 rules, otherwise ; 0 verdicts by the kernel, 0 by skepd\n"
		       "decided by skepd only: no privilege\n"
		       "\n"
		       "rule  where  verdict  by  kernel  user  last  ended  cost  \n");
}

static const char stats[] =
	"{\"ok\":true,\"version\":\"1.2\",\"uptime_ns\":100000000000,\"fds\":40,\"processes\":7,"
	"\"cost\":{\"cpu_ns\":1500000000,\"rss_bytes\":10485760,\"rss_peak_bytes\":20971520},"
	"\"loop\":{\"lag_ns\":1000000,\"lag_worst_ns\":20000000},"
	"\"instances\":[{\"name\":\"proc\",\"plugin\":\"proc\",\"kind\":\"probe\",\"state\":\"running\",\"up\":true,\"busy_ns\":2000000,"
	"\"worst_ns\":1000000,\"overruns\":1,\"retries\":0,\"counters\":{\"a \\\"b\\\\\":{\"value\":3,\"help\":\"\"}},"
	"\"lost\":{\"kernel\":2,\"queue\":0,\"spool\":0,\"sink\":0},\"queue\":null},"
	"{\"name\":\"lake\",\"plugin\":\"lake\",\"kind\":\"sink\",\"state\":\"failed\",\"up\":false,\"busy_ns\":0,\"worst_ns\":0,\"overruns\":0,\"retries\":2,"
	"\"counters\":{},\"lost\":{\"kernel\":0,\"queue\":0,\"spool\":0,\"sink\":0},\"queue\":{\"batches\":4,\"bytes\":4096,\"in_flight\":1,\"retries\":9}}],"
	"\"streams\":[{\"stream\":\"run\",\"sink\":\"lake\",\"seen\":10,\"delivered\":6,\"filtered\":1,"
	"\"lost\":{\"kernel\":0,\"queue\":2,\"spool\":0,\"sink\":0},\"pending\":1}],"
	"\"lost\":{\"kernel\":2,\"queue\":2,\"spool\":0,\"sink\":0},\"self\":{\"records\":50,\"queue_bytes\":4096},"
	"\"reload\":{\"ok\":2,\"failed\":1,\"last\":{\"ok\":false}},\"rules\":{" RULES
	"},\"clients\":{\"connected\":1,\"served\":3,\"refused\":0,\"dropped\":0}}";

static void as_text(void **state)
{
	(void)state;
	assert_printed(stats_print, stats,
		       "up         1m40s\n"
		       "cpu        1.50 s\n"
		       "memory     10.0 MiB (peak 20.0 MiB)\n"
		       "files      40 open\n"
		       "loop       1.00 ms late, 20.0 ms at most\n"
		       "processes  7 live\n"
		       "reloads    2 succeeded, 1 failed\n"
		       "\n"
		       "plugin  kind   state       busy    worst  overruns  lost    queued  in flight  put off\n"
		       "proc    probe  running  2.00 ms  1.00 ms         1     2                              \n"
		       "lake    sink   failed         0        0         0     0  4.00 KiB          1        9\n"
		       "\n"
		       "stream  sink  seen  delivered  filtered  lost  pending\n"
		       "run     lake    10          6         1     2        1\n");
}

static void assert_line(const char *text, const char *line)
{
	char *whole;

	assert_true(asprintf(&whole, "\n%s\n", line) > 0);
	if (!strstr(text, whole))
		fail_msg("no line \"%s\" in:\n%s", line, text);
	free(whole);
}

/* Every family occurs once, with its help and type before its samples; every line ends. */
static void assert_well_formed(char *text)
{
	const char *families[128];
	size_t n = 0;
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		size_t len;

		if (strncmp(line, "# HELP ", 7) == 0) {
			for (size_t i = 0; i < n; i++)
				assert_false(strncmp(families[i], line + 7, strcspn(line + 7, " ")) == 0 &&
					     families[i][strcspn(line + 7, " ")] == ' ');
			assert_true(n < 128);
			families[n++] = line + 7;
			continue;
		}
		assert_true(n > 0);
		len = strcspn(families[n - 1], " ");
		if (strncmp(line, "# TYPE ", 7) == 0) {
			assert_memory_equal(line + 7, families[n - 1], len);
			continue;
		}
		assert_memory_equal(line, families[n - 1], len);
		assert_true(line[len] == ' ' || line[len] == '{');
		assert_non_null(strrchr(line, ' '));
		assert_true(strspn(strrchr(line, ' ') + 1, "0123456789.") == strlen(strrchr(line, ' ') + 1));
	}
	assert_true(n > 30);
}

static void for_prometheus(void **state)
{
	char *text = printed(stats_prometheus, stats);

	(void)state;
	assert_line(text, "skep_build_info{version=\"1.2\"} 1");
	assert_line(text, "skep_cpu_seconds_total 1.500000000");
	assert_line(text, "skep_loop_lag_worst_seconds 0.020000000");
	assert_line(text, "skep_plugin_up{instance_name=\"lake\",plugin=\"lake\",kind=\"sink\"} 0");
	assert_line(
		text,
		"skep_plugin_busy_seconds_total{instance_name=\"proc\",plugin=\"proc\",kind=\"probe\"} 0.002000000");
	assert_line(
		text,
		"skep_plugin_counter{instance_name=\"proc\",plugin=\"proc\",kind=\"probe\",counter=\"a \\\"b\\\\\"} 3");
	assert_line(text, "skep_records_seen_total{stream=\"run\",sink=\"lake\"} 10");
	assert_line(text, "skep_records_lost_total{where=\"queue\",stream=\"run\",sink=\"lake\"} 2");
	assert_line(text, "skep_lost_total{where=\"kernel\"} 2");
	assert_line(text, "skep_sink_queue_bytes{sink=\"lake\"} 4096");
	assert_line(text, "skep_reloads_total{result=\"failed\"} 1");
	assert_line(text, "skep_reload_last_ok 0");
	assert_line(text, "skep_rules_generation 3");
	assert_line(text, "skep_rule_hits_total{rule=\"no-true\",by=\"kernel\"} 1200");
	assert_line(text, "skep_rule_hits_total{rule=\"\",by=\"user\"} 7");
	assert_line(text, "skep_rule_ended_total{rule=\"no-true\"} 1201");
	assert_int_equal(text[strlen(text) - 1], '\n');
	assert_well_formed(text);
	free(text);
	/* a malformed answer prints nothing */
	text = printed(stats_prometheus, "{\"instances\":5,\"streams\":{},\"cost\":[]}");
	assert_well_formed(text);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reloaded),
		cmocka_unit_test(in_status),
		cmocka_unit_test(rules),
		cmocka_unit_test(as_text),
		cmocka_unit_test(for_prometheus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
