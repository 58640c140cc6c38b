/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_reason.c - every way in which a process ends, in words.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/report/reason.h"
#include "tests/unit/reports.h"

static struct reports *r;
static struct lake_process *p;

static int setup(void **state)
{
	(void)state;
	r = reports_new("test", "test", 1);
	p = reports_add(r, 0, "tool", "tool -x", 0, 100, 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	r = reports_free(r);
	return 0;
}

static void check(const char *text, const char *brief, bool failed)
{
	char *got = reason_text(p, true), *got_brief = reason_short(p), *advice = reason_advice(p, true);

	assert_string_equal(got, text);
	assert_string_equal(got_brief, brief);
	assert_int_equal(reason_failed(p), failed);
	assert_non_null(advice);
	assert_true(strlen(advice) > 20);
	free(got);
	free(got_brief);
	free(advice);
}

static void exits(void **state)
{
	(void)state;
	check("exit 0", "0", false);
	reports_kind(p)->exit_code = 2;
	check("exit 2", "exit 2", true);
	/* 126, 127 and 128 + n mean a shell's convention only below a shell */
	reports_kind(p)->exit_code = 127;
	check("exit 127", "exit 127", true);
	reports_kind(p)->exit_code = 137;
	check("exit 137", "exit 137", true);
	reports_kind(p)->exe = "/bin/bash";
	check("exit 137 (128 + SIGKILL)", "exit 137", true);
	reports_kind(p)->exit_code = 127;
	check("exit 127 (command not found)", "exit 127", true);
	reports_kind(p)->exit_code = 126;
	check("exit 126 (found, but cannot be executed)", "exit 126", true);
	reports_kind(p)->exit_code = 128;
	check("exit 128", "exit 128", true);
	reports_kind(p)->exit_code = 255;
	check("exit 255", "exit 255", true);
}

static void timed_out(void **state)
{
	static const char *const argvs[][7] = {
		{ "timeout", "30m", "bwa", "mem", NULL },
		{ "timeout", "-k", "5", "--signal=KILL", "--foreground", "30m", NULL },
		{ "/usr/bin/timeout", "-s", "INT", "-vp", "--", "30m", NULL },
	};
	static const char *const cut[] = { "timeout", "-k", NULL };

	(void)state;
	reports_kind(p)->exit_code = 124;
	check("exit 124", "exit 124", true); /* another program's own status */
	reports_kind(p)->exe = "/usr/bin/timeout";
	reports_kind(p)->wrapper = true;
	for (size_t i = 0; i < sizeof(argvs) / sizeof(argvs[0]); i++) {
		p->argv = argvs[i];
		check("exit 124: timed out (timeout 30m)", "exit 124", true);
	}
	p->argv = cut;
	check("exit 124: timed out", "exit 124", true);
	p->argv = NULL;
	check("exit 124: timed out", "exit 124", true);
	reports_kind(p)->exe = "/bin/busybox";
	p->argv = argvs[0];
	check("exit 124: timed out (timeout 30m)", "exit 124", true);
	reports_kind(p)->exe = "/usr/bin/timeout";
	reports_kind(p)->exit_code = 125;
	check("exit 125 (timeout or its command failed)", "exit 125", true);
	reports_kind(p)->exit_code = 126;
	check("exit 126 (found, but cannot be executed)", "exit 126", true);
	reports_kind(p)->exit_code = 127;
	check("exit 127 (command not found)", "exit 127", true);
	reports_kind(p)->exit_code = 137;
	check("exit 137 (128 + SIGKILL)", "exit 137", true);
}

static void killed(void **state)
{
	(void)state;
	reports_kind(p)->exit_code = -1;
	reports_kind(p)->signal = SIGSEGV;
	check("killed by SIGSEGV", "SIGSEGV", true);
	reports_kind(p)->core_dumped = true;
	check("killed by SIGSEGV (core dumped)", "SIGSEGV core", true);
	reports_kind(p)->signal = SIGABRT;
	check("killed by SIGABRT (aborted itself, core dumped)", "SIGABRT core", true);
	reports_kind(p)->core_dumped = false;
	reports_kind(p)->signal = SIGINT;
	check("killed by SIGINT (interrupted)", "SIGINT", true);
	reports_kind(p)->signal = SIGKILL;
	check("killed by SIGKILL", "SIGKILL", true);
	reports_kind(p)->signal = 42;
	check("killed by signal 42", "signal 42", true);
	reports_kind(p)->signal = UINT32_MAX;
	check("killed by signal 4294967295", "signal 4294967295", true);
}

static void out_of_memory(void **state)
{
	(void)state;
	reports_kind(p)->exit_code = -1;
	reports_kind(p)->signal = SIGKILL;
	reports_kind(p)->oom_killed = true;
	check("killed by SIGKILL: the host ran out of memory", "OOM", true);
	reports_kind(p)->oom_cgroup = "/batch/job\n7";
	reports_kind(p)->oom_limit_bytes = UINT64_C(1) << 30;
	reports_kind(p)->oom_peak_bytes = UINT64_C(1) << 30;
	check("killed by SIGKILL: out of memory in cgroup /batch/job\\n7, limit 1.00 GiB, peak 1.00 GiB", "OOM", true);
	reports_kind(p)->oom_peak_bytes = 0;
	reports_kind(p)->oom_usage_bytes = UINT64_C(1023) << 20;
	check("killed by SIGKILL: out of memory in cgroup /batch/job\\n7, limit 1.00 GiB, in use 1.00 GiB", "OOM",
	      true);
	reports_kind(p)->oom_usage_bytes = 0;
	check("killed by SIGKILL: out of memory in cgroup /batch/job\\n7, limit 1.00 GiB", "OOM", true);
}

static void not_ended(void **state)
{
	(void)state;
	reports_kind(p)->exit_code = -1;
	reports_kind(p)->state = "running";
	check("still running", "running", false);
	reports_kind(p)->state = "replaced";
	check("replaced by its next image", "exec", false);
	reports_kind(p)->state = "lost";
	check("its end was not seen", "lost", false);
	reports_kind(p)->state = "zombie";
	check("zombie", "zombie", false);
	reports_kind(p)->exit_code = 3; /* its status is known: its parent has only not waited for it */
	check("exit 3", "zombie", true);
}

static void check_run(const char *want)
{
	char *text = reason_run(&r->report.run);

	assert_string_equal(text, want);
	free(text);
}

static void runs(void **state)
{
	(void)state;
	check_run("still running");
	reports_finish(r, 100, 0, 0);
	check_run("succeeded");
	r->report.run.exit_code = 2;
	check_run("failed with exit 2");
	r->report.run.exit_code = -1;
	r->report.run.signal = SIGINT;
	check_run("killed by SIGINT (interrupted)");
	r->report.run.signal = 0;
	check_run("ended, its result is unknown");
}

static void names(void **state)
{
	(void)state;
	assert_string_equal(reason_name(p), "tool");
	reports_kind(p)->wrapper = true; /* its record has the tool of the wrapped command */
	reports_kind(p)->exe = "/usr/bin/nice";
	assert_string_equal(reason_name(p), "nice");
	reports_kind(p)->exe = "";
	reports_kind(p)->comm = "nice";
	assert_string_equal(reason_name(p), "nice");
	reports_kind(p)->comm = "";
	reports_kind(p)->tool = "";
	assert_string_equal(reason_name(p), "(unknown)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(exits, setup, teardown),
		cmocka_unit_test_setup_teardown(timed_out, setup, teardown),
		cmocka_unit_test_setup_teardown(killed, setup, teardown),
		cmocka_unit_test_setup_teardown(out_of_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(not_ended, setup, teardown),
		cmocka_unit_test_setup_teardown(runs, setup, teardown),
		cmocka_unit_test_setup_teardown(names, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
