/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/sdk/test_mock.c - the mock host finds each defect, and none in a sound plugin; options, time, fds, work and
 * records are as a plugin's own test expects.
 */
#include <errno.h>
#include <locale.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <skep/mock.h>

#include <cmocka.h>

static void begin(struct skep_mock *m, const char *what)
{
	skep_mock_init(m, skep_plugin_entry(NULL));
	m->quiet = true;
	assert_int_equal(skep_mock_option(m, "do", what), 0);
}

static void run(struct skep_mock *m, const char *what)
{
	begin(m, what);
	if (skep_mock_start(m) == 0) {
		skep_mock_sample(m);
		skep_mock_poll(m, 0);
		skep_mock_advance(m, 100000000);
		skep_mock_settle(m);
	}
	skep_mock_close(m);
}

static const struct {
	const char *what, *expect;
} cases[] = {
	{ "open fails in silence", "open() failed (Input/output error) without saying why" },
	{ "open returns 1", "open() returned 1" },
	{ "umask", "start() changed the process's umask" },
	{ "locale", "start() changed the process's locale" },
	{ "signal", "start() changed the process's signal handlers" },
	{ "directory", "start() changed the process's working directory" },
	{ "fd", "was left open (/dev/null)" },
	{ "timer", "a timer was left running" },
	{ "timer closed twice", "timer_close(): a timer is closed twice" },
	{ "watch", "was left open; close it in stop()" },
	{ "watch closed twice", "watch_close(): a watch is closed twice" },
	{ "fd before its watch", "close the watch before the fd" },
	{ "watch not read", "its fd is still ready: does it read?" },
	{ "thread", "1 thread was left running" },
	{ "emit in a thread", "emit() was called from a thread that is not the loop's" },
	{ "signal without why", "signal(\"a.thing\"): why it is not OK must be said" },
	{ "text at NULL", "field \"defective.text\": 3 bytes at NULL" },
	{ "text cut", "total 2 is less than len 3" },
	{ "list without end", "a list of strings ends in a NUL" },
	{ "bool", "a bool of 7" },
	{ "log", "the host adds it" },
	{ "nobody", "emitted about pid 0" },
	{ "stream", "stream number 1, of which there are 1" },
};

static void test_defects(void **state)
{
	char directory[4096];
	mode_t mask = umask(022);
	struct skep_mock m;

	(void)state;
	assert_non_null(getcwd(directory, sizeof(directory)));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		run(&m, cases[i].what);
		if (m.defects != 1 || !strstr(skep_mock_defect(&m, 0), cases[i].expect))
			fail_msg("%s: %u defects, \"%s\", expected \"%s\"", cases[i].what, m.defects,
				 m.defects ? skep_mock_defect(&m, 0) : "", cases[i].expect);
		assert_null(skep_mock_defect(&m, 1));
		assert_int_equal(skep_mock_end(&m), 1);
		/* undoes the plugin's change */
		umask(022);
		setlocale(LC_ALL, "C");
		signal(SIGUSR2, SIG_DFL);
		assert_int_equal(chdir(directory), 0);
	}
	umask(mask);
}

static void test_none(void **state)
{
	struct skep_mock m;
	const char *how, *why;

	(void)state;
	run(&m, "nothing");
	assert_null(skep_mock_defect(&m, 0));
	assert_int_equal(skep_mock_counter(&m, "things"), 1);
	assert_int_equal(skep_mock_counter(&m, "others"), 0);
	assert_int_equal(skep_mock_signal(&m, "a.thing", &how, &why), SKEP_SIGNAL_OK);
	assert_string_equal(how, "a file");
	assert_int_equal(skep_mock_signal(&m, "another", NULL, NULL), 0);
	assert_int_equal(skep_mock_end(&m), 0);
	/* a plugin that reports why it fails has no defect */
	run(&m, "open fails");
	assert_string_equal(m.why, "as it was told");
	assert_int_equal(skep_mock_end(&m), 0);
}

static void test_records(void **state)
{
	struct skep_mock m;
	const struct skep_mock_record *r;

	(void)state;
	begin(&m, "nothing");
	assert_int_equal(skep_mock_start(&m), 0);
	assert_int_equal(skep_mock_count(&m, "defective"), 0);
	skep_mock_advance(&m, 2 * m.host.interval_ns + 5);
	assert_int_equal(skep_mock_now(&m), 2 * m.host.interval_ns + 5);
	assert_int_equal(skep_mock_count(&m, "defective"), 2);
	r = skep_mock_record(&m, "defective", -1);
	assert_true(r == skep_mock_record(&m, "defective", 1));
	assert_int_equal(skep_mock_u64(r, "defective.n"), 1);
	assert_int_equal(skep_mock_u64(r, "defective.yes"), 0);
	assert_string_equal(skep_mock_str(r, "defective.text"), "");
	assert_int_equal(skep_mock_who(r).pid, 0);
	assert_int_equal(skep_mock_time(r), 1);
	skep_mock_forget(&m);
	assert_int_equal(skep_mock_count(&m, "defective"), 0);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void test_reload(void **state)
{
	struct skep_mock m;

	(void)state;
	begin(&m, "nothing");
	assert_int_equal(skep_mock_start(&m), 0);
	assert_int_equal(skep_mock_option(&m, "number", "3"), 0);
	skep_mock_sample(&m);
	assert_int_equal(skep_mock_u64(skep_mock_record(&m, "defective", -1), "defective.n"), 1); /* not yet */
	assert_int_equal(skep_mock_reload(&m), 0);
	skep_mock_sample(&m);
	assert_int_equal(skep_mock_u64(skep_mock_record(&m, "defective", -1), "defective.n"), 3);
	/* a changed option that is not RELOADABLE: the reload applies nothing */
	assert_int_equal(skep_mock_option(&m, "number", "4"), 0);
	assert_int_equal(skep_mock_option(&m, "do", "timer"), 0);
	assert_int_equal(skep_mock_reload(&m), -ENOTSUP);
	assert_non_null(strstr(m.why, "\"do\" cannot change"));
	skep_mock_sample(&m);
	assert_int_equal(skep_mock_u64(skep_mock_record(&m, "defective", -1), "defective.n"), 3);
	assert_int_equal(skep_mock_end(&m), 0);

	begin(&m, "reload declines");
	assert_int_equal(skep_mock_start(&m), 0);
	assert_int_equal(skep_mock_option(&m, "number", "3"), 0);
	assert_int_equal(skep_mock_reload(&m), -ENOTSUP);
	skep_mock_sample(&m);
	assert_int_equal(skep_mock_u64(skep_mock_record(&m, "defective", -1), "defective.n"), 1);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void test_options(void **state)
{
	struct skep_mock m;

	(void)state;
	skep_mock_init(&m, skep_plugin_entry(NULL));
	assert_int_equal(skep_mock_option(&m, "nubmer", "1"), -EINVAL);
	assert_non_null(strstr(m.why, "no option \"nubmer\""));
	assert_int_equal(skep_mock_option(&m, "number", "10"), -EINVAL);
	assert_int_equal(skep_mock_option(&m, "number", "1x"), -EINVAL);
	assert_int_equal(skep_mock_option(&m, "number", ""), -EINVAL);
	assert_int_equal(skep_mock_option_list(&m, "number", NULL), -EINVAL);
	assert_int_equal(skep_mock_option(&m, "number", "9"), 0);
	assert_int_equal(skep_mock_end(&m), 0); /* the plugin never opened: the mock does not call close() */
}

static void test_orders(void **state)
{
	struct skep_mock m;

	(void)state;
	begin(&m, "nothing");
	m.fail_work = -EAGAIN;
	m.fail_timer = m.fail_watch = -ENOMEM;
	m.fail_counter = true;
	assert_int_equal(skep_mock_start(&m), 0); /* the plugin reads none of them, and closes NULL */
	skep_mock_settle(&m);
	assert_int_equal(skep_mock_counter(&m, "things"), 0);
	assert_int_equal(skep_mock_end(&m), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defects), cmocka_unit_test(test_none),	cmocka_unit_test(test_records),
		cmocka_unit_test(test_reload),	cmocka_unit_test(test_options), cmocka_unit_test(test_orders),
	};

	return cmocka_run_group_tests_name("mock host", tests, NULL, NULL);
}
