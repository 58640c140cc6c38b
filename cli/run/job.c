/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/job.c - see cli/run/job.h.
 *
 * A shell waits for skep, but Ctrl-Z stops CMD.  So when CMD stops, skep stops by the same signal.  When the shell
 * continues skep, skep continues CMD, unless the shell's signal to the whole group has already done so.
 */
#include "cli/run/job.h"

#include <errno.h>
#include <signal.h>
#include <skep/procfile.h>
#include <stddef.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/run/signals.h"

#define SPREAD_MS 20 /* in which a signal for each process of a cgroup, one by one, reaches the witness, too */

void job_begin(struct job *job, pid_t command, const struct witness *witness)
{
	*job = (struct job){ .command = command, .witness = *witness };
	terminal_open(&job->terminal, witness->pid);
}

void job_end(struct job *job)
{
	terminal_take_back(&job->terminal, job->command);
	terminal_close(&job->terminal);
	witness_end(&job->witness);
	job->command = 0;
}

/* CMD itself stays a zombie for spawn_wait(), which wants its usage. */
void job_reap(const struct job *job)
{
	siginfo_t info = { 0 };

	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid > 0 &&
	       info.si_pid != job->command) {
		while (waitpid(info.si_pid, NULL, 0) < 0 && errno == EINTR)
			continue;
		info.si_pid = 0;
	}
}

static bool has_left(const struct job *job)
{
	return getpgid(job->command) != job->terminal.group;
}

static bool is_stopped(pid_t pid)
{
	char room[SKEP_PROCFILE_STAT];
	const char *state = skep_procfile_stat((uint32_t)pid, 3, room);

	return state && *state == 'T';
}

/*
 * Only job control concerns the shell.  A SIGSTOP may come from a program that also continues CMD, and that program
 * could not continue skep.  But a stopped group that has the terminal blocks it for everybody (bash's `suspend`).
 */
static bool concerns_shell(const struct job *job, int number)
{
	if (job->stop_asked)
		return true;
	if (number == SIGSTOP)
		return has_left(job) && terminal_is_of(&job->terminal, getpgid(job->command));
	return job->terminal.fd >= 0 && getsid(job->command) == getsid(0);
}

/* The signal that has stopped CMD, if skep must stop, too; else 0. */
static int look_for_stop(struct job *job)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)job->command, &info, WSTOPPED | WNOHANG) < 0 || info.si_pid == 0)
		return 0;
	if ((info.si_status == SIGTTIN || info.si_status == SIGTTOU) && job_look(job))
		return 0;
	/* The whole group was stopped and is being continued: this is news of before. */
	if (signals_is_pending(SIGCONT))
		return 0;
	return concerns_shell(job, info.si_status) ? info.si_status : 0;
}

static void go_on(struct job *job, const struct signalfd_siginfo *info)
{
	if (has_left(job) && getpgid(job->command) == job->command) {
		if (!job_look(job))
			(void)kill(-job->command, SIGCONT);
	} else if (signals_concern(info, job->command) != SIGNALS_TO_NOBODY && is_stopped(job->command)) {
		(void)kill(job->command, SIGCONT);
	}
}

/*
 * The kernel signals the newest process of a group first, so the witness has a signal of the group before skep has it.
 */
static bool is_for_all(const struct job *job, const struct signalfd_siginfo *info, enum signals_to to)
{
	const struct timespec pause = { 0, 2000000 };
	int number = (int)info->ssi_signo;
	bool waits = to == SIGNALS_TO_COMMAND && signals_ends(number) && job->witness.fd >= 0;
	bool saw = witness_saw(&job->witness, number, (pid_t)info->ssi_pid);

	for (int ms = 0; !saw && waits && ms < SPREAD_MS; ms += 2) {
		nanosleep(&pause, NULL);
		saw = witness_saw(&job->witness, number, (pid_t)info->ssi_pid);
	}
	return saw;
}

int job_signal(struct job *job, const struct signalfd_siginfo *info)
{
	enum signals_to to;

	switch (info->ssi_signo) {
	case SIGCHLD:
		job_reap(job);
		return look_for_stop(job);
	case SIGCONT:
		job->stop_asked = job->stop_sent = false;
		go_on(job, info);
		return 0;
	case SIGTSTP:
		job->stop_asked = true;
		break;
	default:
		break;
	}
	to = signals_concern(info, job->command);
	if (is_for_all(job, info, to) && to == SIGNALS_TO_COMMAND && !has_left(job))
		to = SIGNALS_TO_NOBODY;
	job->stop_sent |= info->ssi_signo == SIGTSTP && to != SIGNALS_TO_NOBODY;
	if (to != SIGNALS_TO_NOBODY)
		(void)signals_forward(info, to, job->command); /* fails if CMD has ended: see its pidfd */
	return 0;
}

void job_stop(const struct job *job, int number)
{
	signals_stop(number == SIGSTOP ? SIGTSTP : number);
	/* job_signal() will get the SIGCONT that has ended the stop */
	if (signals_is_pending(SIGCONT) || !has_left(job))
		return;
	/*
	 * skep's group is orphaned, so no shell could continue it, and skep did not stop.  CMD's group has a parent in
	 * skep's group, so it did stop.  The kernel treats stopped processes of an orphaned group in this way.
	 */
	if (number == SIGTTIN || number == SIGTTOU)
		(void)kill(-job->command, SIGHUP);
	(void)kill(-job->command, SIGCONT);
}

bool job_look(struct job *job)
{
	/* the SIGCONT of terminal_follow() would undo the stop that the user wants */
	if (job->stop_sent) {
		job->stop_sent = false;
		return false;
	}
	if (!terminal_follow(&job->terminal, job->command))
		return false;
	job->given = true;
	return true;
}
