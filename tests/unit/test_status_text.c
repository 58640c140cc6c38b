/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_status_text.c - answers of a daemon as text: the whole text, letter by letter, and the text of
 * malformed answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/status.h"

typedef int (*print_fn)(const json_t *, FILE *, const struct paint_style *);

static void assert_printed(print_fn print, const char *answer, const char *expected)
{
	static const struct paint_style style = { .width = 80, .colour = PAINT_NEVER, .unicode = PAINT_NEVER };
	json_error_t error;
	json_t *o = json_loads(answer, 0, &error);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!o)
		fail_msg("%d: %s", error.position, error.text);
	assert_non_null(out);
	assert_int_equal(print(o, out, &style), 0);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
	json_decref(o);
}

static const char status[] =
	"{\"ok\":true,\"version\":\"1.2\",\"pid\":77,\"host\":\"node\\u001b1\",\"config\":\"/etc/skep/skepd.conf\",\"uptime_ns\":100000000000,"
	"\"interval_ns\":5000000000,\"loglevel\":\"notice\",\"processes\":1234,"
	"\"cost\":{\"cpu_ns\":1000000000,\"rss_bytes\":10485760,\"rss_peak_bytes\":20971520},"
	"\"self\":{\"records\":5000,\"late\":2,\"clamped\":0,\"processes_lost\":1},"
	"\"lost\":{\"kernel\":3,\"queue\":0,\"spool\":0,\"sink\":1000},"
	"\"instances\":[{\"name\":\"proc\",\"kind\":\"probe\",\"state\":\"running\",\"reason\":null},"
	"{\"name\":\"gpu\",\"kind\":\"probe\",\"state\":\"failed\",\"reason\":\"no NVML\"},"
	"{\"name\":\"lake\",\"kind\":\"sink\",\"state\":\"running\",\"reason\":null,\"store\":\"7 of 10\",\"delivery\":{\"lag_records\":0}},"
	"{\"name\":\"hq\",\"kind\":\"sink\",\"state\":\"running\",\"reason\":null,\"delivery\":{\"lag_records\":5,\"why\":\"\"}}],"
	"\"streams\":[{\"stream\":\"process.exit\",\"sink\":\"lake\",\"seen\":10,\"delivered\":6,\"filtered\":0,"
	"\"lost\":{\"kernel\":1,\"queue\":0,\"spool\":0,\"sink\":2},\"pending\":1}],"
	"\"ledger\":{\"interval_ns\":5000000000,\"lines\":["
	"{\"account\":\"cpu\",\"item\":\"capacity\",\"kind\":\"reference\",\"amount\":20000000000},"
	"{\"account\":\"cpu\",\"item\":\"idle\",\"kind\":\"part\",\"amount\":15000000000},"
	"{\"account\":\"cpu\",\"item\":\"unattributed\",\"kind\":\"unattributed\",\"amount\":-1000000},"
	"{\"account\":\"net.rx\",\"item\":\"interfaces\",\"kind\":\"reference\",\"amount\":0}]},"
	"\"runs\":[{\"id\":\"r1\",\"name\":\"make\",\"start\":\"2026-11-21T07:39:17.5Z\",\"processes\":3}],"
	"\"attached\":[{\"id\":2,\"detail\":\"runqlat\",\"instance\":\"sched\",\"scope\":\"run r1\",\"left_ns\":null}]}";

static void whole_status(void **state)
{
	(void)state;
	assert_printed(
		status_print, status,
		"skepd 1.2 on node\\x1b1, pid 77, up 1m40s\n"
		"config     /etc/skep/skepd.conf, interval 5.00 s, messages from notice on\n"
		"cost       1.00 s CPU (1.0 % of one core), 10.0 MiB memory (peak 20.0 MiB)\n"
		"processes  1,234 live, 5,000 records received, 1 ended without final figures, 2 reported too late or twice\n"
		"lost       1,003 records (3 kernel, 1,000 sink)\n"
		"\n"
		"plugin  kind   state    \n"
		"proc    probe  running  \n"
		"gpu     probe  failed   no NVML\n"
		"lake    sink   running  7 of 10\n"
		"hq      sink   running  5 records behind, 0, the oldest 0\n"
		"\n"
		"stream        sink  seen  delivered  filtered  lost  pending\n"
		"process.exit  lake    10          6         0     3        1\n"
		"\n"
		"ledger of the last 5.00 s\n"
		"account  item            amount  share  \n"
		"cpu      capacity        20.0 s  100 %  the whole\n"
		"         idle            15.0 s   75 %  \n"
		"         unattributed  -1.00 ms         \n"
		"\n"
		"live runs\n"
		"run  since                procs  name\n"
		"r1   2026-11-21T07:39:17      3  make\n"
		"\n"
		"attached\n"
		"id  detail   plugin  of        left\n"
		" 2  runqlat  sched   run r1  no end\n");
}

static void strange_answers(void **state)
{
	(void)state;
	assert_printed(status_print, "{\"lost\":5,\"instances\":{},\"streams\":[1,null],\"runs\":\"x\",\"ledger\":[]}",
		       "skepd  on , pid 0, up 0\n"
		       "config     , interval 0, messages from  on\n"
		       "cost       0 CPU, 0 memory (peak 0)\n"
		       "processes  0 live, 0 records received\n"
		       "lost       nothing\n"
		       "\n"
		       "plugin  kind  state  \n"
		       "\n"
		       "stream  sink  seen  delivered  filtered  lost  pending\n"
		       "?       ?        0          0         0     0        0\n"
		       "?       ?        0          0         0     0        0\n");
	assert_printed(plugins_print, "{}", "plugin  kind  version  state  signals  busy  worst  overruns  \n");
	assert_printed(plugin_print, "{}", ":   , ABI 0.0, \n\nbusy 0, worst callback 0 (budget 0, 0 overruns)\n");
}

static const char plugin[] =
	"{\"name\":\"sched\",\"plugin\":\"sched\",\"kind\":\"probe\",\"version\":\"0.1\",\"state\":\"running\",\"reason\":null,\"path\":\"/p/sched.so\","
	"\"abi_major\":1,\"abi_minor\":1,\"busy_ns\":2000000,\"worst_ns\":1500,\"budget_ns\":5000000,\"overruns\":0,"
	"\"signals\":[{\"name\":\"sched.states\",\"state\":\"ok\",\"how\":\"iter/task\",\"why\":null},"
	"{\"name\":\"psi\",\"state\":\"missing\",\"how\":null,\"why\":\"booted with psi=0, which is what keeps the pressure from being "
	"counted at all on this machine\"},"
	"{\"name\":\"runqlat\",\"state\":\"off\",\"how\":\"tp_btf/sched_switch\",\"why\":\"on demand\"}],"
	"\"details\":[{\"name\":\"runqlat\",\"help\":\"waits for a CPU\",\"scopes\":[\"host\",\"pid\"]}],"
	"\"counters\":{\"missed\":{\"value\":12345,\"help\":\"programs skipped\"}}}";

static void whole_plugin(void **state)
{
	char list[2048];

	(void)state;
	assert_printed(plugin_print, plugin,
		       "sched: probe sched 0.1, ABI 1.1, running\n"
		       "/p/sched.so\n"
		       "busy 2.00 ms, worst callback 1.50 us (budget 5.00 ms, 0 overruns)\n"
		       "\n"
		       "signals\n"
		       "  ok  sched.states  iter/task\n"
		       "  x   psi           missing: booted with psi=0, which is what keeps the pressure\n"
		       "                    from being counted at all on this machine\n"
		       "  -   runqlat       off: tp_btf/sched_switch; on demand\n"
		       "\n"
		       "details\n"
		       "  runqlat  waits for a CPU (host, pid)\n"
		       "\n"
		       "counters\n"
		       "  missed  12,345  programs skipped\n");
	snprintf(list, sizeof(list), "{\"plugins\":[%s]}", plugin);
	assert_printed(plugins_print, list,
		       "plugin  kind   version  state    signals     busy    worst  overruns  \n"
		       "sched   probe  0.1      running  1 of 3   2.00 ms  1.50 us         0  \n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_status),
		cmocka_unit_test(strange_answers),
		cmocka_unit_test(whole_plugin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
