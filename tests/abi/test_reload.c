/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/abi/test_reload.c - another configuration for a running collector: which instances a reload touches and in
 * which order, which sink gets which record, and that a failed reload changes nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/log.h"
#include "core/plugin/plugin.h"
#include "core/collect/reload_report.h"
#include "tests/abi/collector_fixture.h"
#include "tests/abi/support.h"

#define LOGGED(name_, more_) \
	"{ \"plugin\": \"reloadable\", \"name\": \"" name_ "\", \"log\": \"%1$s/" name_ "\"" more_ " }"

static struct {
	bool done;
	int err;
	char errors[4096];  /* "file:line: text\n" of each */
	char changes[4096]; /* "how kind name words\n" of each */
	size_t unchanged;
} last;

static int set_up_reload(void **state)
{
	set_up(state);
	memset(&last, 0, sizeof(last));
	support_plugin_copy("reloadable", t.dir);
	script("0 live pid=100 start=0 parent=1 exe=/bin/sh cpu_ns=1ms\n0 sweep_begin\n0 sweep_end complete=1\n");
	return 0;
}

static struct config *parsed(const char *interval, const char *more, const char *probes, const char *sinks)
{
	struct config *config;
	char *fmt, *text;

	assert_true(
		asprintf(
			&fmt,
			"{ \"interval\": \"%s\", \"fold_forks\": false, \"plugin_dirs\": [ \"%%1$s\" ],\n%s\"probes\": [\n%s ],\n\"sinks\": [\n%s ] }",
			interval, more, probes, sinks) > 0);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	assert_true(asprintf(&text, fmt, t.dir) > 0);
#pragma GCC diagnostic pop
	config = config_parse(text, strlen(text), "test", &t.diag);
	if (!config)
		diag_print(&t.diag, stderr);
	assert_non_null(config);
	free(fmt);
	free(text);
	return config;
}

static void on_done(void *arg, int err, struct diag *diag, struct reload_report *report)
{
	size_t n = 0;

	assert_ptr_equal(arg, &last);
	assert_false(last.done);
	last.done = true;
	last.err = err;
	last.errors[0] = last.changes[0] = '\0';
	for (size_t i = 0; i < diag->n; i++)
		n += (size_t)snprintf(last.errors + n, sizeof(last.errors) - n, "%s:%d: %s\n",
				      diag->entries[i].file ? diag->entries[i].file : "", diag->entries[i].line,
				      diag->entries[i].text);
	n = 0;
	for (size_t i = 0; i < report->n; i++)
		n += (size_t)snprintf(last.changes + n, sizeof(last.changes) - n, "%s %s %s %s\n",
				      reload_how_name(report->changes[i].how), report->changes[i].kind,
				      report->changes[i].name, report->changes[i].words);
	last.unchanged = report->unchanged;
}

/* Applies `next` and frees the configuration that is no longer in use. */
static int reload_config(struct config *next, bool check)
{
	last.done = false;
	assert_int_equal(collector_reload(t.collector, next, check, on_done, &last), 0);
	assert_false(last.done); /* never from inside the call */
	support_loop_until(&t.loop, &last.done);
	if (last.err == 0 && !check) {
		config_free(t.config);
		t.config = next;
	} else {
		config_free(next);
	}
	return last.err;
}

static int reload(const char *probes, const char *sinks)
{
	return reload_config(parsed("100ms", "", probes, sinks), false);
}

static void assert_reloaded(const char *probes, const char *sinks)
{
	if (reload(probes, sinks) != 0)
		fail_msg("%d: %s", last.err, last.errors);
}

static void begin_with(const char *probes, const char *sinks)
{
	int err = make(false, probes, sinks);

	if (err == 0)
		err = collector_start(t.collector, &t.diag);
	if (err < 0)
		diag_print(&t.diag, stderr);
	assert_int_equal(err, 0);
}

/* The calls of an instance without their values: "open start reload ". */
static const char *calls(const char *name)
{
	static char words[8192];
	char *path = support_path(t.dir, name), *text, *save = NULL;
	size_t size, n = 0;

	words[0] = '\0';
	if (access(path, F_OK) == 0) {
		text = support_read(path, &size);
		for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
			n += (size_t)snprintf(words + n, sizeof(words) - n, "%.*s ", (int)strcspn(line, " "), line);
		free(text);
	}
	free(path);
	return words;
}

/* Its last line. */
static const char *last_call(const char *name)
{
	static char line[512];
	char *path = support_path(t.dir, name);
	size_t size;
	char *text = support_read(path, &size), *at;

	text[size - 1] = '\0';
	at = strrchr(text, '\n');
	snprintf(line, sizeof(line), "%s", at ? at + 1 : text);
	free(text);
	free(path);
	return line;
}

static void touch(const char *name)
{
	char *path = support_path(t.dir, name);

	support_write(path, "x", 1, 0644);
	free(path);
}

static void away(const char *name)
{
	char *path = support_path(t.dir, name);

	assert_int_equal(unlink(path), 0);
	free(path);
}

static const struct skep_instance *instance(const char *name)
{
	for (const struct skep_instance *inst = collector_instances(t.collector); inst; inst = inst->next)
		if (strcmp(inst->name, name) == 0)
			return inst;
	return NULL;
}

static void assert_says(const char *text, const char *words)
{
	if (!strstr(text, words))
		fail_msg("\"%s\" lacks \"%s\"", text, words);
}

/* ---- who is touched ------------------------------------------------------------------ */

static void unchanged_ones_notice_nothing(void **state)
{
	const struct skep_instance *before;

	(void)state;
	begin_with(LOGGED("a", "") ", " LOGGED("b", ", \"level\": 5"), SINK);
	before = instance("a");
	/* an explicit default and another order are no change */
	assert_reloaded(LOGGED("b", ", \"level\": 5") ", " LOGGED("a", ", \"label\": \"none\", \"size\": 1024"), SINK);
	assert_string_equal(last.changes, "");
	assert_int_equal(last.unchanged, 3);
	assert_ptr_equal(instance("a"), before);
	assert_string_equal(calls("a"), "open start ");
	assert_string_equal(calls("b"), "open start ");
	assert_string_equal(collector_instances(t.collector)->name, "b");
}

static void reloadable_options_are_applied_in_place(void **state)
{
	json_t *all;

	(void)state;
	begin_with(LOGGED("a", ", \"label\": \"x\", \"list\": [ \"one\", \"two\" ]") ", " LOGGED("b", ""), SINK);
	assert_reloaded(
		LOGGED("a", ", \"level\": 7, \"label\": \"a longer text\", \"list\": [ \"three\" ]") ", " LOGGED("b",
														 ""),
		SINK);
	assert_string_equal(last.changes, "applied probe a options: label, list, level\n");
	assert_int_equal(last.unchanged, 2);
	assert_string_equal(calls("a"), "open start reload ");
	assert_string_equal(last_call("a"), "reload level=7 label=a longer text size=1024 list=three,");
	assert_string_equal(calls("b"), "open start ");
	/* and back to the default; texts that are the same both times stay */
	assert_reloaded(LOGGED("a", ", \"label\": \"a longer text\"") ", " LOGGED("b", ""), SINK);
	assert_string_equal(last_call("a"), "reload level=1 label=a longer text size=1024 list=");
	assert_reloaded(LOGGED("a", ", \"label\": \"a longer text\", \"list\": [ \"\", \"z\" ]") ", " LOGGED("b", ""),
			SINK);
	assert_string_equal(calls("a"), "open start reload reload reload ");
	run_for(250);
	stop(0);
	/* its records have its present state */
	all = written("out");
	assert_int_equal(number(record(all, "reloadable.pulse", count(all, "reloadable.pulse") - 1), "level") % 1000,
			 1);
	json_decref(all);
}

static void one_that_declines_is_restarted(void **state)
{
	(void)state;
	begin_with(LOGGED("a", ", \"decline_while\": \"%1$s/decline\"") ", " LOGGED("b", ""), SINK);
	touch("decline");
	assert_reloaded(LOGGED("a", ", \"decline_while\": \"%1$s/decline\", \"level\": 9") ", " LOGGED("b", ""), SINK);
	assert_string_equal(last.changes, "restarted probe a options: level\n");
	assert_string_equal(calls("a"), "open start open start stop close ");
	assert_string_equal(calls("b"), "open start ");
	assert_int_equal(instance("a")->state, INSTANCE_RUNNING);
}

static void others_are_restarted_the_new_one_first(void **state)
{
	(void)state;
	begin_with(LOGGED("a", "") ", " LOGGED("b", ""), SINK);
	assert_reloaded(LOGGED("a", ", \"size\": \"2KiB\", \"level\": 3") ", " LOGGED("b", ""), SINK);
	assert_string_equal(last.changes, "restarted probe a options: level, size\n");
	assert_string_equal(calls("a"), "open start open start stop close ");
	assert_string_equal(last_call("a"), "close level=1 label=none size=1024 list=");
	assert_string_equal(calls("b"), "open start ");
}

static void added_and_removed(void **state)
{
	(void)state;
	begin_with(LOGGED("a", ""), SINK);
	assert_reloaded(LOGGED("b", ", \"level\": 2"), SINK);
	assert_string_equal(last.changes, "added probe b \nremoved probe a \n");
	assert_string_equal(calls("a"), "open start stop close ");
	assert_string_equal(calls("b"), "open start ");
	assert_null(instance("a"));
	run_for(150); /* it is sampled */
	books_balance(10000);
	assert_true(stat_of("reloadable.pulse", "fakesink").seen > 0);
}

/* The same name, another plugin. */
static void another_plugin_of_that_name(void **state)
{
	(void)state;
	begin_with(LOGGED("a", ""), SINK);
	assert_reloaded("{ \"plugin\": \"fake\", \"name\": \"a\", \"script\": \"%1$s/script\" }", SINK);
	assert_string_equal(last.changes, "added probe a \nremoved probe a \n");
	assert_string_equal(instance("a")->plugin->note.name, "fake");
}

static void failed_ones_are_tried_again(void **state)
{
	(void)state;
	touch("bad");
	begin_with(LOGGED("a", ", \"fail_while\": \"%1$s/bad\""), SINK);
	assert_int_equal(instance("a")->state, INSTANCE_FAILED);
	away("bad");
	assert_reloaded(LOGGED("a", ", \"fail_while\": \"%1$s/bad\""), SINK);
	assert_string_equal(last.changes, "retried probe a \n");
	run_for(600);
	assert_int_equal(instance("a")->state, INSTANCE_RUNNING);
}

static void settings(void **state)
{
	(void)state;
	begin_with(LOGGED("a", ""), SINK);
	assert_int_equal(reload_config(parsed("200ms",
					      "\"process_interval\": \"1s\", \"drain\": \"30s\", \"pin_for\": \"5m\", "
					      "\"host\": { \"labels\": { \"site\": \"a\" } }, ",
					      LOGGED("a", ""), SINK),
				       false),
			 0);
	assert_string_equal(
		last.changes,
		"changed setting host.labels \nchanged setting interval from 100ms to 200ms\n"
		"changed setting process_interval from 1m to 1s\n"
		"changed setting pin_for from 10m to 5m: with the next start of skepd\n"
		"changed setting drain from 5s to 30s\n");
	assert_int_equal(instance("a")->host.interval_ns, 200000000);
	assert_string_equal(calls("a"), "open start ");
	run_for(1000);
	books_balance(10000);
	assert_in_range(stat_of("reloadable.pulse", "fakesink").seen, 3, 6);
}

/* ---- a failed reload changes nothing ------------------------------------------------------- */

static void assert_nothing_has_changed(const struct skep_instance *a)
{
	assert_string_equal(last.changes, "");
	assert_ptr_equal(instance("a"), a);
	assert_int_equal(a->state, INSTANCE_RUNNING);
	assert_string_equal(calls("a"), "open start ");
	assert_null(instance("c"));
	assert_int_equal(stat_of("reloadable.pulse", "fakesink").lost[SKEP_LOSS_SINK], 0);
	run_for(150);
	books_balance(10000);
}

static void wrong_configurations(void **state)
{
	const struct skep_instance *a;

	(void)state;
	begin_with(LOGGED("a", "") ", " LOGGED("b", ""), SINK);
	a = instance("a");
	/* all errors at once, each with its line; the valid parts are not applied either */
	assert_int_equal(
		reload(LOGGED("a", ", \"level\": 5") ",\n" LOGGED(
			       "b", ", \"levle\": 5") ",\n{ \"plugin\": \"nosuch\" },\n" LOGGED("c",
												", \"level\": 101"),
		       SINK),
		-EINVAL);
	assert_says(last.errors, "4: probes[1] (b): unknown option \"levle\": did you mean \"level\"?");
	assert_says(last.errors, "5: no plugin \"nosuch\"");
	assert_says(last.errors, "6: probes[3] (c): level: the integer 101 is out of bounds");
	assert_nothing_has_changed(a);
	assert_string_equal(calls("c"), "");

	assert_int_equal(reload_config(parsed("100ms", "\"control\": { \"socket\": \"/nowhere\" },\n",
					      LOGGED("a", ", \"level\": 5"), SINK),
				       false),
			 -ENOTSUP);
	assert_says(last.errors,
		    "2: control.socket cannot change from /run/skep/skepd.sock to /nowhere without a restart");
	assert_nothing_has_changed(a);

	assert_int_equal(reload_config(parsed("100ms", "\"filters\": { \"kernel\": false },\n", LOGGED("a", ""), SINK),
				       false),
			 -ENOTSUP);
	assert_says(last.errors, "2: filters.kernel cannot change from true to false without a restart");
	assert_nothing_has_changed(a);

	assert_int_equal(reload_config(parsed("100ms", "\"tools\": [ \"/no/such/table\" ],\n",
					      LOGGED("a", ", \"level\": 5"), SINK),
				       false),
			 -EINVAL);
	assert_says(last.errors, "/no/such/table");
	assert_nothing_has_changed(a);

	/* a file that could not even be read */
	last.done = false;
	assert_int_equal(collector_reload(t.collector, NULL, false, on_done, &last), 0);
	support_loop_until(&t.loop, &last.done);
	assert_int_equal(last.err, -EINVAL);
	assert_nothing_has_changed(a);
}

static void table(const char *text)
{
	char *path = support_path(t.dir, "table");

	support_write(path, text, strlen(text), 0644);
	free(path);
}

#define TABLES "\"recognizers\": [ \"%1$s/table\" ],\n"
#define MILL(key_, more_)                                                                                     \
	"{ \"recognizers\": [ { \"engine\": \"mill\", \"class\": \"workflow\", \"run\": [ { \"" key_       \
	"\": [\"mill\"] } ],\n\"task\": [ { \"child\": true, \"facts\": [ { \"from\": \"argv.1\", \"as\": " \
	"\"name\" } ] } ]" more_ " } ] }"

/*
 * A table of recognizers that is wrong, or fails a test of its own, leaves the old one in use: for a run that it
 * began, and for one that begins later.
 */
static void a_broken_table(void **state)
{
	static const struct {
		const char *text, *error;
	} broken[] = {
		{ MILL("programms", ""), "recognizers[0].run[0]: unknown key \"programms\": did you mean \"programs\"?" },
		{ MILL("programs", ",\n\"tests\": [ { \"argv\": [\"/bin/mill\"], \"run\": false } ]"),
		  "tests[0]: it begins a run, but should not" },
		{ "{ \"recognizers\": [", "table:1: " },
	};
	struct collector_options options = { .batch_age_ns = 20000000 };
	json_t *all;

	(void)state;
	/* The lines of 1 s come after the reloads. */
	script("0   live  pid=100 start=0 parent=1 exe=/bin/sh\n0 sweep_begin\n0 sweep_end complete=1\n"
	       "1ms fork  pid=200 parent=100\n1ms exec pid=200 parent=100 exe=/bin/mill argv=\"mill\\0\"\n"
	       "1ms fork  pid=201 parent=200\n1ms exec pid=201 parent=200 exe=/bin/sort argv=\"sort\\0before\\0\"\n"
	       "2ms exit  pid=201 code=0\n2ms final pid=201 code=0\n"
	       "1s  fork  pid=202 parent=200\n1s exec pid=202 parent=200 exe=/bin/sort argv=\"sort\\0after\\0\"\n"
	       "1s  exit  pid=202 code=0\n1s final pid=202 code=0\n1s exit pid=200 code=0\n1s final pid=200 code=0\n"
	       "1s  fork  pid=300 parent=100\n1s exec pid=300 parent=100 exe=/bin/mill argv=\"mill\\0\"\n"
	       "1s  fork  pid=301 parent=300\n1s exec pid=301 parent=300 exe=/bin/sort argv=\"sort\\0later\\0\"\n"
	       "1s  exit  pid=301 code=0\n1s final pid=301 code=0\n1s exit pid=300 code=0\n1s final pid=300 code=0\n");
	table(MILL("programs", ""));
	t.config = parsed("100ms", TABLES, PROBE, SINK);
	assert_int_equal(collector_new(&t.loop, t.config, &options, &t.diag, &t.collector), 0);
	assert_int_equal(collector_open(t.collector, &t.diag), 0);
	assert_int_equal(collector_start(t.collector, &t.diag), 0);
	run_for(250);
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		table(broken[i].text);
		assert_int_equal(reload_config(parsed("100ms", TABLES, PROBE, SINK), false), -EINVAL);
		assert_says(last.errors, broken[i].error);
		assert_string_equal(last.changes, "");
	}
	run_for(1000);
	stop(1000000000);
	all = written("out");
	assert_int_equal(count(all, "task"), 3);
	assert_string_equal(string(record(all, "task", 0), "task"), "before");
	assert_string_equal(string(record(all, "task", 1), "task"), "after");
	assert_string_equal(string(record(all, "task", 1), "run"), string(record(all, "task", 0), "run"));
	assert_string_equal(string(record(all, "task", 2), "task"), "later");
	assert_string_not_equal(string(record(all, "task", 2), "run"), string(record(all, "task", 0), "run"));
	assert_string_equal(string(image(all, 300, 1), "run"), string(record(all, "task", 2), "run"));
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(string(record(all, "task", i), "engine"), "mill");
	json_decref(all);
}

/* A copy of the plugin fakesink with another name of the same length. */
static void copy_fakesink(const char *name)
{
	static const char old[] = "fakesink"; /* with its end: other texts begin so, too */
	size_t size;
	char *bytes = support_plugin_bytes(old, &size), *at = bytes, *path;

	while ((at = memmem(at, size - (size_t)(at - bytes), old, sizeof(old))))
		memcpy(at, name, sizeof(old));
	assert_true(asprintf(&path, "%s/%s.so", t.dir, name) > 0);
	support_write(path, bytes, size, 0644);
	free(path);
	free(bytes);
}

/* The same name, another plugin: the spool has one offset for a name, so two sinks cannot share a name. */
static void another_sink_of_that_name(void **state)
{
	const struct config_spool spool = { .path = support_path(t.dir, "spool.db") };
	struct collector_options options = { .batch_age_ns = 20000000, .spool = &spool };
	const struct skep_instance *sink;

	(void)state;
	copy_fakesink("othersnk");
	t.config = parsed("100ms", "", LOGGED("a", ""), SINK);
	assert_int_equal(collector_new(&t.loop, t.config, &options, &t.diag, &t.collector), 0);
	assert_int_equal(collector_open(t.collector, &t.diag), 0);
	assert_int_equal(collector_start(t.collector, &t.diag), 0);
	run_for(150);
	sink = instance("fakesink");
	assert_int_equal(reload(LOGGED("a", ", \"level\": 5"),
				"{ \"name\": \"fakesink\",\n\"plugin\": \"othersnk\", \"path\": \"%1$s/other\" }"),
			 -ENOTSUP);
	assert_string_equal(last.errors, "test:6: sink fakesink cannot change from plugin fakesink to othersnk without a "
					 "restart of skepd, as the spool has one offset for that name: give the new sink "
					 "another name\n");
	assert_ptr_equal(instance("fakesink"), sink);
	assert_nothing_has_changed(instance("a"));
	assert_reloaded(LOGGED("a", ""), "{ \"plugin\": \"othersnk\", \"path\": \"%1$s/other\" }");
	assert_string_equal(last.changes, "added sink othersnk \nremoved sink fakesink \n");
	stop(1000000000);
	t.collector = collector_free(t.collector);
	free((char *)(uintptr_t)spool.path);
}

static void a_required_one_that_does_not_start(void **state)
{
	const struct skep_instance *a;

	(void)state;
	begin_with(LOGGED("a", "") ", " LOGGED("b", ""), SINK);
	a = instance("a");
	touch("bad");
	assert_int_equal(reload(LOGGED("a", ", \"level\": 5") ", " LOGGED("d", "") ", " LOGGED(
					"c", ", \"fail_while\": \"%1$s/bad\", \"required\": true"),
				SINK),
			 -EINVAL);
	assert_says(last.errors, "probe c does not start: ");
	assert_nothing_has_changed(a);
	assert_string_equal(calls("b"), "open start ");
	assert_string_equal(calls("d"), "open start stop close "); /* it had begun already */
	assert_null(instance("d"));

	/* not required: it starts later, and the rest takes place */
	assert_reloaded(LOGGED("a", "") ", " LOGGED("c", ", \"fail_while\": \"%1$s/bad\""), SINK);
	assert_says(last.errors, "going on without it, trying again later");
	assert_int_equal(instance("c")->state, INSTANCE_FAILED);
	assert_null(instance("b"));
	away("bad");
	run_for(1600);
	assert_int_equal(instance("c")->state, INSTANCE_RUNNING);
}

/* A reload does not replace a running plugin by one with invalid options, required or not. */
static void changed_options_that_do_not_work(void **state)
{
	const struct skep_instance *a;

	(void)state;
	begin_with(LOGGED("a", "") ", " LOGGED("b", ""), SINK);
	a = instance("a");
	touch("bad");
	assert_int_equal(reload(LOGGED("a", "") ", " LOGGED("b", ", \"fail_while\": \"%1$s/bad\""), SINK), -EINVAL);
	assert_says(last.errors, "probe b does not start with its new options: ");
	assert_nothing_has_changed(a);
	assert_string_equal(calls("b"), "open start open refused close ");
	assert_int_equal(instance("b")->state, INSTANCE_RUNNING);

	assert_int_equal(reload(LOGGED("a", "") ", " LOGGED("b", ""),
				"{ \"plugin\": \"fakesink\", \"path\": \"%1$s/no/such/folder/out\" }"),
			 -ENOENT);
	assert_says(last.errors, "sink fakesink does not start with its new options: ");
	assert_nothing_has_changed(a);
}

/*
 * A reload replaces life-cycle probes last. When the new one does not start, the old one starts again and all other
 * changes are undone.
 */
static void all_the_way_back(void **state)
{
	(void)state;
	begin_with("{ \"plugin\": \"fake\", \"script\": \"%1$s/script\" }, " LOGGED("a", ", \"label\": \"old\""), SINK);
	touch("bad");
	assert_int_equal(
		reload("{ \"plugin\": \"fake\", \"script\": \"%1$s/script\", \"fail_while\": \"%1$s/bad\" }, " LOGGED(
			       "a", ", \"label\": \"new\""),
		       "{ \"plugin\": \"fakesink\", \"path\": \"%1$s/other\" }"),
		-EBUSY);
	assert_says(last.errors, "probe fake does not start with its new options: ");
	assert_says(last.errors, "starting it with the old ones");
	assert_int_equal(instance("fake")->state, INSTANCE_RUNNING);
	assert_string_equal(calls("a"), "open start reload reload ");
	assert_string_equal(last_call("a"), "reload level=1 label=old size=1024 list=");
	assert_int_equal(instance("fakesink")->state, INSTANCE_RUNNING);
	away("bad");
	run_for(250);
	books_balance(1000);
	stop(1000000000);
	books_balance(0);
	{
		json_t *all = written("out"), *other = written("other");

		assert_true(count(all, "reloadable.pulse") > 1);
		assert_int_equal(json_array_size(other), 0); /* no record went to the sink that never began */
		json_decref(all);
		json_decref(other);
	}
}

/* ---- records ------------------------------------------------------------------------------ */

/* Every pulse is in exactly one of the two files. */
static void sinks_change_without_a_gap(void **state)
{
	uint64_t seen, lost;
	json_t *one, *two;

	(void)state;
	begin_with(LOGGED("a", ""),
		   "{ \"plugin\": \"fakesink\", \"path\": \"%1$s/one\", \"mode\": \"slow\", \"delay\": \"30ms\" }");
	for (int i = 0; i < 6; i++) {
		run_for(110);
		assert_reloaded(
			LOGGED("a", ""),
			i % 2 ? "{ \"plugin\": \"fakesink\", \"path\": \"%1$s/one\", \"mode\": \"slow\", \"delay\": \"30ms\" }"
			      : "{ \"plugin\": \"fakesink\", \"path\": \"%1$s/two\" }");
		assert_string_equal(last.changes, i % 2 ? "restarted sink fakesink options: path, mode, delay\n"
							: "restarted sink fakesink options: path, mode, delay\n");
	}
	run_for(150);
	stop(2000000000);
	books_balance(0);
	seen = stat_of("reloadable.pulse", "fakesink").delivered;
	lost = stat_of("reloadable.pulse", "fakesink").lost[SKEP_LOSS_SINK];
	assert_int_equal(lost, 0);
	one = written("one");
	two = written("two");
	assert_true(count(one, "reloadable.pulse") > 0 && count(two, "reloadable.pulse") > 0);
	assert_int_equal(count(one, "reloadable.pulse") + count(two, "reloadable.pulse"), seen);
	json_decref(one);
	json_decref(two);
}

static void a_sink_comes_and_goes(void **state)
{
	json_t *more;

	(void)state;
	begin_with(LOGGED("a", ""), SINK);
	run_for(150);
	assert_reloaded(
		LOGGED("a", ""),
		SINK ", { \"plugin\": \"fakesink\", \"name\": \"more\", \"path\": \"%1$s/more\", \"mode\": \"slow\" }");
	assert_string_equal(last.changes, "added sink more \n");
	run_for(350);
	books_balance(10000);
	assert_true(stat_of("reloadable.pulse", "more").seen < stat_of("reloadable.pulse", "fakesink").seen);
	{
		uint64_t seen = stat_of("reloadable.pulse", "more").seen;

		assert_reloaded(LOGGED("a", ""), SINK);
		assert_string_equal(last.changes, "removed sink more \n");
		more = written("more"); /* the old sink had accepted them all before it went */
		assert_in_range(count(more, "reloadable.pulse"), seen, seen + 1);
		json_decref(more);
	}
	assert_null(instance("more"));
	run_for(150);
	books_balance(10000);
}

static void what_a_removed_sink_does_not_take_is_counted(void **state)
{
	uint64_t lost[5];
	json_t *all, *loss = NULL, *r;

	(void)state;
	log_level(SKEP_LOG_ERROR);
	begin_with(LOGGED("a", ""), SINK
		   ", { \"plugin\": \"fakesink\", \"name\": \"stuck\", \"path\": \"%1$s/stuck\", \"delay\": \"1h\" }");
	run_for(250);
	assert_reloaded(LOGGED("a", ""), SINK);
	assert_says(last.changes, "removed sink stuck ");
	assert_says(last.changes, " records that it had not acknowledged are lost there");
	(void)lost;
	run_for(150);
	stop(1000000000);
	all = written("out");
	for (size_t i = 0; (r = record(all, "loss", i)); i++)
		if (strcmp(string(r, "instance"), "stuck") == 0 && strcmp(string(r, "stream"), "reloadable.pulse") == 0)
			loss = r;
	assert_non_null(loss);
	assert_string_equal(string(loss, "where"), "sink");
	assert_true(number(loss, "count") > 0);
	json_decref(all);
}

/* Its work() does not return: the new sink gets the queue, with the batches that the old one had. */
static void a_sink_that_hangs_is_replaced(void **state)
{
	struct skep_instance *stuck;
	struct collector_self self;
	json_t *all, *healthy;
	bool first = false;

	(void)state;
	fifo("old.gate", false);
	begin_with(LOGGED("a", ""),
		   SINK ", { \"plugin\": \"fakesink\", \"name\": \"s\", \"path\": \"%1$s/old\", \"mode\": \"work\" }");
	stuck = (struct skep_instance *)(uintptr_t)instance("s");
	stuck->stuck_after_ns = 1000000;
	run_for(600);
	assert_true(stuck->stuck_ns > 0);
	assert_reloaded(LOGGED("a", ""), SINK
			", { \"plugin\": \"fakesink\", \"name\": \"s\", \"path\": \"%1$s/new\", \"mode\": \"work\" }");
	assert_string_equal(last.changes, "restarted sink s options: path\n");
	collector_self(t.collector, &self);
	assert_int_equal(self.left_behind, 1);
	assert_true(collector_left_behind(t.collector));
	run_for(300);
	books_balance(10000);
	/* The same again, but the new configuration has no such sink. */
	fifo("new.gate", false);
	stuck = (struct skep_instance *)(uintptr_t)instance("s");
	stuck->stuck_after_ns = 1000000;
	run_for(600);
	assert_reloaded(LOGGED("a", ""), SINK);
	assert_says(last.changes, "removed sink s ");
	assert_says(last.changes, " records that it had not acknowledged are lost there");
	fifo("old.gate", true);
	fifo("new.gate", true);
	for (int i = 0; i < 100000 && collector_left_behind(t.collector); i++)
		run_for(10);
	assert_false(collector_left_behind(t.collector));
	stop(1000000000);
	books_balance(0);
	all = written("new");
	healthy = written("out");
	/* The old sink had accepted the very first batch, which is among them; two are in flight, in any order. */
	for (size_t i = 0; i < json_array_size(all); i++)
		first |= strcmp(string(json_array_get(all, i), "batch"), string(json_array_get(healthy, 0), "batch")) ==
			 0;
	assert_true(first);
	json_decref(healthy);
	json_decref(all);
}

/* A probe with new facets makes process records wider while others are on their way. */
static void facets_come_later(void **state)
{
	json_t *all, *r;

	(void)state;
	begin_with(LOGGED("a", ""), SINK);
	run_for(50);
	script("0 live pid=100 start=0 parent=1 exe=/bin/sh cpu_ns=1ms\n0 sweep_begin\n0 sweep_end complete=1\n"
	       "1ms facet pid=100 widgets=3 temperature=20\n2ms exit pid=100 code=0\n2ms final pid=100 code=0 cpu_ns=5ms\n");
	assert_reloaded(LOGGED("a", "") ", " PROBE, SINK);
	assert_string_equal(last.changes, "added probe fake \n");
	run_for(300);
	/* and removed: the columns stay, and so do the losses */
	assert_reloaded(LOGGED("a", ""), SINK);
	assert_reloaded(LOGGED("a", "") ", " PROBE, SINK);
	run_for(100);
	stop(1000000000);
	books_balance(0);
	all = written("out");
	r = image(all, 100, 0);
	assert_int_equal(number(r, "fake.facet.widgets"), 3);
	json_decref(all);
}

static void losses_outlive_their_plugin(void **state)
{
	(void)state;
	script("0 lost stream=exec n=5 where=kernel\n0 lost stream=event n=2 where=kernel\n");
	begin_with(PROBE ", " LOGGED("a", ""), SINK);
	run_for(60);
	assert_int_equal(collector_lost_kernel(t.collector), 7);
	script("0 lost stream=exec n=1 where=kernel\n");
	assert_reloaded(
		"{ \"plugin\": \"fake\", \"script\": \"%1$s/script\", \"auto_drained\": false }, " LOGGED("a", ""),
		SINK);
	assert_string_equal(last.changes, "restarted probe fake options: auto_drained\n");
	run_for(60);
	assert_int_equal(collector_lost_kernel(t.collector), 8);
	assert_reloaded(LOGGED("a", ""), SINK);
	assert_int_equal(collector_lost_kernel(t.collector), 8);
}

/* ---- at odd times --------------------------------------------------------------------------- */

static void one_at_a_time(void **state)
{
	struct config *next;

	(void)state;
	begin_with(LOGGED("a", ""), SINK);
	next = parsed("100ms", "", LOGGED("a", ", \"level\": 2"), SINK);
	assert_int_equal(collector_reload(t.collector, next, false, on_done, &last), 0);
	assert_int_equal(collector_reload(t.collector, next, false, on_done, &last), -EBUSY);
	support_loop_until(&t.loop, &last.done);
	assert_int_equal(last.err, 0);
	config_free(t.config);
	t.config = next;
	stop(0);
	assert_int_equal(collector_reload(t.collector, t.config, false, on_done, &last), -ESHUTDOWN);
}

/* The collector stops while a removed sink drains, and before anything has begun. */
static void stopped_meanwhile(void **state)
{
	struct config *next;

	(void)state;
	begin_with(LOGGED("a", ""), SINK
		   ", { \"plugin\": \"fakesink\", \"name\": \"stuck\", \"path\": \"%1$s/stuck\", \"delay\": \"1h\" }");
	run_for(150);
	next = parsed("100ms", "", LOGGED("a", ", \"size\": 5") ", " LOGGED("b", ""), SINK);
	assert_int_equal(collector_reload(t.collector, next, false, on_done, &last), 0);
	run_for(50);
	assert_false(last.done);
	stop(100000000);
	assert_true(last.done);
	assert_int_equal(last.err, 0); /* the reload took place */
	config_free(t.config);
	t.config = next;
	assert_string_equal(calls("b"), "open start stop close ");
}

static void stopped_before_it_begins(void **state)
{
	struct config *next;

	(void)state;
	begin_with(LOGGED("a", ""), SINK);
	next = parsed("100ms", "", LOGGED("b", ""), SINK);
	assert_int_equal(collector_reload(t.collector, next, false, on_done, &last), 0);
	stop(0);
	assert_true(last.done);
	assert_int_equal(last.err, -ESHUTDOWN);
	config_free(next);
	assert_string_equal(calls("a"), "open start stop close ");
	assert_string_equal(calls("b"), "");
}

static void only_looked_at(void **state)
{
	(void)state;
	begin_with(LOGGED("a", "") ", " LOGGED("b", ""), SINK);
	assert_int_equal(
		reload_config(parsed("200ms", "", LOGGED("a", ", \"level\": 2") ", " LOGGED("c", ""), SINK), true), 0);
	assert_string_equal(
		last.changes,
		"changed setting interval from 100ms to 200ms\napplied probe a options: level\nadded probe c \nremoved probe b \n");
	assert_string_equal(calls("a"), "open start ");
	assert_string_equal(calls("b"), "open start ");
	assert_string_equal(calls("c"), "open close ");
	assert_int_equal(reload_config(parsed("200ms", "", LOGGED("a", ", \"level\": 2000"), SINK), true), -EINVAL);
	assert_says(last.errors, "out of bounds");
}

/* ---- a thousand of them ----------------------------------------------------------------------- */

static size_t resident_kib(void)
{
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*u %llu", &pages), 1);
	fclose(f);
	return (size_t)(pages * (unsigned long long)sysconf(_SC_PAGESIZE) / 1024);
}

static size_t fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void a_thousand(void **state)
{
	size_t rss = 0, n_fds = 0;
	uint64_t delivered;
	json_t *one, *two;

	(void)state;
	begin_with(LOGGED("a", ""), "{ \"plugin\": \"fakesink\", \"path\": \"%1$s/one\" }");
	for (int i = 0; i < 1000; i++) {
		static const char *const probes[] = {
			LOGGED("a", ""),
			LOGGED("a", ", \"level\": 4, \"label\": \"text\", \"list\": [ \"x\", \"yy\" ]"),
			LOGGED("a", ", \"nonsense\": 4"),
			LOGGED("a", ", \"size\": 4096") ", " LOGGED("b", ""),
			PROBE ", " LOGGED("a", ", \"label\": \"other\""),
		};
		int err = reload(
			probes[i % 5],
			i % 3 ? "{ \"plugin\": \"fakesink\", \"path\": \"%1$s/one\" }"
			      : "{ \"plugin\": \"fakesink\", \"path\": \"%1$s/two\" }, { \"plugin\": \"fakesink\", \"name\": \"more\", \"path\": \"%1$s/more\" }");

		assert_int_equal(err, i % 5 == 2 ? -EINVAL : 0);
		if (i == 200) {
			rss = resident_kib();
			n_fds = fds();
		}
	}
	/* in pairs: files that are open now and were open then */
	assert_in_range(fds(), n_fds - 1, n_fds + 1);
	print_message("1,000 reloads: RSS %zu KiB after 200 of them, %zu KiB after all\n", rss, resident_kib());
	/* a sanitizer does not return freed memory */
	if (!getenv("SKEP_SANITIZE") || !*getenv("SKEP_SANITIZE"))
		assert_true(resident_kib() < rss + 1024);
	run_for(200);
	stop(1000000000);
	books_balance(0);
	delivered = stat_of("reloadable.pulse", "fakesink").delivered;
	one = written("one");
	two = written("two");
	assert_int_equal(count(one, "reloadable.pulse") + count(two, "reloadable.pulse"), delivered);
	json_decref(one);
	json_decref(two);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_reload, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(unchanged_ones_notice_nothing),
		TEST(reloadable_options_are_applied_in_place),
		TEST(one_that_declines_is_restarted),
		TEST(others_are_restarted_the_new_one_first),
		TEST(added_and_removed),
		TEST(another_plugin_of_that_name),
		TEST(another_sink_of_that_name),
		TEST(failed_ones_are_tried_again),
		TEST(settings),
		TEST(wrong_configurations),
		TEST(a_broken_table),
		TEST(a_required_one_that_does_not_start),
		TEST(changed_options_that_do_not_work),
		TEST(all_the_way_back),
		TEST(sinks_change_without_a_gap),
		TEST(a_sink_comes_and_goes),
		TEST(a_sink_that_hangs_is_replaced),
		TEST(what_a_removed_sink_does_not_take_is_counted),
		TEST(facets_come_later),
		TEST(losses_outlive_their_plugin),
		TEST(one_at_a_time),
		TEST(stopped_meanwhile),
		TEST(stopped_before_it_begins),
		TEST(only_looked_at),
		TEST(a_thousand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
