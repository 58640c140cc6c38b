/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_privilege.c - cli/base/privilege.c: the verdict on other machines, and the facts of this one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/privilege.h"

#define CAP(n)  (UINT64_C(1) << (n))
#define BPF     CAP(39)
#define PERFMON CAP(38)

static char *const command_line[] = {
	(char *)"run", (char *)"--name", (char *)"a b", (char *)"--", (char *)"make", NULL
};

/* A machine without any problem. */
static struct privilege_facts good(void)
{
	struct privilege_facts facts = {
		.kernel_major = 6,
		.kernel_minor = 1,
		.release = "6.1.0-18-amd64",
		.capabilities = BPF | PERFMON,
		.btf = true,
		.uid = 1000,
		.exe = "/opt/my skep/bin/skep",
	};

	return facts;
}

static bool judge(const struct privilege_facts *facts, char **ret_text)
{
	size_t size;
	FILE *out = open_memstream(ret_text, &size);
	bool verdict;

	assert_non_null(out);
	verdict = privilege_check(facts, command_line, out);
	fclose(out);
	return verdict;
}

static void refused(struct privilege_facts facts, const char *const *wanted, const char *unwanted)
{
	char *text;

	assert_false(judge(&facts, &text));
	for (; *wanted; wanted++)
		if (!strstr(text, *wanted))
			fail_msg("\"%s\" is not in:\n%s", *wanted, text);
	if (unwanted && strstr(text, unwanted))
		fail_msg("\"%s\" is in:\n%s", unwanted, text);
	free(text);
}
#define REFUSED(facts_, unwanted_, ...) refused(facts_, (const char *const[]) { __VA_ARGS__, NULL }, unwanted_)

static void allowed(struct privilege_facts facts)
{
	char *text;

	assert_true(judge(&facts, &text));
	assert_string_equal(text, "");
	free(text);
}

static void enough(void **state)
{
	struct privilege_facts facts = good();

	(void)state;
	allowed(facts);
	facts.capabilities = CAP(CAP_SYS_ADMIN);
	allowed(facts);
	facts.kernel_major = 5;
	facts.kernel_minor = 10;
	facts.capabilities |= CAP(CAP_SYS_RESOURCE);
	allowed(facts);
}

static void a_capability_is_missing(void **state)
{
	struct privilege_facts facts = good();

	(void)state;
	facts.bpf_error = -1;
	facts.capabilities = 0;
	REFUSED(facts, "CAP_SYS_RESOURCE", "lacks CAP_BPF and CAP_PERFMON", "uid 1000",
		"sudo '/opt/my skep/bin/skep' run --name 'a b' -- make\n",
		"collects this for you without a privilege", "systemctl start skepd");
	facts.capabilities = BPF;
	REFUSED(facts, "lacks CAP_BPF", "lacks CAP_PERFMON");
	facts.capabilities = PERFMON;
	REFUSED(facts, "and CAP_PERFMON.", "lacks CAP_BPF");
	facts = good();
	facts.kernel_major = 5;
	facts.kernel_minor = 10;
	facts.bpf_error = -1;
	REFUSED(facts, "lacks CAP_BPF", "lacks CAP_SYS_RESOURCE");
}

static void no_remedy_that_would_not_help(void **state)
{
	struct privilege_facts facts = good();

	(void)state;
	facts.capabilities = 0;
	facts.bpf_error = -1;
	facts.no_new_privs = true;
	REFUSED(facts, "setcap", "no_new_privs");
	facts.no_new_privs = false;
	facts.file_has_caps = true;
	REFUSED(facts, NULL, "nosuid", "getcap");
	facts.file_has_caps = false;
	facts.wrapped = true;
	REFUSED(facts, "setcap", "sudo '/opt/my skep/bin/skep' run");
	facts.wrapped = false;
	facts.file_has_caps = true;
	facts = good();
	facts.capabilities = 0;
	facts.bpf_error = -1;
	facts.uid = 0;
	REFUSED(facts, "sudo", "--cap-add BPF --cap-add PERFMON");
}

static void refused_in_spite_of_capabilities(void **state)
{
	struct privilege_facts facts = good();

	(void)state;
	facts.bpf_error = EPERM;
	REFUSED(facts, "namespace (", "refused a trivial BPF program", "see the kernel log");
	facts.seccomp = true;
	REFUSED(facts, "see the kernel log", "seccomp", "--cap-add BPF");
	facts.user_namespace = true;
	facts.lockdown = true;
	snprintf(facts.lsm, sizeof(facts.lsm), "capability,selinux,bpf");
	REFUSED(facts, NULL, "user namespace", "confidentiality", "capability,selinux,bpf");
}

static void a_kernel_that_cannot(void **state)
{
	struct privilege_facts facts = good();

	(void)state;
	facts.btf = false;
	REFUSED(facts, "sudo", "/sys/kernel/btf/vmlinux", "CONFIG_DEBUG_INFO_BTF=y");
	facts = good();
	facts.bpf_error = ENOSYS;
	REFUSED(facts, "sudo", "CONFIG_BPF_SYSCALL");
	facts = good();
	facts.kernel_major = 5;
	facts.kernel_minor = 4;
	snprintf(facts.release, sizeof(facts.release), "5.4.0-42-generic");
	REFUSED(facts, "sudo", "5.4.0-42-generic", "5.8");
	facts.kernel_major = 4;
	facts.kernel_minor = 19;
	REFUSED(facts, "sudo", "5.8");
}

static void facts_of_this_machine(void **state)
{
	struct privilege_facts facts;
	struct utsname name;
	char start[32];

	(void)state;
	privilege_facts(&facts);
	assert_int_equal(uname(&name), 0);
	snprintf(start, sizeof(start), "%u.%u", facts.kernel_major, facts.kernel_minor);
	assert_memory_equal(name.release, start, strlen(start));
	assert_int_equal(facts.uid, getuid());
	assert_int_equal(facts.btf, access("/sys/kernel/btf/vmlinux", R_OK) == 0);
	assert_non_null(strstr(facts.exe, "test_privilege"));
	assert_false(facts.no_new_privs);
	if (facts.capabilities == 0)
		assert_int_equal(facts.bpf_error, -1);
}

/* The permanent changes of prctl(), in a child. */
static void facts_see_no_new_privs(void **state)
{
	struct privilege_facts facts;
	int status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		privilege_facts(&facts);
		_exit(facts.no_new_privs ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(enough),
		cmocka_unit_test(a_capability_is_missing),
		cmocka_unit_test(no_remedy_that_would_not_help),
		cmocka_unit_test(refused_in_spite_of_capabilities),
		cmocka_unit_test(a_kernel_that_cannot),
		cmocka_unit_test(facts_of_this_machine),
		cmocka_unit_test(facts_see_no_new_privs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
