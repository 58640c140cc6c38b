/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of capabilities, and the capabilities that a process keeps. The latter in a child, because a process cannot get
 * them back.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/confine.h"

static void test_names(void **state)
{
	(void)state;
	/*
	 * The first name, the last of a row, and the neighbours of late additions: one name too many or too few shifts
	 * all behind it.
	 */
	assert_int_equal(confine_capability("CAP_CHOWN"), CAP_CHOWN);
	assert_int_equal(confine_capability("CAP_SETUID"), CAP_SETUID);
	assert_int_equal(confine_capability("CAP_NET_ADMIN"), CAP_NET_ADMIN);
	assert_int_equal(confine_capability("CAP_IPC_OWNER"), CAP_IPC_OWNER);
	assert_int_equal(confine_capability("CAP_SYS_RAWIO"), CAP_SYS_RAWIO);
	assert_int_equal(confine_capability("CAP_SYS_PTRACE"), CAP_SYS_PTRACE);
	assert_int_equal(confine_capability("cap_sys_admin"), CAP_SYS_ADMIN);
	assert_int_equal(confine_capability("CAP_SETFCAP"), CAP_SETFCAP);
	assert_int_equal(confine_capability("Cap_Syslog"), CAP_SYSLOG);
	assert_int_equal(confine_capability("CAP_AUDIT_READ"), CAP_AUDIT_READ);
	assert_int_equal(confine_capability("CAP_PERFMON"), 38);
	assert_int_equal(confine_capability("CAP_BPF"), 39);
	assert_int_equal(confine_capability("CAP_CHECKPOINT_RESTORE"), 40);
	assert_int_equal(confine_capability("BPF"), -1);
	assert_int_equal(confine_capability("CAP_"), -1);
	assert_int_equal(confine_capability("CAP_BPFX"), -1);
	assert_int_equal(confine_capability(""), -1);
}

static void test_text(void **state)
{
	char text[512], small[12];

	(void)state;
	confine_text(UINT64_C(1) << CAP_SYS_PTRACE | UINT64_C(1) << 39, text, sizeof(text));
	assert_string_equal(text, "CAP_SYS_PTRACE CAP_BPF");
	confine_text(UINT64_C(1) << 63, text, sizeof(text));
	assert_string_equal(text, "63");
	confine_text(0, text, sizeof(text));
	assert_string_equal(text, "");
	confine_text(UINT64_MAX, small, sizeof(small));
	assert_string_equal(small, "CAP_CHOWN C");
}

/* 0: every step succeeded; else the number of the first that failed. */
static int confined(void)
{
	const char *keep[] = { "CAP_SYS_RAWIO", NULL };
	const uint64_t gone = UINT64_C(1) << CAP_SYS_MODULE | UINT64_C(1) << CAP_SYS_BOOT | UINT64_C(1) << CAP_NET_RAW;
	uint64_t left = 0, again = 0;
	struct rlimit core;

	confine_memory();
	if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
		return 1;
	if (getrlimit(RLIMIT_CORE, &core) < 0 || core.rlim_max != 0)
		return 2;
	if (confine_capabilities(keep, &left) != 0)
		return 3;
	if (left & gone)
		return 4;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return 5;
	if (geteuid() == 0 && prctl(PR_CAPBSET_READ, CAP_SYS_MODULE, 0, 0, 0) > 0)
		return 6;
	/* A second call changes nothing unless fewer capabilities are kept. */
	if (confine_capabilities(NULL, &again) != 0 || (again & ~left) || again & UINT64_C(1) << CAP_SYS_RAWIO)
		return 7;
	return again == (left & ~(UINT64_C(1) << CAP_SYS_RAWIO)) ? 0 : 8;
}

static void test_confined(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(confined());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_confined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
