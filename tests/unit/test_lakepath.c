/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_lakepath.c - the lake that skep uses by default.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/base/lakepath.h"

static void check(const char *want)
{
	char *path = NULL;

	assert_int_equal(lake_default_path(&path), 0);
	assert_string_equal(path, want);
	free(path);
}

static void variable(void **state)
{
	(void)state;
	setenv("SKEP_LAKE", "/tmp/my lake", 1);
	check("/tmp/my lake");
	unsetenv("SKEP_LAKE");
}

static void root(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	unsetenv("SKEP_LAKE");
	check("/var/lib/skep/lake");
	setenv("SKEP_LAKE", "", 1); /* an empty variable counts as unset */
	check("/var/lib/skep/lake");
	unsetenv("SKEP_LAKE");
}

/* Runs as another user, in a child because there is no way back. Returns 0 or the number of the failed step. */
static int as_user(void)
{
	char *path = NULL;
	int failed = 0;

	if (geteuid() == 0 && setuid(65534) != 0)
		return 9;
	unsetenv("SKEP_LAKE");
	setenv("HOME", "/home/bee", 1);
	setenv("XDG_DATA_HOME", "/data/bee", 1);
	if (lake_default_path(&path) || strcmp(path, "/data/bee/skep/lake") != 0)
		failed = 1;
	free(path);
	path = NULL;
	setenv("XDG_DATA_HOME", "relative", 1); /* the XDG specification demands to ignore it */
	if (lake_default_path(&path) || strcmp(path, "/home/bee/.local/share/skep/lake") != 0)
		failed = 2;
	free(path);
	path = NULL;
	unsetenv("XDG_DATA_HOME");
	unsetenv("HOME");
	if (lake_default_path(&path) != -ENOENT || path)
		failed = 3;
	return failed;
}

static void user(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	assert_true(child >= 0);
	if (child == 0)
		_exit(as_user());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void write_conf(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void expect_conf(const char *path, const char *text, int want_err, const char *want)
{
	char *lake = NULL, why[512] = "";
	int err;

	write_conf(path, text);
	err = lake_configured(&lake, why, sizeof(why));
	assert_int_equal(err, want_err);
	if (err)
		assert_non_null(strstr(why, want));
	else
		assert_string_equal(lake ? lake : "none", want);
	free(lake);
}

/* skep.conf names the lake, but $SKEP_LAKE comes first, and `skep run` writes to no server. */
static void configured(void **state)
{
	char dir[] = "/tmp/skep-lakepath.XXXXXX", path[64], *lake = NULL, why[512];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/skep", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/skep/skep.conf", dir);
	setenv("XDG_CONFIG_HOME", dir, 1);
	assert_int_equal(lake_configured(&lake, why, sizeof(why)), 0); /* no such file: nor one of the site here */
	assert_null(lake);
	expect_conf(path, "{}", 0, "none");
	expect_conf(path, "{ \"lake\": \"there\" }", -EINVAL, "skep.conf:1:");
	expect_conf(path, "{ \"lak\": \"/x\" }", -EINVAL, "lake");
	expect_conf(path, "{", -EINVAL, "skep.conf");
	assert_int_equal(lake_default_path(&lake), -EINVAL);
	expect_conf(path, "// mine\n{ \"lake\": \"/data/lake\" }", 0, "/data/lake");
	check("/data/lake");
	setenv("SKEP_LAKE", "/tmp/x", 1);
	check("/tmp/x");
	setenv("SKEP_LAKE", "clickhouse://host/db", 1);
	check("/data/lake");
	unsetenv("SKEP_LAKE");
	expect_conf(path, "{ \"lake\": \"clickhouse://host/db\" }", 0, "clickhouse://host/db");
	if (geteuid() == 0)
		check("/var/lib/skep/lake");
	unsetenv("XDG_CONFIG_HOME");
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	rmdir(dir);
}

static bool has_gate(const char *name, char near[ANALYSIS_SETTING_NAME])
{
	snprintf(near, ANALYSIS_SETTING_NAME, "gate.wall");
	return strcmp(name, "gate.wall") == 0 || strcmp(name, "idle-host.cores") == 0;
}

/* want: the thresholds that the file sets, or the beginning of the error, from the file's name on. */
static void expect_thresholds(const char *path, const char *text, const char *want)
{
	struct conf_threshold *list = NULL;
	char why[512] = "", got[512] = "";
	size_t n = 0;
	int err;

	write_conf(path, text);
	err = thresholds_configured(has_gate, &list, &n, why, sizeof(why));
	if (err)
		assert_ptr_equal(strstr(why, want), strstr(why, "skep.conf:"));
	for (size_t i = 0; i < n; i++) {
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s=%g ", list[i].name, list[i].value);
		free(list[i].name);
	}
	free(list);
	if (!err)
		assert_string_equal(got, want);
}

static void thresholds(void **state)
{
	char dir[] = "/tmp/skep-lakepath.XXXXXX", path[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/skep", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/skep/skep.conf", dir);
	setenv("XDG_CONFIG_HOME", dir, 1);
	expect_thresholds(path, "{}", "");
	expect_thresholds(path, "{ \"lake\": \"/x\", \"thresholds\": { \"gate.wall\": 10, \"idle-host.cores\": 0.05 } }",
			  "gate.wall=10 idle-host.cores=0.05 ");
	expect_thresholds(path, "{\n \"thresholds\": { \"gate.wal\": 10 } }",
			  "skep.conf:2:30: error: thresholds.gate.wal: there is no threshold 'gate.wal'; did you mean 'gate.wall'?");
	expect_thresholds(path, "{ \"thresholds\": { \"gate.wall\": -1 } }", "skep.conf:1:");
	expect_thresholds(path, "{ \"thresholds\": { \"gate.wall\": \"10\" } }", "skep.conf:1:");
	expect_thresholds(path, "{ \"thresholds\": [ 10 ] }", "skep.conf:1:");
	unsetenv("XDG_CONFIG_HOME");
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	rmdir(dir);
}

static void two_lakes(void **state)
{
	char dir[] = "/tmp/skep-lakepath.XXXXXX", *missing;
	bool both = true;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_true(asprintf(&missing, "%s/none", dir) > 0);
	assert_ptr_equal(lake_choose(missing, dir, &both), dir);
	assert_false(both);
	assert_ptr_equal(lake_choose(NULL, dir, &both), dir);
	assert_ptr_equal(lake_choose(dir, missing, &both), dir);
	assert_false(both);
	assert_ptr_equal(lake_choose(missing, missing, &both), missing);
	assert_false(both);
	assert_string_equal(lake_choose(dir, "/", &both), dir);
	assert_true(both);
	free(missing);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(variable),
		cmocka_unit_test(root),
		cmocka_unit_test(user),
		cmocka_unit_test(two_lakes),
		cmocka_unit_test(configured),
		cmocka_unit_test(thresholds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
