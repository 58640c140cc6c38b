/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the probe "example" on this kernel, under the mock host.  Without the privilege to load BPF programs it skips
 * the rest: exit status 77, with the reason.
 */
#include <signal.h>
#include <skep/mock.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Starts a child that waits; this test sends it the signals that the probe reports. */
static pid_t child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	SKEP_MOCK_CHECK(pid > 0);
	return pid;
}

static const struct skep_mock_record *find(const struct skep_mock *m, pid_t pid, int sig)
{
	for (int i = 0; i < (int)skep_mock_count(m, "example.signal"); i++) {
		const struct skep_mock_record *r = skep_mock_record(m, "example.signal", i);

		if (skep_mock_who(r).pid == (uint32_t)pid && skep_mock_i64(r, "process.signal.number") == sig)
			return r;
	}
	return NULL;
}

int main(void)
{
	const struct skep_mock_record *r;
	struct skep_mock m;
	pid_t pid;
	int err;

	/* close() accepts a state that was only opened */
	skep_mock_init(&m, skep_plugin_entry(NULL));
	SKEP_MOCK_CHECK(skep_mock_open(&m) == 0);
	SKEP_MOCK_CHECK(skep_mock_end(&m) == 0);

	/* no ring watch: start() fails half-way, and close() undoes it */
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.fail_watch = -ENOMEM;
	err = skep_mock_start(&m);
	if (err == -EPERM) {
		printf("test_example: skip: %s\n", m.why);
		return 77;
	}
	SKEP_MOCK_CHECK(err == -ENOMEM);
	SKEP_MOCK_CHECK(skep_mock_end(&m) == 0);

	skep_mock_init(&m, skep_plugin_entry(NULL));
	SKEP_MOCK_CHECK(skep_mock_start(&m) == 0);
	SKEP_MOCK_CHECK(skep_mock_signal(&m, "process.signal", NULL, NULL) == SKEP_SIGNAL_OK);
	pid = child();
	kill(pid, SIGWINCH); /* not fatal, so not reported */
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 50 && !find(&m, pid, SIGTERM); i++)
		skep_mock_poll(&m, 100);
	r = find(&m, pid, SIGTERM);
	SKEP_MOCK_CHECK(r);
	SKEP_MOCK_CHECK(skep_mock_u64(r, "process.signal.sender.pid") == (uint64_t)getpid());
	SKEP_MOCK_CHECK(strcmp(skep_mock_str(r, "process.signal.name"), "TERM") == 0);
	SKEP_MOCK_CHECK(strncmp(skep_mock_str(r, "process.signal.sender.name"), "test_", 5) == 0);
	SKEP_MOCK_CHECK(skep_mock_who(r).start_ns > 0 && skep_mock_time(r) > skep_mock_who(r).start_ns);
	SKEP_MOCK_CHECK(!find(&m, pid, SIGWINCH));

	/* a reload changes the option while the probe runs */
	SKEP_MOCK_CHECK(skep_mock_option(&m, "fatal_only", "false") == 0);
	SKEP_MOCK_CHECK(skep_mock_reload(&m) == 0);
	pid = child();
	kill(pid, SIGUSR1);
	waitpid(pid, NULL, 0);
	skep_mock_flush(&m);
	SKEP_MOCK_CHECK(find(&m, pid, SIGUSR1));
	skep_mock_sample(&m);
	SKEP_MOCK_CHECK(skep_mock_lost(&m, "example.signal") == 0);
	SKEP_MOCK_CHECK(skep_mock_end(&m) == 0);
	puts("test_example: passed");
	return 0;
}
