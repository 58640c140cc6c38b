/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/reason.c - describes how a process or run ended.
 */
#include "cli/report/reason.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/human.h"
#include "cli/base/text.h"

static const struct {
	const char *name;
	const char *words; /* in brackets after the name */
	const char *advice;
} signals[] = {
	[SIGHUP] = { "SIGHUP", "hung up",
		     "its terminal or session ended: start it under nohup, tmux or a scheduler" },
	[SIGINT] = { "SIGINT", "interrupted", "Ctrl-C was pressed, or a program passed the interrupt on" },
	[SIGQUIT] = { "SIGQUIT", "quit", "Ctrl-\\ was pressed, or a program asked it for a core file" },
	[SIGILL] = { "SIGILL", "illegal instruction", "the binary may be built for a newer CPU than this host's" },
	[SIGTRAP] = { "SIGTRAP", "trap", "a debugger or an assertion stopped it" },
	[SIGABRT] = { "SIGABRT", "aborted itself",
		      "an assertion or the C library gave up: its last lines on stderr say why" },
	[SIGBUS] = { "SIGBUS", "bus error",
		     "a mapped file was shortened, a disk or /dev/shm is full, or the hardware failed" },
	[SIGFPE] = { "SIGFPE", "arithmetic error", "most often a division by zero: look at its input" },
	[SIGKILL] = { "SIGKILL", NULL,
		      "not by the out-of-memory killer: a scheduler's limit, a timeout, systemd or a person sent it" },
	[SIGUSR1] = { "SIGUSR1", NULL, "a signal that it does not handle: look for the sender" },
	[SIGSEGV] = { "SIGSEGV", NULL,
		      "it touched memory that is not its own: a bug in it, or input it cannot cope with" },
	[SIGUSR2] = { "SIGUSR2", NULL, "a signal that it does not handle: look for the sender" },
	[SIGPIPE] = { "SIGPIPE", "its reader had ended", "usual where the reader ends first, as in `... | head`" },
	[SIGALRM] = { "SIGALRM", "alarm", "its own timer ran out" },
	[SIGTERM] = { "SIGTERM", "asked to end", "a timeout, a scheduler, systemd or a person ended it" },
	[SIGSTKFLT] = { "SIGSTKFLT", NULL, "a signal that it does not handle: look for the sender" },
	[SIGXCPU] = { "SIGXCPU", "CPU time limit", "raise the limit (ulimit -t, or the scheduler's)" },
	[SIGXFSZ] = { "SIGXFSZ", "file size limit", "raise the limit (ulimit -f)" },
	[SIGVTALRM] = { "SIGVTALRM", "alarm", "its own timer ran out" },
	[SIGPROF] = { "SIGPROF", "profiling timer", "a profiler's signal that it does not handle" },
	[SIGIO] = { "SIGIO", NULL, "a signal that it does not handle: look for the sender" },
	[SIGPWR] = { "SIGPWR", "power failure", "the host got notice of a power failure" },
	[SIGSYS] = { "SIGSYS", "forbidden system call",
		     "a seccomp filter (container, sandbox) forbids the system call" },
};
#define N_SIGNALS (sizeof(signals) / sizeof(*signals))

/* Programs that exit as a shell does for the program they started: 126, 127, 128 + signal. */
static const char *const starters[] = {
	"sh",   "bash",    "dash",    "ash",      "zsh",  "ksh",     "mksh",    "fish",   "env",
	"nice", "ionice",  "nohup",   "xargs",    "time", "timeout", "sudo",    "setsid", "stdbuf",
	"chrt", "taskset", "busybox", "parallel", "srun", "chroot",  "unshare", "flock",
};

const char *reason_signal(uint64_t signal, char buf[REASON_SIGNAL_SIZE])
{
	if (signal < N_SIGNALS && signals[signal].name)
		snprintf(buf, REASON_SIGNAL_SIZE, "%s", signals[signal].name);
	else
		snprintf(buf, REASON_SIGNAL_SIZE, "signal %u", (unsigned)signal);
	return buf;
}

const char *reason_name(const struct lake_process *p)
{
	const char *base;

	if (*p->kind->tool && !p->kind->wrapper)
		return p->kind->tool;
	base = strrchr(p->kind->exe, '/');
	if (base && base[1])
		return base + 1;
	if (*p->kind->comm)
		return p->kind->comm;
	return *p->kind->tool ? p->kind->tool : "(unknown)";
}

bool reason_failed(const struct lake_process *p)
{
	return p->kind->signal != 0 || p->kind->exit_code > 0 || p->kind->oom_killed;
}

bool reason_is_starter(const struct lake_process *p)
{
	const char *base = strrchr(p->kind->exe, '/');

	base = base ? base + 1 : p->kind->comm;
	for (size_t i = 0; i < sizeof(starters) / sizeof(*starters); i++) {
		if (strcmp(base, starters[i]) == 0)
			return true;
	}
	return p->kind->wrapper;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* timeout(1), also as a link to busybox. */
static bool is_timeout(const struct lake_process *p)
{
	return strcmp(base_of(*p->kind->exe ? p->kind->exe : p->kind->comm), "timeout") == 0 ||
	       (p->argv && p->argv[0] && strcmp(base_of(p->argv[0]), "timeout") == 0);
}

/* The DURATION of `timeout [OPTION]... DURATION COMMAND`; NULL: its arguments are not known. */
static const char *timeout_duration(const struct lake_process *p)
{
	static const char *const with_value[] = { "-s", "--signal", "-k", "--kill-after" };
	const char *const *at = p->argv && p->argv[0] ? p->argv + 1 : NULL;

	while (at && *at && (*at)[0] == '-' && (*at)[1]) {
		const char *option = *at++;

		if (strcmp(option, "--") == 0)
			break;
		for (size_t i = 0; *at && i < sizeof(with_value) / sizeof(*with_value); i++)
			if (strcmp(option, with_value[i]) == 0) {
				at++;
				break;
			}
	}
	return at ? *at : NULL;
}

static char *timed_out(const struct lake_process *p, bool unicode)
{
	const char *duration = timeout_duration(p);
	char *safe = duration ? text_safe(duration, unicode) : NULL, *text = NULL;
	int n = -1;

	if (safe)
		n = asprintf(&text, "exit 124: timed out (timeout %s)", safe);
	else if (!duration)
		n = asprintf(&text, "exit 124: timed out");
	free(safe);
	return n < 0 ? NULL : text;
}

static char *oom_text(const struct lake_process *p, bool unicode)
{
	char limit[HUMAN_SIZE], peak[HUMAN_SIZE], name[REASON_SIGNAL_SIZE];
	char *cgroup, *text = NULL;
	uint64_t used = p->kind->oom_peak_bytes ? p->kind->oom_peak_bytes : p->kind->oom_usage_bytes;
	const char *killed = reason_signal(p->kind->signal ? p->kind->signal : SIGKILL, name);

	human_bytes(p->kind->oom_limit_bytes, 0, limit);
	human_bytes(used, 0, peak);
	if (!*p->kind->oom_cgroup && !p->kind->oom_limit_bytes) {
		if (asprintf(&text, "killed by %s: the host ran out of memory", killed) < 0)
			text = NULL;
		return text;
	}
	cgroup = text_safe(*p->kind->oom_cgroup ? p->kind->oom_cgroup : *p->kind->cgroup ? p->kind->cgroup : "(unknown)",
			   unicode);
	if (!cgroup)
		return NULL;
	if (asprintf(&text, "killed by %s: out of memory in cgroup %s%s%s%s%s", killed, cgroup,
		     p->kind->oom_limit_bytes ? ", limit " : "", p->kind->oom_limit_bytes ? limit : "",
		     !used               ? ""
		     : p->kind->oom_peak_bytes ? ", peak "
					 : ", in use ",
		     used ? peak : "") < 0)
		text = NULL;
	free(cgroup);
	return text;
}

static char *signal_text(uint64_t signal, bool core)
{
	const char *words = signal < N_SIGNALS ? signals[signal].words : NULL;
	char name[REASON_SIGNAL_SIZE], *text;

	if (asprintf(&text, "killed by %s%s%s%s%s%s", reason_signal(signal, name), words || core ? " (" : "",
		     words ? words : "", words && core ? ", " : "", core ? "core dumped" : "",
		     words || core ? ")" : "") < 0)
		return NULL;
	return text;
}

char *reason_text(const struct lake_process *p, bool unicode)
{
	char name[REASON_SIGNAL_SIZE], *text;
	int n;

	if (p->kind->oom_killed)
		return oom_text(p, unicode);
	if (p->kind->signal)
		return signal_text(p->kind->signal, p->kind->core_dumped);
	if (p->kind->exit_code == 124 && is_timeout(p))
		return timed_out(p, unicode);
	if (p->kind->exit_code == 125 && is_timeout(p))
		n = asprintf(&text, "exit 125 (timeout or its command failed)");
	else if (p->kind->exit_code == 126 && reason_is_starter(p))
		n = asprintf(&text, "exit 126 (found, but cannot be executed)");
	else if (p->kind->exit_code == 127 && reason_is_starter(p))
		n = asprintf(&text, "exit 127 (command not found)");
	else if (p->kind->exit_code > 128 && p->kind->exit_code < 128 + (int64_t)N_SIGNALS &&
		 signals[p->kind->exit_code - 128].name && reason_is_starter(p))
		n = asprintf(&text, "exit %d (128 + %s)", (int)p->kind->exit_code,
			     reason_signal((uint64_t)p->kind->exit_code - 128, name));
	else if (p->kind->exit_code >= 0)
		n = asprintf(&text, "exit %d", (int)p->kind->exit_code);
	else if (strcmp(p->kind->state, "running") == 0)
		n = asprintf(&text, "still running");
	else if (strcmp(p->kind->state, "replaced") == 0)
		n = asprintf(&text, "replaced by its next image");
	else
		n = asprintf(&text, "%s", strcmp(p->kind->state, "zombie") == 0 ? "zombie" : "its end was not seen");
	return n < 0 ? NULL : text;
}

char *reason_short(const struct lake_process *p)
{
	char name[REASON_SIGNAL_SIZE], *text;
	int n;

	if (p->kind->oom_killed)
		n = asprintf(&text, "OOM");
	else if (p->kind->signal)
		n = asprintf(&text, "%s%s", reason_signal(p->kind->signal, name), p->kind->core_dumped ? " core" : "");
	else if (strcmp(p->kind->state, "replaced") == 0)
		n = asprintf(&text, "exec");
	else if (strcmp(p->kind->state, "running") == 0 || strcmp(p->kind->state, "zombie") == 0 ||
		 p->kind->exit_code < 0)
		n = asprintf(&text, "%s",
			     strcmp(p->kind->state, "running") == 0  ? "running"
			     : strcmp(p->kind->state, "zombie") == 0 ? "zombie"
							       : "lost");
	else
		n = asprintf(&text, "%s%d", p->kind->exit_code ? "exit " : "", (int)p->kind->exit_code);
	return n < 0 ? NULL : text;
}

char *reason_run(const struct lake_run *run)
{
	char *text;
	int n;

	if (run->signal)
		return signal_text(run->signal, false);
	if (run->exit_code > 0)
		n = asprintf(&text, "failed with exit %d", (int)run->exit_code);
	else if (run->exit_code == 0)
		n = asprintf(&text, "succeeded");
	else if (strcmp(run->state, "running") == 0)
		n = asprintf(&text, "still running");
	else
		n = asprintf(&text, "ended, its result is unknown");
	return n < 0 ? NULL : text;
}

char *reason_advice(const struct lake_process *p, bool unicode)
{
	const char *advice = p->kind->signal < N_SIGNALS ? signals[p->kind->signal].advice : NULL;
	char limit[HUMAN_SIZE], own[HUMAN_SIZE], *text, *cgroup = NULL;
	int n;

	human_bytes(p->totals.rss_peak_bytes, 0, own);
	if (p->kind->oom_killed && p->kind->oom_limit_bytes) {
		cgroup = text_safe(*p->kind->oom_cgroup ? p->kind->oom_cgroup : "its cgroup", unicode);
		if (!cgroup)
			return NULL;
		n = asprintf(&text, "its own peak was %s: give %s more than %s, or run fewer at a time there", own,
			     cgroup, human_bytes(p->kind->oom_limit_bytes, 0, limit));
	} else if (p->kind->oom_killed) {
		n = asprintf(&text, "its own peak was %s: run less at a time, or on a host with more memory", own);
	} else if (p->kind->signal && p->kind->core_dumped) {
		n = asprintf(&text, "%s; `coredumpctl info %u` shows where, if systemd keeps core files",
			     advice ? advice : "it left a core file",
			     (unsigned)p->pid);
	} else if (p->kind->signal) {
		n = asprintf(&text, "%s",
			     advice ? advice : "look for the sender of this signal");
	} else if (p->kind->exit_code == 124 && is_timeout(p)) {
		n = asprintf(&text, "give its command more time, or find out what the command waited for");
	} else if (p->kind->exit_code == 125 && is_timeout(p)) {
		n = asprintf(&text, "the options or the duration of timeout are wrong, or it ran a docker run whose container did "
				    "not start: stderr says which");
	} else if (p->kind->exit_code == 128 + SIGKILL && is_timeout(p)) {
		n = asprintf(&text, "with -k or -s KILL it has killed its command, which took too long; else another "
				    "process or the out-of-memory killer has");
	} else if (p->kind->exit_code == 127 && reason_is_starter(p)) {
		n = asprintf(&text, "a command's name is misspelt, not installed, or not in PATH");
	} else if (p->kind->exit_code == 126 && reason_is_starter(p)) {
		n = asprintf(&text, "a file lacks its execute permission (chmod +x), or its interpreter is missing");
	} else {
		n = asprintf(&text, "its own messages say why: look at its stderr or log");
	}
	free(cgroup);
	return n < 0 ? NULL : text;
}
