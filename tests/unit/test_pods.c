/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_pods.c - names of pods from the names of the kubelet's log files: forms, a pod that appears later,
 * folders that are missing, and an end while the folders are being listed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "core/base/intern.h"
#include "core/identify/pods.h"
#include "tests/unit/folder.h"

#define SECOND UINT64_C(1000000000)
#define UID "8b2f3a4c-1111-2222-3333-444455556666"
#define STATIC "0123456789abcdef0123456789abcdef"
#define C1 "3f4e8a6c1d2b5a7f9e0c4b6d8a1f3e5c7b9d0a2c4e6f8b1d3a5c7e9f0b2d4a6c"
#define C2 "a0b1c2d3e4f5061728394a5b6c7d8e9f0011223344556677889900aabbccddee"

static char dir[64];
static uv_loop_t loop;
static struct pods *pods;

static void add(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

/* "POD NAMESPACE CONTAINER", each "-" if not known. */
static const char *names(const char *uid, const char *container, uint64_t now_ns)
{
	static char text[256];
	struct skep_str a = text_str(uid), b = text_str(container);
	struct pod_names n;

	pods_find(pods, &a, &b, now_ns, &n);
	snprintf(text, sizeof(text), "%s %s %s", n.pod.len ? n.pod.ptr : "-", n.name_space.len ? n.name_space.ptr : "-",
		 n.container.len ? n.container.ptr : "-");
	return text;
}

static void turn(void)
{
	uv_run(&loop, UV_RUN_DEFAULT);
}

static int open_it(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/skep-pods-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(uv_loop_init(&loop), 0);
	pods = pods_new(&loop, dir);
	assert_non_null(pods);
	return 0;
}

static int close_it(void **state)
{
	(void)state;
	pods_stop(pods);
	pods_close(pods);
	pods = NULL;
	turn();
	assert_int_equal(uv_loop_close(&loop), 0);
	folder_remove(dir);
	return 0;
}

static void found(void **state)
{
	(void)state;
	add("pods");
	add("pods/batch_align-7x2_" UID);
	add("pods/kube-system_etcd-node1_" STATIC);
	add("pods/not a pod");
	add("pods/a_b_c_d");
	add("pods/_b_c");
	add("containers");
	add("containers/align-7x2_batch_bwa-" C1 ".log");
	add("containers/align-7x2_batch_bwa-" C2 ".txt");
	add("containers/x_y_z.log");
	assert_string_equal(names(UID, C1, SECOND), "- - -"); /* never waits */
	assert_true(pods_listing(pods)); /* skepd's stop does not wait for it */
	turn();
	assert_false(pods_listing(pods));
	assert_string_equal(names(UID, C1, SECOND), "align-7x2 batch bwa");
	assert_string_equal(names(UID, C2, SECOND), "align-7x2 batch -");
	assert_string_equal(names(STATIC, "", SECOND), "etcd-node1 kube-system -");
	assert_string_equal(names("", C1, SECOND), "align-7x2 batch bwa");
	assert_string_equal(names("", "", SECOND), "- - -");
	assert_string_equal(names("c", "", SECOND), "- - -");
	assert_string_equal(names("8b2f3a4c", "", SECOND), "- - -");
}

static void later(void **state)
{
	(void)state;
	add("pods");
	names(UID, "", 10 * SECOND);
	turn();
	add("pods/batch_align_" UID);
	add("containers");
	names(UID, "", 10 * SECOND + SECOND / 2); /* at most once a second */
	turn();
	assert_string_equal(names(UID, "", 11 * SECOND), "- - -");
	turn();
	assert_string_equal(names(UID, C1, 11 * SECOND), "align batch -");
	turn();
	/* the container's log comes after its first process */
	add("containers/align_batch_bwa-" C1 ".log");
	names(UID, C1, 13 * SECOND);
	turn();
	assert_string_equal(names(UID, C1, 13 * SECOND), "align batch bwa");
}

/* An id that is never found makes skep list the folders six times in the first minute, then once a minute. */
static void never(void **state)
{
	unsigned listings = 0;

	(void)state;
	for (uint64_t second = 1; second <= 600; second++) {
		names("no-such-pod", "", second * SECOND);
		listings += uv_loop_alive(&loop) ? 1 : 0;
		turn();
	}
	assert_in_range(listings, 10, 16);
	/* and does not keep it from looking for another pod */
	add("pods");
	add("pods/batch_align_" UID);
	names(UID, "", 602 * SECOND);
	turn();
	assert_string_equal(names(UID, "", 602 * SECOND), "align batch -");
}

static void closed_meanwhile(void **state)
{
	(void)state;
	add("pods");
	names(UID, "", SECOND);
	assert_true(uv_loop_alive(&loop));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, open_it, close_it)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(found),
		TEST(later),
		TEST(never),
		TEST(closed_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
