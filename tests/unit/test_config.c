/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration: defaults, every key, and every error with its place and remedy.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/config/config.h"

static struct config *parse(const char *text)
{
	struct config *config;
	struct diag diag;

	diag_init(&diag);
	config = config_parse(text, strlen(text), "f", &diag);
	diag_print(&diag, stderr);
	assert_int_equal(diag.n, 0);
	assert_non_null(config);
	diag_clear(&diag);
	return config;
}

/* The configuration is refused with exactly the messages `expected`. */
static void assert_refused(const char *text, const char *expected)
{
	char *printed = NULL;
	size_t size;
	struct diag diag;
	FILE *out = open_memstream(&printed, &size);

	assert_non_null(out);
	diag_init(&diag);
	assert_null(config_parse(text, strlen(text), "f", &diag));
	diag_print(&diag, out);
	fclose(out);
	assert_string_equal(printed, expected);
	assert_true(diag.n_errors > 0);
	free(printed);
	diag_clear(&diag);
}

static void test_defaults(void **state)
{
	struct config *config;

	(void)state;
	unsetenv("SKEP_PLUGIN_DIRS");
	config = parse("{}");
	assert_string_equal(config->file, "f");
	assert_null(config->labels);
	assert_int_equal(config->interval_ns, 5000000000ull);
	assert_int_equal(config->process_interval_ns, 60000000000ull);
	assert_int_equal(config->drain_ns, 5000000000ull);
	assert_non_null(config->plugin_dirs[0]);
	assert_int_equal(config->plugin_dirs[0][0], '/');
	assert_string_equal(config->plugin_dirs[1], "/usr/local/lib/skep/plugins");
	assert_null(config->plugin_dirs[2]);
	assert_int_equal(config->n_probes, 0);
	assert_int_equal(config->n_sinks, 0);
	assert_null(config->tools[0]);
	assert_null(config->redact[0]);
	assert_null(config->containers[0]);
	assert_string_equal(config->pod_logs, "/var/log");
	assert_int_equal(config->findings.stall_ns, 600000000000ull);
	assert_int_equal(config->findings.leftover_process_ns, 300000000000ull);
	assert_int_equal(config->findings.orphan_container_ns, 3600000000000ull);
	assert_int_equal(config->findings.gpu_held_idle_ns, 1800000000000ull);
	assert_true(config->findings.oom_kill);
	assert_null(config_free(config));
	assert_null(config_free(NULL));
}

static void test_environment(void **state)
{
	struct config *config;

	(void)state;
	setenv("SKEP_PLUGIN_DIRS", ":/a::build/b:", 1);
	config = parse("{}");
	assert_string_equal(config->plugin_dirs[0], "/a");
	assert_string_equal(config->plugin_dirs[1], "build/b");
	assert_null(config->plugin_dirs[2]);
	config_free(config);
	/* The folders of the file replace those of the environment. */
	config = parse("{ \"plugin_dirs\": [ \"/c\" ] }");
	assert_string_equal(config->plugin_dirs[0], "/c");
	assert_null(config->plugin_dirs[1]);
	config_free(config);
	setenv("SKEP_PLUGIN_DIRS", "", 1);
	config = parse("{}");
	assert_string_equal(config->plugin_dirs[1], "/usr/local/lib/skep/plugins");
	config_free(config);
	unsetenv("SKEP_PLUGIN_DIRS");
}

static void test_everything(void **state)
{
	struct config *config =
		parse("{ // all keys\n"
		      "  \"host\": { \"labels\": { \"site\": \"hpc-a\", \"rack\": \"\" } },\n"
		      "  \"interval\": \"250ms\", \"process_interval\": \"0s\", \"drain\": \"2m\",\n"
		      "  \"plugin_dirs\": [ \"/p1\", \"/p2\" ],\n"
		      "  \"probes\": [\n"
		      "    { \"plugin\": \"proc\", \"required\": true,\n"
		      "      \"ring_size\": \"4MiB\" },\n"
		      "    { \"plugin\": \"proc\", \"name\": \"proc.2\", \"x\": { \"y\": 1 } } ],\n"
		      "  \"sinks\": [ { \"plugin\": \"lake\", \"path\": \"/l\" } ],\n"
		      "  \"tools\": [ \"/t\" ], \"redact\": [ \"r1\", \"r2\" ], \"containers\": [ \"/c\" ]\n"
		      "}\n");
	const struct config_plugin *probe = config->probes;
	char name[64];
	int line, column;

	(void)state;
	assert_string_equal(json_string_value(json_object_get(config->labels, "site")), "hpc-a");
	assert_int_equal(json_object_size(config->labels), 2);
	assert_int_equal(config->interval_ns, 250000000);
	assert_int_equal(config->process_interval_ns, 0);
	assert_int_equal(config->drain_ns, 120000000000ull);
	assert_string_equal(config->plugin_dirs[1], "/p2");
	assert_int_equal(config->n_probes, 2);
	assert_string_equal(probe[0].plugin, "proc");
	assert_string_equal(probe[0].name, "proc");
	assert_true(probe[0].required);
	assert_int_equal(probe[0].line, 6);
	assert_int_equal(json_object_size(probe[0].options), 1);
	assert_string_equal(json_string_value(json_object_get(probe[0].options, "ring_size")), "4MiB");
	assert_string_equal(probe[1].name, "proc.2");
	assert_false(probe[1].required);
	assert_int_equal(config->n_sinks, 1);
	assert_string_equal(config->sinks[0].plugin, "lake");
	assert_int_equal(config->sinks[0].line, 9);
	assert_string_equal(config->tools[0], "/t");
	assert_string_equal(config->redact[1], "r2");
	assert_null(config->redact[2]);
	assert_string_equal(config->containers[0], "/c");

	config_option_position(&probe[0], "ring_size", &line, &column);
	assert_int_equal(line, 7);
	config_option_position(&probe[0], "other", &line, &column);
	assert_int_equal(line, 6);
	assert_int_equal(column, 0);
	config_option_position(&probe[1], "x", &line, &column);
	assert_int_equal(line, 8);
	assert_int_equal(column, 43);
	config_option_position(&config->sinks[0], "path", &line, &column);
	assert_int_equal(line, 9);
	assert_int_equal(column, 34);
	config_entry_name(&probe[1], name, sizeof(name));
	assert_string_equal(name, "probes[1] (proc.2)");
	config_entry_name(&config->sinks[0], name, sizeof(name));
	assert_string_equal(name, "sinks[0] (lake)");
	config_free(config);
}

static void test_unknown_keys(void **state)
{
	(void)state;
	assert_refused("{ \"intervall\": \"5s\" }",
		       "f:1:3: error: unknown key \"intervall\": did you mean \"interval\"?\n");
	assert_refused(
		"{\n\t\"web\": { } }",
		"f:2:2: error: unknown key \"web\": known are host, interval, process_interval, plugin_dirs, probes, sinks, tools, "
		"redact, containers, pod_logs, recognizers, read_engine_files, fold_forks, filters, findings, pin_dir, pin_for, drain, spool, keep_capabilities, control\n");
	assert_refused("{ \"host\": { \"label\": { } } }",
		       "f:1:13: error: unknown key \"label\" in host: did you mean \"labels\"?\n");
	assert_refused(
		"{ \"\\u001b[31m\": 1 }",
		"f:1:3: error: unknown key \"\\u001b[31m\": known are host, interval, process_interval, plugin_dirs, probes, sinks, "
		"tools, redact, containers, pod_logs, recognizers, read_engine_files, fold_forks, filters, findings, pin_dir, pin_for, drain, spool, keep_capabilities, control\n");
}

static void test_spool(void **state)
{
	struct config *config;

	(void)state;
	config = parse(
		"{ \"spool\": { \"path\": \"/x/s.db\", \"max_bytes\": \"2GiB\", \"reserve\": 0, \"max_age\": \"2d\", \"sync\": \"0s\" } }");
	assert_string_equal(config->spool.path, "/x/s.db");
	assert_int_equal(config->spool.max_bytes, 2ull << 30);
	assert_int_equal(config->spool.reserve_bytes, 0);
	assert_int_equal(config->spool.max_age_ns, 2 * 86400 * 1000000000ull);
	assert_int_equal(config->spool.sync_ns, 0);
	config_free(config);
	config = parse("{ \"spool\": { } }");
	assert_string_equal(config->spool.path, SKEP_STATE_DIR "/spool.db");
	assert_int_equal(config->spool.max_bytes, 1 << 30);
	assert_int_equal(config->spool.sync_ns, 1000000000);
	config_free(config);
	config = parse("{ }");
	assert_null(config->spool.path);
	config_free(config);
	assert_refused("{ \"spool\": true }",
		       "f:1:3: error: spool: expected an object { ... } with the keys path, max_bytes, reserve, max_age, sync, "
		       "found true\n");
	assert_refused("{ \"spool\": { \"path\": \"s.db\" } }",
		       "f:1:14: error: spool.path: expected an absolute path such as \"" SKEP_STATE_DIR
		       "/spool.db\", found the string \"s.db\"\n");
	assert_refused(
		"{ \"spool\": { \"max_bytes\": \"2 GiB\" } }",
		"f:1:14: error: spool.max_bytes: expected a size such as 4096 or \"64MiB\" (units: B kB KiB MB MiB GB GiB TB TiB), found "
		"the string \"2 GiB\"\n");
	assert_refused(
		"{ \"spool\": { \"max_age\": 5 } }",
		"f:1:14: error: spool.max_age: expected a time such as \"5s\" (units: ns us ms s m h d), found the integer 5\n");
	assert_refused(
		"{ \"spool\": { \"size\": 5 } }",
		"f:1:14: error: unknown key \"size\" in spool: known are path, max_bytes, reserve, max_age, sync\n");
}

/* A limit that is too small does not stop skepd. */
static void test_raised(void **state)
{
	static const char text[] = "{ \"spool\": { \"max_bytes\": \"1MiB\" } }";
	struct config *config;
	struct diag diag;

	(void)state;
	diag_init(&diag);
	config = config_parse(text, strlen(text), "f", &diag);
	assert_non_null(config);
	assert_int_equal(config->spool.max_bytes, 8 << 20);
	assert_int_equal(diag.n, 1);
	assert_string_equal(diag.entries[0].text,
			    "spool.max_bytes: the string \"1MiB\" is too little to work with: skepd uses 8MiB");
	diag_clear(&diag);
	config_free(config);
}

static void test_filters(void **state)
{
	struct config *config;

	(void)state;
	unsetenv("SKEP_PACK_DIRS");
	config = parse("{}");
	assert_null(config->filters.dirs[0]);
	assert_null(config->filters.packs[0]);
	assert_string_equal(config->filters.pack_dirs[0], SKEP_DATA_DIR "/packs");
	assert_null(config->filters.pack_dirs[1]);
	assert_false(config->filters.exclude);
	config_free(config);
	setenv("SKEP_PACK_DIRS", "/a:b", 1);
	config = parse(
		"{ \"filters\": { \"dirs\": [ \"/d1\", \"d2\" ], \"packs\": [ \"host\", \"ml\" ], \"default\": \"exclude\" } }");
	assert_string_equal(config->filters.dirs[1], "d2");
	assert_string_equal(config->filters.packs[0], "host");
	assert_string_equal(config->filters.packs[1], "ml");
	assert_string_equal(config->filters.pack_dirs[1], "b");
	assert_true(config->filters.exclude);
	config_free(config);
	config = parse("{ \"filters\": { \"pack_dirs\": [ \"/c\" ], \"default\": \"include\" } }");
	assert_string_equal(config->filters.pack_dirs[0], "/c");
	assert_null(config->filters.pack_dirs[1]);
	assert_false(config->filters.exclude);
	config_free(config);
	unsetenv("SKEP_PACK_DIRS");
	assert_refused("{ \"filters\": [] }",
		       "f:1:3: error: filters: expected an object { ... } with the keys dirs, packs, pack_dirs, default, "
		       "kernel, found an array\n");
	assert_refused(
		"{ \"filters\": { \"default\": \"drop\" } }",
		"f:1:16: error: filters.default: expected \"include\" or \"exclude\", found the string \"drop\"\n");
	assert_refused("{ \"filters\": { \"pack\": [ ] } }",
		       "f:1:16: error: unknown key \"pack\" in filters: did you mean \"packs\"?\n");
	assert_refused(
		"{ \"filters\": { \"packs\": [ \"/x/host.json\", \"ml\",\n\"ml\" ] } }",
		"f:1:27: error: filters.packs[0]: \"/x/host.json\" is a path: write the pack's bare name, as \"host\"; files of your own "
		"belong into filters.dirs\n"
		"f:2:1: error: filters.packs[2]: \"ml\" stands here a second time: remove one\n");
}

static void test_control(void **state)
{
	char text[256], path[128];
	struct config *config;

	(void)state;
	config = parse("{}");
	assert_string_equal(config->control_socket, CONTROL_SOCKET_DEFAULT);
	assert_false(config->control_asked);
	config_free(config);
	config = parse("{ \"control\": { \"socket\": \"/x/y.sock\" } }");
	assert_string_equal(config->control_socket, "/x/y.sock");
	assert_true(config->control_asked);
	config_free(config);
	config = parse("{ \"control\": { \"socket\": false } }");
	assert_null(config->control_socket);
	config_free(config);
	assert_refused("{ \"control\": { \"sockett\": false } }",
		       "f:1:16: error: unknown key \"sockett\" in control: did you mean \"socket\"?\n");
	assert_refused("{ \"control\": 5 }", "f:1:3: error: control: expected an object { ... } with the keys socket, "
					     "found the integer 5\n");
	assert_refused(
		"{ \"control\": {\n\"socket\": \"skepd.sock\" } }",
		"f:2:1: error: control.socket: expected an absolute path such as \"/run/skep/skepd.sock\", or false for "
		"none, found the string \"skepd.sock\"\n");
	assert_refused(
		"{ \"control\": {\n\"socket\": true } }",
		"f:2:1: error: control.socket: expected an absolute path such as \"/run/skep/skepd.sock\", or false for "
		"none, found true\n");
	/* sun_path has 108 bytes, a NUL among them */
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[107] = '\0';
	snprintf(text, sizeof(text), "{ \"control\": { \"socket\": \"%s\" } }", path);
	config = parse(text);
	assert_string_equal(config->control_socket, path);
	config_free(config);
	path[107] = 'a';
	path[108] = '\0';
	snprintf(text, sizeof(text), "{ \"control\": { \"socket\": \"%s\" } }", path);
	assert_refused(
		text,
		"f:1:16: error: control.socket: \"/"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\" is too long: "
		"at most 107 bytes\n");
}

static void test_wrong_types(void **state)
{
	(void)state;
	assert_refused("[]", "f:1:1: error: configuration: expected an object: { ... }, found an array\n");
	assert_refused("{ \"host\": 1 }",
		       "f:1:3: error: host: expected an object { ... } with the keys labels, found the integer 1\n");
	assert_refused(
		"{ \"host\": { \"labels\": [] } }",
		"f:1:13: error: host.labels: expected an object of strings such as { \"site\": \"hpc-a\" }, found an "
		"array\n");
	assert_refused("{ \"host\": { \"labels\": { \"a\": 1, \"\": \"x\" } } }",
		       "f:1:25: error: host.labels.\"a\": expected a string, found the integer 1\n"
		       "f:1:33: error: host.labels: a label needs a name\n");
	assert_refused("{ \"pin_for\": \"2h\" }",
		       "f:1:3: error: pin_for: the string \"2h\" is out of bounds: from 1s to 1h\n");
	assert_refused("{ \"drain\": \"50ms\" }",
		       "f:1:3: error: drain: the string \"50ms\" is out of bounds: from 100ms to 1h, or \"0s\"\n");
	assert_refused(
		"{ \"process_interval\": \"1ms\" }",
		"f:1:3: error: process_interval: the string \"1ms\" is out of bounds: from 100ms to 1h, or \"0s\"\n");
	assert_refused("{ \"findings\": { \"stall\": \"10ms\" } }",
		       "f:1:17: error: findings.stall: the string \"10ms\" is out of bounds: from 1s to 1d, or \"0s\"\n");
	assert_refused("{ \"findings\": { \"stalls\": \"10m\" } }",
		       "f:1:17: error: unknown key \"stalls\" in findings: did you mean \"stall\"?\n");
	assert_refused(
		"{ \"interval\": 5 }",
		"f:1:3: error: interval: expected a time such as \"5s\" (units: ns us ms s m h d), found the integer "
		"5\n");
	assert_refused(
		"{ \"interval\": \"5\" }",
		"f:1:3: error: interval: expected a time such as \"5s\" (units: ns us ms s m h d), found the string "
		"\"5\"\n");
	assert_refused("{ \"probes\": { } }", "f:1:3: error: probes: expected an array of objects, found an object\n");
	assert_refused("{ \"sinks\": [ \"lake\" ] }",
		       "f:1:14: error: sinks[0]: expected an object such as { \"plugin\": \"proc\" }, found the string "
		       "\"lake\"\n");
	assert_refused("{ \"tools\": \"/x\" }",
		       "f:1:3: error: tools: expected an array of paths, found the string \"/x\"\n");
	assert_refused("{ \"redact\": [ \"/x\",\n 1, \"\" ] }",
		       "f:2:2: error: redact[1]: expected a path, found the integer 1\n"
		       "f:2:5: error: redact[2]: expected a path, found the string \"\"\n");
	assert_refused("{ \"plugin_dirs\": null }",
		       "f:1:3: error: plugin_dirs: expected an array of absolute paths, found null\n");
}

static void test_bounds(void **state)
{
	static const char *const good[] = { "100ms", "1h", "60m", "3600s" };
	static const char *const bad[] = { "0", "99ms", "3601s", "1d", "99999999999999999999s" };
	char text[80], expected[120];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		snprintf(text, sizeof(text), "{ \"interval\": \"%s\" }", good[i]);
		config_free(parse(text));
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "{ \"interval\": \"%s\" }", bad[i]);
		snprintf(expected, sizeof(expected),
			 "f:1:3: error: interval: the string \"%s\" is out of bounds: from 100ms to 1h\n", bad[i]);
		assert_refused(text, expected);
	}
}

static void test_paths(void **state)
{
	(void)state;
	assert_refused("{ \"plugin_dirs\": [] }",
		       "f:1:3: error: plugin_dirs: expected at least one: leave the key out for the "
		       "default\n");
	assert_refused(
		"{ \"plugin_dirs\": [ \"/a\", \"b\" ] }",
		"f:1:26: error: plugin_dirs[1]: \"b\" is not an absolute path: code is loaded from there, so it must "
		"not depend on the current directory\n");
}

static void test_entries(void **state)
{
	(void)state;
	assert_refused("{ \"probes\": [ { } ] }",
		       "f:1: error: probes[0]: \"plugin\" is missing: the plugin NAME.so in one of plugin_dirs: 1 to 31 letters, "
		       "digits, '_', '-'; never a path\n");
	assert_refused("{ \"probes\": [ { \"plugin\": 1 } ] }",
		       "f:1:17: error: probes[0]: plugin: expected a name, found the integer 1\n");
	assert_refused(
		"{ \"sinks\": [ { \"plugin\": \"/lib/x.so\" } ] }",
		"f:1:16: error: sinks[0]: plugin: \"/lib/x.so\" is not a name: 1 to 31 letters, digits, '_' and '-', "
		"beginning with a letter, digit or '_'; a folder belongs into plugin_dirs\n");
	assert_refused("{ \"sinks\": [ { \"plugin\": \"x.so\" } ] }",
		       "f:1:16: error: sinks[0]: plugin: \"x.so\" is not a name: 1 to 31 letters, digits, '_' and '-', "
		       "beginning with a letter, digit or '_'; a folder belongs into plugin_dirs\n");
	assert_refused(
		"{ \"sinks\": [ { \"plugin\": \"x\", \"name\": \"a b\" } ] }",
		"f:1:31: error: sinks[0]: name: \"a b\" is not a name: 1 to 63 letters, digits, '_', '-' and '.', "
		"beginning with a letter, digit or '_'\n");
	assert_refused("{ \"sinks\": [ { \"plugin\": \"-x\" } ] }",
		       "f:1:16: error: sinks[0]: plugin: \"-x\" is not a name: 1 to 31 letters, digits, '_' and '-', "
		       "beginning with a letter, digit or '_'; a folder belongs into plugin_dirs\n");
	assert_refused("{ \"sinks\": [ { \"plugin\": \"x\", \"required\": \"yes\" } ] }",
		       "f:1:31: error: sinks[0]: required: expected true or false, found the string \"yes\"\n");
}

static void test_names(void **state)
{
	(void)state;
	assert_refused(
		"{ \"probes\": [ { \"plugin\": \"gpu\" },\n"
		"    { \"plugin\": \"gpu\" } ],\n"
		"  \"sinks\": [ { \"plugin\": \"a\", \"name\": \"gpu\" } ] }",
		"f:2: error: two instances are named \"gpu\", here and in line 1: give one of them another \"name\"\n"
		"f:3: error: two instances are named \"gpu\", here and in line 1: give one of them another \"name\"\n");
	config_free(parse("{ \"probes\": [ { \"plugin\": \"gpu\" }, { \"plugin\": \"gpu\", \"name\": \"gpu2\" } ] }"));
}

static void test_all_errors(void **state)
{
	(void)state;
	assert_refused(
		"{ \"intervall\": 1,\n"
		"  \"interval\": true,\n"
		"  \"probes\": [ { \"plugin\": \"a/b\" },\n"
		"    7 ],\n"
		"  \"hosts\": 1 }",
		"f:1:3: error: unknown key \"intervall\": did you mean \"interval\"?\n"
		"f:2:3: error: interval: expected a time such as \"5s\" (units: ns us ms s m h d), found true\n"
		"f:3:17: error: probes[0]: plugin: \"a/b\" is not a name: 1 to 31 letters, digits, '_' and '-', "
		"beginning with a letter, digit or '_'; a folder belongs into plugin_dirs\n"
		"f:4:5: error: probes[1]: expected an object such as { \"plugin\": \"proc\" }, found the integer 7\n"
		"f:5:3: error: unknown key \"hosts\": did you mean \"host\"?\n");
}

static void test_file(void **state)
{
	char file[] = "/tmp/skep-test-config-XXXXXX";
	int fd = mkstemp(file);
	struct config *config;
	struct diag diag;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "{ \"interval\": \"1s\" }", 20), 20);
	close(fd);
	diag_init(&diag);
	config = config_load(file, &diag);
	assert_non_null(config);
	assert_int_equal(config->interval_ns, 1000000000);
	assert_string_equal(config->file, file);
	config_free(config);
	unlink(file);
	assert_null(config_load(file, &diag));
	assert_int_equal(diag.n_errors, 1);
	assert_string_equal(diag.entries[0].file, file);
	diag_clear(&diag);
}

/* An error that another file has left in the same list does not make a good file bad. */
static void test_errors_before(void **state)
{
	struct config *config;
	struct diag diag;

	(void)state;
	diag_init(&diag);
	diag_add(&diag, DIAG_ERROR, NULL, 0, 0, "before");
	config = config_parse("{}", 2, "f", &diag);
	assert_non_null(config);
	config_free(config);
	diag_clear(&diag);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_everything),
		cmocka_unit_test(test_unknown_keys),
		cmocka_unit_test(test_control),
		cmocka_unit_test(test_spool),
		cmocka_unit_test(test_raised),
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_wrong_types),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_all_errors),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_errors_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
