/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe "identity" as a whole, on a tree of files that changes between two samples.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <skep/mock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/folder.h"

static char root[64];
static struct skep_mock m;

static const char *below_root(const char *path)
{
	static char full[256];

	assert_true((size_t)snprintf(full, sizeof(full), "%s/%s", root, path) < sizeof(full));
	for (char *at = full + strlen(root) + 1; *at; at++)
		if (*at == '/') {
			*at = '\0';
			assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
			*at = '/';
		}
	return full;
}

static void write_file(const char *path, const char *text)
{
	FILE *out = fopen(below_root(path), "we");

	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(root, "/tmp/skep-identity.XXXXXX");
	assert_non_null(mkdtemp(root));
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.quiet = true;
	skep_mock_option(&m, "root", root);
	write_file("proc/sys/kernel/hostname", "node7\n");
	write_file("proc/sys/kernel/osrelease", "6.1.0-test\n");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	assert_int_equal(skep_mock_end(&m), 0);
	return folder_remove(root);
}

static const char *text(const char *field)
{
	return skep_mock_str(skep_mock_record(&m, "host.identity", -1), field);
}

static uint64_t number(const char *field)
{
	return skep_mock_u64(skep_mock_record(&m, "host.identity", -1), field);
}

/* Records of one sample. */
static unsigned step(void)
{
	skep_mock_forget(&m);
	skep_mock_sample(&m);
	return skep_mock_count(&m, "host.identity");
}

static void record(void **state)
{
	const char *why;

	(void)state;
	write_file("etc/machine-id", "3d1219c7c4c5404aaa1f6d2a48adfda4\n");
	write_file("usr/lib/os-release", "ID=sles\nVERSION_ID=\"15.5\"\nPRETTY_NAME=\"SUSE Linux\"\n");
	write_file("proc/cpuinfo", "processor\t: 0\nmodel name\t: A CPU\nflags\t: fpu\n\n");
	write_file("proc/meminfo", "MemTotal:       1000 kB\nMemFree:         200 kB\n");
	write_file("sys/devices/system/cpu/online", "0-3\n");
	for (int i = 0; i < 4; i++) { /* two cores of two threads, in one socket */
		char path[128];

		snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", i);
		write_file(path, i % 2 ? "1,3\n" : "0,2\n");
		snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/topology/core_siblings_list", i);
		write_file(path, "0-3\n");
	}
	write_file("sys/devices/system/node/online", "0-1\n");
	write_file("sys/class/dmi/id/sys_vendor", "QEMU\n");
	write_file("sys/class/dmi/id/product_name", "Standard PC\n");
	/* a container image's file, but the initial namespaces: a machine whose disk was made from such an image */
	write_file(".dockerenv", "");
	assert_int_equal(symlink("pid:[4026531836]", below_root("proc/self/ns/pid")), 0);
	assert_int_equal(skep_mock_start(&m), 0);
	assert_int_equal(skep_mock_signal(&m, "host.identity", NULL, NULL), SKEP_SIGNAL_OK);
	assert_int_equal(skep_mock_signal(&m, "host.cloud", NULL, &why), SKEP_SIGNAL_OFF);
	assert_string_equal(why, "option cloud is \"off\"");
	assert_int_equal(step(), 1);
	assert_string_equal(text("host.name"), "node7");
	assert_string_equal(text("host.id"), "f61a9894479d4acabed4afb8f1c3f47a");
	assert_string_equal(text("os.name"), "sles");
	assert_string_equal(text("os.description"), "SUSE Linux");
	assert_string_equal(text("os.kernel.release"), "6.1.0-test");
	assert_string_equal(text("host.cpu.model.name"), "A CPU");
	assert_int_equal(number("system.cpu.logical.count"), 4);
	assert_int_equal(number("system.cpu.physical.count"), 2);
	assert_int_equal(number("host.cpu.sockets"), 1);
	assert_int_equal(number("host.numa.nodes"), 2);
	assert_int_equal(number("system.memory.limit"), 1024000);
	assert_string_equal(text("host.hypervisor"), "qemu");
	assert_string_equal(text("hw.vendor"), "QEMU");
	assert_string_equal(text("container.runtime"), "");
	assert_string_equal(text("cloud.provider"), "");
	assert_int_equal(step(), 0);
	write_file("proc/sys/kernel/hostname", "node8\n");
	assert_int_equal(step(), 1);
	assert_string_equal(text("host.name"), "node8");
	assert_int_equal(step(), 0);
	write_file("sys/devices/system/cpu/online", "0-2\n");
	assert_int_equal(step(), 1);
	assert_int_equal(number("system.cpu.logical.count"), 3);
	assert_int_equal(number("system.cpu.physical.count"), 2);
	assert_int_equal(step(), 0);
	/* as many CPUs, but others */
	write_file("sys/devices/system/cpu/online", "0,2-3\n");
	assert_int_equal(step(), 1);
	assert_int_equal(number("system.cpu.physical.count"), 1);
	assert_int_equal(step(), 0);
	/* memory: less than 1 % is none, also when it comes bit by bit, until it is */
	write_file("proc/meminfo", "MemTotal:       1005 kB\nMemFree:         200 kB\n");
	assert_int_equal(step(), 0);
	write_file("proc/meminfo", "MemTotal:       1010 kB\nMemFree:         200 kB\n");
	assert_int_equal(step(), 1);
	assert_int_equal(number("system.memory.limit"), 1010 * 1024);
	assert_int_equal(step(), 0);
	write_file("proc/meminfo", "MemTotal:        505 kB\nMemFree:         200 kB\n");
	assert_int_equal(step(), 1);
	assert_int_equal(number("system.memory.limit"), 505 * 1024);
	/* a file that cannot be read is no change */
	write_file("proc/meminfo", "");
	assert_int_equal(step(), 0);
}

static void in_a_container(void **state)
{
	(void)state;
	write_file(".dockerenv", "");
	assert_int_equal(symlink("pid:[4026532441]", below_root("proc/self/ns/pid")), 0);
	write_file("etc/machine-id", "uninitialized\n");
	assert_int_equal(skep_mock_start(&m), 0);
	assert_int_equal(skep_mock_signal(&m, "host.identity", NULL, NULL), SKEP_SIGNAL_PARTIAL);
	assert_int_equal(step(), 1);
	assert_string_equal(text("container.runtime"), "docker");
	assert_string_equal(text("host.id"), "");
}

static void bad_options(void **state)
{
	static const struct {
		const char *option, *value, *why;
		int err;
	} cases[] = {
		{ "root", "relative/path", "\"relative/path\" is not an absolute path", -EINVAL },
		{ "root", "/no/such/folder", "/no/such/folder: No such file", -ENOENT },
		{ "cloud", "amazon", "\"amazon\" is none of off, auto, aws, gcp, azure", -EINVAL },
		{ "cloud_endpoint", "metadata:80", "\"metadata:80\" is not an IPv4 address", -EINVAL },
	};

	(void)state;
	skep_mock_end(&m);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		skep_mock_init(&m, skep_plugin_entry(NULL));
		m.quiet = true;
		skep_mock_option(&m, cases[i].option, cases[i].value);
		assert_int_equal(skep_mock_start(&m), cases[i].err);
		assert_non_null(strstr(m.why, cases[i].why));
		if (i + 1 < sizeof(cases) / sizeof(cases[0]))
			skep_mock_end(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(record, set_up, tear_down),
		cmocka_unit_test_setup_teardown(in_a_container, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bad_options, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
