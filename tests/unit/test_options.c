/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option tables: every type, default, bound, secret and error, through a real
 * configuration, so that places in messages are tested as well.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/config/options.h"

struct state {
	uint64_t untouched;
	bool enabled;
	bool other;
	int64_t level;
	uint64_t ring;
	uint64_t drain;
	const char *path;
	const char *token;
	const char **names;
	const char **words;
	const char **keys;
	uint64_t untouched_too;
};

static const struct skep_option table[] = {
	{ .name = "enabled",
	  .type = SKEP_O_BOOL,
	  .offset = offsetof(struct state, enabled),
	  .default_value = "true",
	  .help = "on or off" },
	{ .name = "other", .type = SKEP_O_BOOL, .offset = offsetof(struct state, other), .help = "another" },
	{ .name = "level",
	  .type = SKEP_O_INT,
	  .offset = offsetof(struct state, level),
	  .default_value = "-3",
	  .min = -10,
	  .max = 10,
	  .help = "how much" },
	{ .name = "ring",
	  .type = SKEP_O_SIZE,
	  .offset = offsetof(struct state, ring),
	  .default_value = "4MiB",
	  .min = 4096,
	  .max = 1 << 30,
	  .help = "bytes" },
	{ .name = "drain",
	  .type = SKEP_O_TIME,
	  .offset = offsetof(struct state, drain),
	  .default_value = "100ms",
	  .min = 1000000,
	  .max = 10000000000,
	  .help = "how often" },
	{ .name = "path",
	  .type = SKEP_O_STR,
	  .flags = SKEP_OPT_REQUIRED,
	  .offset = offsetof(struct state, path),
	  .help = "where to" },
	{ .name = "token",
	  .type = SKEP_O_STR,
	  .flags = SKEP_OPT_SECRET,
	  .offset = offsetof(struct state, token),
	  .help = "a secret" },
	{ .name = "names",
	  .type = SKEP_O_STRV,
	  .offset = offsetof(struct state, names),
	  .default_value = "[ \"a\", \"b\" ]",
	  .help = "some" },
	{ .name = "words",
	  .type = SKEP_O_STRV,
	  .offset = offsetof(struct state, words),
	  .default_value = "one",
	  .help = "some more" },
	{ .name = "keys",
	  .type = SKEP_O_STRV,
	  .flags = SKEP_OPT_SECRET,
	  .offset = offsetof(struct state, keys),
	  .help = "secrets" },
	{ .name = NULL },
};

static const struct skep_plugin plugin = {
	.name = "test",
	.options = table,
	.option_size = sizeof(table[0]),
	.state_size = sizeof(struct state),
};

struct fixture {
	struct config *config;
	struct options_memory *memory;
	struct state state;
	struct diag diag;
	int err;
};

/* A configuration of one probe "test" with these options, in line 2. */
static bool others_read;
static void apply_to(struct fixture *f, const struct skep_plugin *desc, void *state, const char *options)
{
	char text[8192];

	f->memory = NULL;
	diag_init(&f->diag);
	snprintf(text, sizeof(text), "{ \"probes\": [\n{ \"plugin\": \"test\"%s%s } ] }", *options ? ",\n" : "",
		 options);
	f->config = config_parse(text, strlen(text), "f", &f->diag);
	diag_print(&f->diag, stderr);
	assert_non_null(f->config);
	f->config->others_read = others_read;
	f->err = options_apply(desc, f->config, &f->config->probes[0], state, &f->memory, &f->diag);
}

static void apply(struct fixture *f, const char *options)
{
	memset(&f->state, 0, sizeof(f->state));
	f->state.untouched = f->state.untouched_too = 0x5555;
	apply_to(f, &plugin, &f->state, options);
	assert_int_equal(f->state.untouched, 0x5555);
	assert_int_equal(f->state.untouched_too, 0x5555);
}

static void done(struct fixture *f)
{
	assert_null(options_memory_free(f->memory));
	config_free(f->config);
	diag_clear(&f->diag);
}

static void apply_good(struct fixture *f, const char *options)
{
	apply(f, options);
	diag_print(&f->diag, stderr);
	assert_int_equal(f->err, 0);
	assert_int_equal(f->diag.n, 0);
}

static void assert_refused(const char *options, const char *expected)
{
	static const struct state zero = { .untouched = 0x5555, .untouched_too = 0x5555 };
	char *printed = NULL;
	struct fixture f;
	size_t size;
	FILE *out = open_memstream(&printed, &size);

	assert_non_null(out);
	apply(&f, options);
	diag_print(&f.diag, out);
	fclose(out);
	assert_string_equal(printed, expected);
	assert_int_equal(f.err, -EINVAL);
	assert_null(f.memory);
	/* No pointer to freed memory stays. */
	assert_memory_equal(&f.state, &zero, sizeof(zero));
	free(printed);
	done(&f);
}

static void test_defaults(void **state)
{
	struct fixture f;

	(void)state;
	apply_good(&f, "\"path\": \"/x\"");
	assert_true(f.state.enabled);
	assert_false(f.state.other);
	assert_int_equal(f.state.level, -3);
	assert_int_equal(f.state.ring, 4u << 20);
	assert_int_equal(f.state.drain, 100000000);
	assert_string_equal(f.state.path, "/x");
	assert_null(f.state.token);
	assert_string_equal(f.state.names[0], "a");
	assert_string_equal(f.state.names[1], "b");
	assert_null(f.state.names[2]);
	assert_string_equal(f.state.words[0], "one");
	assert_null(f.state.words[1]);
	done(&f);
	assert_null(options_memory_free(NULL));
}

static void test_values(void **state)
{
	struct fixture f;

	(void)state;
	apply_good(&f, "\"enabled\": false, \"other\": true, \"level\": 10, \"ring\": 4096, \"drain\": \"10s\",\n"
		       "\"path\": \"\", \"token\": \"t0p\", \"names\": [], \"words\": [ \"x\", \"\", \"z\" ]");
	assert_false(f.state.enabled);
	assert_true(f.state.other);
	assert_int_equal(f.state.level, 10);
	assert_int_equal(f.state.ring, 4096);
	assert_int_equal(f.state.drain, 10000000000ull);
	assert_string_equal(f.state.path, "");
	assert_string_equal(f.state.token, "t0p");
	assert_non_null(f.state.names);
	assert_null(f.state.names[0]);
	assert_string_equal(f.state.words[1], "");
	assert_string_equal(f.state.words[2], "z");
	assert_null(f.state.words[3]);
	/* The options are copies: the configuration may be freed first. */
	f.config = config_free(f.config);
	assert_string_equal(f.state.token, "t0p");
	done(&f);
}

static void test_wrong_types(void **state)
{
	(void)state;
	assert_refused(
		"\"path\": 1, \"enabled\": \"yes\", \"level\": 1.5,\n"
		"\"ring\": -1, \"drain\": 5, \"names\": \"a\",\n"
		"\"words\": [ \"a\", null ]",
		"f:3:1: error: probes[0] (test): path: expected a string, found the integer 1\n"
		"f:3:12: error: probes[0] (test): enabled: expected true or false, found the string \"yes\"\n"
		"f:3:30: error: probes[0] (test): level: expected an integer, found the number 1.5\n"
		"f:4:1: error: probes[0] (test): ring: expected a size such as 4096 or \"64MiB\" (units: B kB KiB MB "
		"MiB GB GiB TB TiB), found the integer -1\n"
		"f:4:13: error: probes[0] (test): drain: expected a time such as \"5s\" (units: ns us ms s m h d), "
		"found the integer 5\n"
		"f:4:25: error: probes[0] (test): names: expected an array of strings, found the string \"a\"\n"
		"f:5:17: error: probes[0] (test): words[1]: expected a string, found null\n");
	assert_refused(
		"\"path\": \"x\", \"ring\": \"64 MiB\"",
		"f:3:14: error: probes[0] (test): ring: expected a size such as 4096 or \"64MiB\" (units: B kB KiB MB "
		"MiB GB GiB TB TiB), found the string \"64 MiB\"\n");
}

static void test_bounds(void **state)
{
	struct fixture f;

	(void)state;
	assert_refused("\"path\": \"x\", \"level\": 11",
		       "f:3:14: error: probes[0] (test): level: the integer 11 is out of bounds: from -10 to 10\n");
	assert_refused(
		"\"path\": \"x\", \"ring\": \"2GiB\", \"drain\": \"1us\"",
		"f:3:14: error: probes[0] (test): ring: the string \"2GiB\" is out of bounds: from 4KiB to 1GiB\n"
		"f:3:30: error: probes[0] (test): drain: the string \"1us\" is out of bounds: from 1ms to 10s\n");
	assert_refused("\"path\": \"x\", \"ring\": 4095",
		       "f:3:14: error: probes[0] (test): ring: the integer 4095 is out of bounds: from 4KiB to 1GiB\n");
	assert_refused(
		"\"path\": \"x\", \"ring\": \"16777216TiB\"",
		"f:3:14: error: probes[0] (test): ring: the string \"16777216TiB\" is out of bounds: from 4KiB to "
		"1GiB\n");
	/* A number above INT64_MAX is above every bound, not below one. */
	assert_refused(
		"\"path\": \"x\", \"ring\": \"18446744073709551615\"",
		"f:3:14: error: probes[0] (test): ring: the string \"18446744073709551615\" is out of bounds: from 4KiB "
		"to 1GiB\n");
	apply_good(&f, "\"path\": \"x\", \"level\": -10, \"ring\": \"1GiB\", \"drain\": \"1ms\"");
	assert_int_equal(f.state.level, -10);
	assert_int_equal(f.state.ring, 1u << 30);
	assert_int_equal(f.state.drain, 1000000);
	done(&f);
}

static void test_keys(void **state)
{
	(void)state;
	assert_refused("", "f:2: error: probes[0] (test): \"path\" is missing: where to\n");
	assert_refused("\"paht\": \"x\", \"path\": \"x\", \"xyz\": 1, \"tokenfile\": \"\"",
		       "f:3:1: error: probes[0] (test): unknown option \"paht\": did you mean \"path\"?\n"
		       "f:3:27: error: probes[0] (test): unknown option \"xyz\": see \"skepd --options test\"\n"
		       "f:3:37: error: probes[0] (test): unknown option \"tokenfile\": did you mean \"token_file\"?\n");
	assert_refused("\"path\": \"x\", \"require\": true, \"path_file\": \"/x\"",
		       "f:3:14: error: probes[0] (test): unknown option \"require\": did you mean \"required\"?\n"
		       "f:3:31: error: probes[0] (test): unknown option \"path_file\": see \"skepd --options test\"\n");
}

/* A file with that content; the name is static. */
static const char *file_with(const char *content, size_t size, mode_t mode)
{
	static char name[64];
	int fd;

	strcpy(name, "/tmp/skep-test-options-XXXXXX");
	fd = mkstemp(name);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, size), size);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	return name;
}

static void test_secret_environment(void **state)
{
	struct fixture f;

	(void)state;
	setenv("SKEP_TEST_SECRET", "hush", 1);
	apply_good(&f, "\"path\": \"env:SKEP_TEST_SECRET\", \"token\": \"env:SKEP_TEST_SECRET\"");
	assert_string_equal(f.state.token, "hush");
	assert_string_equal(f.state.path, "env:SKEP_TEST_SECRET"); /* not a secret: the text stays as written */
	done(&f);
	setenv("SKEP_TEST_SECRET", "", 1);
	assert_refused(
		"\"path\": \"x\", \"token\": \"env:SKEP_TEST_SECRET\"",
		"f:3:14: error: probes[0] (test): token: the environment variable \"SKEP_TEST_SECRET\" is empty\n");
	unsetenv("SKEP_TEST_SECRET");
	assert_refused(
		"\"path\": \"x\", \"token\": \"env:SKEP_TEST_SECRET\"",
		"f:3:14: error: probes[0] (test): token: the environment variable \"SKEP_TEST_SECRET\" is not set: set it "
		"where this program is started\n");
	/* The error does not show a refused value. */
	assert_refused("\"path\": \"x\", \"token\": 12345",
		       "f:3:14: error: probes[0] (test): token: expected a string, found a number\n");
	assert_refused("\"path\": \"x\", \"token\": [ \"s3cret\" ]",
		       "f:3:14: error: probes[0] (test): token: expected a string, found an array\n");
}

static void test_secret_file(void **state)
{
	char options[200], expected[300], large[70000];
	const char *file;
	struct fixture f;

	(void)state;
	file = file_with("from file\n\n", 11, 0600);
	snprintf(options, sizeof(options), "\"path\": \"x\", \"token_file\": \"%s\"", file);
	apply_good(&f, options);
	assert_string_equal(f.state.token, "from file\n"); /* an editor wrote the one newline, the rest belongs to the secret */
	done(&f);
	snprintf(options, sizeof(options), "\"path\": \"x\", \"token\": \"t\", \"token_file\": \"%s\"", file);
	assert_refused(options,
		       "f:3:28: error: probes[0] (test): token_file: \"token\" is given as well: remove one of them\n");
	assert_int_equal(chmod(file, 0644), 0);
	snprintf(options, sizeof(options), "\"path\": \"x\", \"token_file\": \"%s\"", file);
	apply(&f, options);
	assert_int_equal(f.err, 0);
	assert_int_equal(f.diag.n, 1);
	assert_int_equal(f.diag.n_errors, 0);
	assert_non_null(strstr(f.diag.entries[0].text, "everybody can read"));
	assert_int_equal(f.diag.entries[0].line, 3);
	done(&f);
	unlink(file);
	snprintf(expected, sizeof(expected),
		 "f:3:14: error: probes[0] (test): token_file: \"%s\": cannot read: No such file or directory\n", file);
	assert_refused(options, expected);

	file = file_with("\n", 1, 0600);
	snprintf(options, sizeof(options), "\"path\": \"x\", \"token_file\": \"%s\"", file);
	snprintf(expected, sizeof(expected), "f:3:14: error: probes[0] (test): token_file: \"%s\" is empty\n", file);
	assert_refused(options, expected);
	unlink(file);
	file = file_with("a\0b", 3, 0600);
	snprintf(options, sizeof(options), "\"path\": \"x\", \"token_file\": \"%s\"", file);
	snprintf(expected, sizeof(expected),
		 "f:3:14: error: probes[0] (test): token_file: \"%s\" holds a NUL byte: it is no text\n", file);
	assert_refused(options, expected);
	unlink(file);
	memset(large, 'x', sizeof(large));
	file = file_with(large, sizeof(large), 0600);
	snprintf(options, sizeof(options), "\"path\": \"x\", \"token_file\": \"%s\"", file);
	snprintf(
		expected, sizeof(expected),
		"f:3:14: error: probes[0] (test): token_file: \"%s\": larger than 65536 bytes: is it the right file?\n",
		file);
	assert_refused(options, expected);
	unlink(file);
	assert_refused(
		"\"path\": \"x\", \"token_file\": 7",
		"f:3:14: error: probes[0] (test): token_file: expected the path of a file, found the integer 7\n");
}

/* A file satisfies a required secret; but an option x_file that the plugin itself has is not that file. */
static void test_secret_companions(void **state)
{
	struct {
		const char *a, *b, *b_file;
	} values = { NULL, NULL, NULL };
	const struct skep_option options[] = {
		{ .name = "a",
		  .type = SKEP_O_STR,
		  .flags = SKEP_OPT_SECRET | SKEP_OPT_REQUIRED,
		  .offset = 0,
		  .help = "key" },
		{ .name = "b", .type = SKEP_O_STR, .flags = SKEP_OPT_SECRET, .offset = sizeof(char *), .help = "x" },
		{ .name = "b_file", .type = SKEP_O_STR, .offset = 2 * sizeof(char *), .help = "x" },
		{ .name = NULL },
	};
	const struct skep_plugin desc = {
		.name = "test", .options = options, .option_size = sizeof(options[0]), .state_size = sizeof(values)
	};
	const char *file = file_with("A", 1, 0600);
	char text[200];
	struct fixture f;

	(void)state;
	snprintf(text, sizeof(text), "\"a_file\": \"%s\", \"b\": \"B\", \"b_file\": \"/nowhere\"", file);
	apply_to(&f, &desc, &values, text);
	assert_int_equal(f.err, 0);
	assert_string_equal(values.a, "A");
	assert_string_equal(values.b, "B");
	assert_string_equal(values.b_file, "/nowhere");
	done(&f);
	unlink(file);
	apply_to(&f, &desc, &values, "");
	assert_int_equal(f.err, -EINVAL);
	assert_string_equal(f.diag.entries[0].text, "probes[0] (test): \"a\" or \"a_file\" is missing: key");
	done(&f);
}

/* A plugin built with a longer struct skep_option (a later minor version), and one without options. */
static void test_stride(void **state)
{
	struct later {
		struct skep_option option;
		uint64_t more[3];
	};
	int64_t values[2] = { 0, 0 };
	const struct later options[] = {
		{ { .name = "a", .type = SKEP_O_INT, .offset = 0, .default_value = "1", .help = "x" }, { 1, 2, 3 } },
		{ { .name = "b", .type = SKEP_O_INT, .offset = 8, .default_value = "2", .help = "x" }, { 1, 2, 3 } },
		{ { .name = NULL }, { 0, 0, 0 } },
	};
	const struct skep_plugin later = { .name = "test",
					   .options = &options[0].option,
					   .option_size = sizeof(options[0]),
					   .state_size = sizeof(values) };
	const struct skep_plugin bare = { .name = "test" };
	struct fixture f;

	(void)state;
	apply_to(&f, &later, values, "\"b\": 7");
	assert_int_equal(f.err, 0);
	assert_int_equal(values[0], 1);
	assert_int_equal(values[1], 7);
	done(&f);
	apply_to(&f, &bare, NULL, "");
	assert_int_equal(f.err, 0);
	done(&f);
	apply_to(&f, &bare, NULL, "\"b\": 7");
	assert_int_equal(f.err, -EINVAL);
	assert_string_equal(f.diag.entries[0].text,
			    "probes[0] (test): unknown option \"b\": see \"skepd --options test\"");
	done(&f);
}

static void test_bad_default(void **state)
{
	int64_t value = 0;
	const struct skep_option options[] = {
		{ .name = "a", .type = SKEP_O_INT, .default_value = "much", .help = "x" },
		{ .name = NULL },
	};
	const struct skep_plugin desc = {
		.name = "test", .options = options, .option_size = sizeof(options[0]), .state_size = sizeof(value)
	};
	struct fixture f;

	(void)state;
	apply_to(&f, &desc, &value, "");
	assert_int_equal(f.err, -EINVAL);
	assert_string_equal(
		f.diag.entries[0].text,
		"probes[0] (test): a: the plugin's own default \"much\" is no int: report it to its author");
	done(&f);
}

static void test_print(void **state)
{
	static const struct skep_plugin bare = { .name = "bare" };
	static const struct skep_option expire[] = {
		{ .name = "expire",
		  .type = SKEP_O_TIME,
		  .default_value = "5m",
		  .min = 1000000000,
		  .max = INT64_MAX,
		  .help = "when to forget" },
		{ 0 },
	};
	const struct skep_plugin unbounded = { .name = "unbounded", .options = expire, .option_size = sizeof(expire[0]) };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	options_print(&plugin, out);
	options_print(&unbounded, out);
	options_print(&bare, out);
	fclose(out);
	assert_string_equal(text,
			    "option   type     default       meaning\n"
			    "enabled  bool     true          on or off\n"
			    "other    bool     -             another\n"
			    "level    int      -3            how much (from -10 to 10)\n"
			    "ring     size     4MiB          bytes (from 4KiB to 1GiB)\n"
			    "drain    time     100ms         how often (from 1ms to 10s)\n"
			    "path     string   -             where to (required)\n"
			    "token    string   -             a secret (secret: also \"env:NAME\", or token_file)\n"
			    "names    strings  [ \"a\", \"b\" ]  some\n"
			    "words    strings  one           some more\n"
			    "keys     strings  -             secrets (secret)\n"
			    "option  type     default  meaning\n"
			    "expire  time     5m       when to forget (at least 1s)\n"
			    "bare has no options\n");
	free(text);
}

/* A configuration with a secret that every user can read: one warning for each option that has a secret. */
static void test_secret_that_others_read(void **state)
{
	static const struct {
		const char *options;
		size_t warnings;
	} cases[] = {
		{ "\"path\": \"x\", \"keys\": [ \"X-Key: abc\", \"X-Other: def\" ]", 1 },
		{ "\"path\": \"x\", \"keys\": [ \"X-Key: env:K\", \"password=abc\" ]", 1 },
		{ "\"path\": \"x\", \"keys\": [ \"X-Key: env:K\", \"password=file:/k\" ]", 0 },
		{ "\"path\": \"x\", \"words\": [ \"X-Key: abc\" ]", 0 },
		{ "\"path\": \"x\", \"token\": \"abc\"", 1 },
	};

	(void)state;
	for (int all = 0; all < 2; all++)
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			struct fixture f;

			others_read = all;
			apply(&f, cases[i].options);
			assert_int_equal(f.err, 0);
			assert_int_equal(f.diag.n, all ? cases[i].warnings : 0);
			for (size_t n = 0; n < f.diag.n; n++) {
				assert_non_null(strstr(f.diag.entries[n].text, "everybody can read"));
				assert_null(strstr(f.diag.entries[n].text, "abc"));
			}
			done(&f);
		}
	others_read = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_wrong_types),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_secret_environment),
		cmocka_unit_test(test_secret_file),
		cmocka_unit_test(test_secret_that_others_read),
		cmocka_unit_test(test_secret_companions),
		cmocka_unit_test(test_stride),
		cmocka_unit_test(test_bad_default),
		cmocka_unit_test(test_print),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
