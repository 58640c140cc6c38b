/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/base/mountinfo.c: lines as the kernel writes them, lines that are none, names with blanks.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <skep/mountinfo.h>

static int parse(const char *text, struct skep_mount *ret)
{
	static char line[512];

	snprintf(line, sizeof(line), "%s", text);
	return skep_mountinfo_line(line, ret);
}

static void lines(void **state)
{
	struct skep_mount m;

	(void)state;
	assert_int_equal(parse("36 35 0:45 /of\\040it /mnt/a\\040b\\134c rw,noatime shared:1 master:2 - nfs4 server:/x\\011y rw,vers=4.2\n",
			       &m),
			 0);
	assert_int_equal(m.major, 0);
	assert_int_equal(m.minor, 45);
	assert_string_equal(m.root, "/of it");
	assert_string_equal(m.path, "/mnt/a b\\c");
	assert_string_equal(m.options, "rw,noatime");
	assert_string_equal(m.type, "nfs4");
	assert_string_equal(m.source, "server:/x\ty");
	assert_string_equal(m.super_options, "rw,vers=4.2");

	/* no optional field; no source; the hyphen of another field */
	assert_int_equal(parse("36 35 4294967295:1 / /- rw - 9p  rw", &m), 0);
	assert_true(m.major == UINT32_MAX);
	assert_string_equal(m.path, "/-");
	assert_string_equal(m.type, "9p");
	assert_string_equal(m.source, "");
	assert_string_equal(m.super_options, "rw");
}

static void no_lines(void **state)
{
	static const char *const bad[] = {
		"",
		"\n",
		"27",
		"1 2 3:4 / /x\n",
		"27 1 254:3 / / rw",
		"27 1 254:3 / / rw -",
		"27 1 254:3 / / rw ext4 /dev/vda rw",
		"27 1 254 / / rw - ext4 /dev/vda rw",
		"a 1 254:3 / / rw - ext4 d rw",
		"27 -1 254:3 / / rw - ext4 d rw",
		"27 1 254:3 / relative rw - ext4 /dev/vda rw",
		"27 1 254:3 / / rw - ext4",
		"27 1 254:3 / / rw shared:1 - ext4 /dev/vda",
		"27 1 :3 / / rw - ext4 a rw",
		"27 1 254: / / rw - ext4 a rw",
		"27 1 254:x / / rw - ext4 a rw",
		"27 1 254:3x / / rw - ext4 a rw",
		"27 1 4294967296:3 / / rw - ext4 a rw",
		"27 1 99999999999999999999999:3 / / rw - ext4 a rw",
	};
	struct skep_mount m;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (parse(bad[i], &m) != -EBADMSG)
			fail_msg("%s", bad[i]);
}

static void escapes(void **state)
{
	static const struct {
		const char *from, *to;
	} cases[] = {
		{ "", "" },
		{ "\\040\\011\\012\\134\\043", " \t\n\\#" },
		{ "\\303\\244", "\xc3\xa4" },
		{ "\\134040", "\\040" }, /* the kernel wrote a backslash */
		{ "\\", "\\" },
		{ "\\04", "\\04" },
		{ "\\048", "\\048" },
		{ "\\000\\400", "\\000\\400" }, /* no byte of a name */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[64];

		snprintf(text, sizeof(text), "%s", cases[i].from);
		skep_mountinfo_unescape(text);
		assert_string_equal(text, cases[i].to);
	}
}

static void options(void **state)
{
	(void)state;
	assert_true(skep_mount_has("rw,cpu,cpuacct", "cpuacct"));
	assert_true(skep_mount_has("ro", "ro"));
	assert_false(skep_mount_has("rw,cpuacct2,x=cpuacct,cpu", "cpuacct"));
	assert_false(skep_mount_has("", "ro"));
}

static void file(void **state)
{
	char text[] = "1 0 8:1 / / rw - ext4 /dev/sda rw\nnonsense\n2 1 0:3 / /proc rw - proc proc rw";
	struct skep_mountinfo info = { .file = fmemopen(text, strlen(text), "r") };
	struct skep_mount m;

	(void)state;
	assert_true(skep_mountinfo_next(&info, &m));
	assert_string_equal(m.path, "/");
	assert_true(skep_mountinfo_next(&info, &m));
	assert_string_equal(m.path, "/proc");
	assert_false(skep_mountinfo_next(&info, &m));
	assert_int_equal(info.bad, 1);
	skep_mountinfo_close(&info);
	assert_false(skep_mountinfo_next(&info, &m));

	assert_int_equal(skep_mountinfo_open(&info, AT_FDCWD, "/nonexistent"), -ENOENT);
	assert_int_equal(skep_mountinfo_open(&info, AT_FDCWD, "/proc/self/mountinfo"), 0);
	assert_true(skep_mountinfo_next(&info, &m));
	while (skep_mountinfo_next(&info, &m))
		;
	assert_int_equal(info.bad, 0);
	skep_mountinfo_close(&info);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),   cmocka_unit_test(no_lines), cmocka_unit_test(escapes),
		cmocka_unit_test(options), cmocka_unit_test(file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
