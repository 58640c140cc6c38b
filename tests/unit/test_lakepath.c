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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
