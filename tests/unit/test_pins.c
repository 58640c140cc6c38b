/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_pins.c - core/plugin/pins.c: skepd does not use a folder of pins that another user could have filled,
 * and adopts no object that another user has pinned. In a BPF filesystem of the test's own, with mode 1777 as any user
 * may mount one.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/plugin/pins.h"

#define OTHER 65534

static char root[] = "/tmp/skep-pins.XXXXXX";
static char why[1024];

static char *path(const char *name)
{
	static char text[8][256];
	static unsigned i;

	i = (i + 1) % 8;
	snprintf(text[i], sizeof(text[i]), "%s/bpf/%s", root, name);
	return text[i];
}

static void refused(const char *dir, const char *text)
{
	struct pins p;

	assert_int_equal(pins_open(&p, dir, why, sizeof(why)), -EPERM);
	assert_null(p.dir);
	if (!strstr(why, text))
		fail_msg("\"%s\" is not in: %s", text, why);
}

/* Whether a starting skepd adopts what the last skepd left; this skepd leaves its own. */
static bool adopts(const char *dir)
{
	struct pins_map map = {
		.name = "m", .type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1
	};
	const char *failed = NULL;
	bool adopted = false;
	struct pins p;

	assert_int_equal(pins_open(&p, dir, why, sizeof(why)), 0);
	assert_int_equal(pins_maps(&p, "t", &map, 1, &adopted, &failed), 0);
	close(map.fd);
	pins_close(&p);
	return adopted;
}

static void another_users_folder(void **state)
{
	char *dir = path("folder");

	(void)state;
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(chown(dir, OTHER, OTHER), 0);
	refused(dir, "(uid 65534, mode 0700) is not owned by root");
	assert_int_equal(chown(dir, 0, 0), 0);
	assert_int_equal(chmod(dir, 0770), 0);
	refused(dir, "mode 0770) can be written by other users");
	assert_int_equal(chmod(dir, 0700), 0);
	assert_false(adopts(dir));
	assert_int_equal(pins_remove(dir), 1);
}

/* A lock of its owner must not make another user's folder look like a skepd's. */
static void another_users_lock(void **state)
{
	char *dir = path("locked");
	FILE *held;

	(void)state;
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(chown(dir, OTHER, OTHER), 0);
	held = fopen(dir, "r");
	assert_non_null(held);
	assert_int_equal(flock(fileno(held), LOCK_EX), 0);
	refused(dir, "is not owned by root");
	fclose(held);
	assert_int_equal(pins_remove(dir), 0);
}

static void another_users_folder_above(void **state)
{
	char *above = path("above"), *dir = path("above/folder");

	(void)state;
	assert_int_equal(mkdir(above, 0755), 0);
	assert_int_equal(chown(above, OTHER, OTHER), 0);
	refused(dir, "is owned by uid 65534, which can replace");
	assert_int_equal(pins_remove(dir), 0);
	assert_int_equal(rmdir(above), 0);
}

static void another_users_objects(void **state)
{
	char *dir = path("ours"), *object = path("ours/t_m");

	(void)state;
	assert_false(adopts(dir));
	assert_true(adopts(dir));
	assert_int_equal(chown(object, OTHER, OTHER), 0);
	assert_false(adopts(dir));
	assert_true(adopts(dir)); /* its own folder, which has replaced the other */
	assert_int_equal(chmod(object, 0666), 0);
	assert_false(adopts(dir));
	/* an object of an instance, where plugins look */
	object = path("ours/proc");
	assert_int_equal(mkdir(object, 0700), 0);
	assert_true(adopts(dir));
	object = path("ours/proc/proc@1-2");
	assert_int_equal(mkdir(object, 0700), 0);
	assert_int_equal(chown(object, OTHER, OTHER), 0);
	assert_false(adopts(dir));
	assert_int_equal(access(object, F_OK), -1);
	assert_int_equal(pins_remove(dir), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_users_folder),
		cmocka_unit_test(another_users_lock),
		cmocka_unit_test(another_users_folder_above),
		cmocka_unit_test(another_users_objects),
	};
	int failed;

	if (geteuid() != 0) {
		puts("skip: needs root (BPF)");
		return 77;
	}
	if (!mkdtemp(root) || mkdir(path(""), 0755) < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("bpf", path(""), "bpf", 0, "mode=1777") < 0) {
		puts("skip: needs to mount a BPF filesystem");
		return 77;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	umount(path(""));
	rmdir(path(""));
	rmdir(root);
	return failed;
}
