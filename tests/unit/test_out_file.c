/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_out_file.c - a file appears whole, or the file that was there stays.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/base/out_file.h"

static char dir[64], path[96], link_[96];

static void put(const char *text, int err, int want)
{
	struct out_file out;

	assert_int_equal(out_file_open(path, &out), 0);
	fputs(text, out.stream);
	assert_int_equal(out_file_close(&out, err), want);
}

static void expect(const char *want)
{
	char got[64] = "";
	FILE *f = fopen(path, "re");

	assert_non_null(f);
	assert_int_equal(fread(got, 1, sizeof(got) - 1, f), strlen(want));
	fclose(f);
	assert_string_equal(got, want);
}

static void whole_or_old(void **state)
{
	struct stat st;
	mode_t mask = umask(027);

	(void)state;
	put("first", -EIO, -EIO);
	assert_int_equal(access(path, F_OK), -1);
	put("first", 0, 0);
	expect("first");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(chmod(path, 0604), 0);
	put("second", -ENOSPC, -ENOSPC);
	expect("first");
	put("third", 0, 0);
	expect("third");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0604);
	umask(mask);
}

static void links_and_devices(void **state)
{
	struct out_file out;
	struct stat st;

	(void)state;
	assert_int_equal(symlink(path, link_), 0);
	assert_int_equal(out_file_open(link_, &out), 0);
	fputs("by the link", out.stream);
	assert_int_equal(out_file_close(&out, 0), 0);
	expect("by the link");
	assert_int_equal(lstat(link_, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(unlink(link_), 0);
	assert_int_equal(out_file_open("/dev/null", &out), 0);
	assert_int_equal(out_file_close(&out, 0), 0);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(out_file_open("/dev/full", &out), 0);
	fputs("x", out.stream);
	assert_int_equal(out_file_close(&out, 0), -ENOSPC);
	snprintf(link_, sizeof(link_), "%s/none/file", dir);
	assert_int_equal(out_file_open(link_, &out), -ENOENT);
}

/* A shell's >(command). */
static void a_pipe_by_its_descriptor(void **state)
{
	struct out_file out;
	char name[32], got[8] = "";
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	snprintf(name, sizeof(name), "/dev/fd/%d", fds[1]);
	assert_int_equal(out_file_later(name, &out), 0);
	assert_non_null(out.stream);
	assert_int_equal(out_file_now(&out), 0);
	fputs("piped", out.stream);
	assert_int_equal(out_file_close(&out, 0), 0);
	assert_int_equal(read(fds[0], got, sizeof(got)), 5);
	assert_string_equal(got, "piped");
	close(fds[0]);
	close(fds[1]);
}

/* Until it is written, the old file stays, and nothing is beside it. */
static void later(void **state)
{
	struct out_file out;

	(void)state;
	put("old", 0, 0);
	assert_int_equal(out_file_later(path, &out), 0);
	assert_null(out.stream);
	expect("old");
	assert_int_equal(out_file_close(&out, -ECANCELED), -ECANCELED);
	expect("old");
	assert_int_equal(out_file_later(path, &out), 0);
	assert_int_equal(out_file_now(&out), 0);
	fputs("new", out.stream);
	expect("old");
	assert_int_equal(out_file_close(&out, 0), 0);
	expect("new");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(out_file_later(path, &out), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(out_file_close(&out, -ECANCELED), -ECANCELED);
	assert_int_equal(access(path, F_OK), -1);
	snprintf(link_, sizeof(link_), "%s/none/file", dir);
	assert_int_equal(out_file_later(link_, &out), -ENOENT);
}

/* Its owner and its other names stay. */
static void owner_and_names(void **state)
{
	struct stat before, after;

	(void)state;
	put("mine", 0, 0);
	snprintf(link_, sizeof(link_), "%s/link", dir);
	assert_int_equal(link(path, link_), 0);
	put("both", 0, 0);
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(stat(link_, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(unlink(link_), 0);
	if (geteuid() != 0)
		return;
	assert_int_equal(chown(path, 65534, 65534), 0);
	put("theirs", 0, 0);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(after.st_uid, 65534);
	assert_int_equal(after.st_gid, 65534);
	expect("theirs");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_or_old),
		cmocka_unit_test(links_and_devices),
		cmocka_unit_test(a_pipe_by_its_descriptor),
		cmocka_unit_test(later),
		cmocka_unit_test(owner_and_names),
	};
	int failed;

	snprintf(dir, sizeof(dir), "/tmp/skep-out-file.XXXXXX");
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/file", dir);
	snprintf(link_, sizeof(link_), "%s/link", dir);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	if (rmdir(dir) != 0) /* nothing else may be left in it */
		failed++;
	return failed;
}
