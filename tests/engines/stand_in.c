// SPDX-License-Identifier: Apache-2.0
/*
 * The process of an engine that Debian lacks: started with the engine's name and arguments, it starts the tasks of a
 * plan as the engine does and writes the engine's record. tests/engines/drivers.py makes the plans.
 *
 * $STAND_IN/plan: a task attempt per line: key, directory, file with the exit code, file for stdin, variables,
 * arguments; tabs between the fields, 0x1f between words. An attempt begins when the attempt before it, with the same
 * key, failed. With a file for the exit code an attempt ends when that file appears, and the process may end before
 * (Cromwell).
 * $STAND_IN/record: key, number of the attempt, pid, begin, end, exit code.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ATTEMPTS_MAX 512
#define WORDS_MAX 64
#define AT_ONCE 4

enum state { WAITING, RUNNING, EXITED, ENDED, NOT_NEEDED };

struct attempt {
	char *key, *dir, *code_file, *input, *variables, *arguments;
	enum state state;
	pid_t pid;
	int number, code;
	double begin;
};

static struct attempt attempts[ATTEMPTS_MAX];
static size_t attempts_n;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
	fprintf(stderr, "stand_in: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void read_plan(const char *folder)
{
	char path[4096], *line = NULL;
	size_t size = 0;
	FILE *f;

	if (snprintf(path, sizeof(path), "%s/plan", folder) >= (int)sizeof(path) || !(f = fopen(path, "re")))
		die("no plan");
	while (attempts_n < ATTEMPTS_MAX && getline(&line, &size, f) > 0) {
		struct attempt *a = &attempts[attempts_n];
		char *rest = line;

		line[strcspn(line, "\n")] = '\0';
		a->key = strsep(&rest, "\t");
		a->dir = strsep(&rest, "\t");
		a->code_file = strsep(&rest, "\t");
		a->input = strsep(&rest, "\t");
		a->variables = strsep(&rest, "\t");
		a->arguments = rest;
		if (!rest)
			die("a line of the plan has too few fields");
		a->number = attempts_n > 0 && strcmp(attempts[attempts_n - 1].key, a->key) == 0 ?
			attempts[attempts_n - 1].number + 1 : 1;
		attempts_n++;
		line = NULL; // the fields point into it
		size = 0;
	}
	free(line);
	fclose(f);
}

static void begin(struct attempt *a)
{
	char *words[WORDS_MAX + 1] = {0};

	a->begin = now();
	a->state = RUNNING;
	a->pid = fork();
	if (a->pid < 0)
		die("fork");
	if (a->pid > 0)
		return;

	int input = open(*a->input ? a->input : "/dev/null", O_RDONLY | O_CLOEXEC);

	if (input < 0 || dup2(input, 0) < 0 || chdir(a->dir))
		die(a->dir);
	unsetenv("STAND_IN");
	for (char *v; (v = strsep(&a->variables, "\x1f")) != NULL;) {
		if (*v && putenv(v))
			die(v);
	}
	for (size_t i = 0; i < WORDS_MAX && a->arguments; i++)
		words[i] = strsep(&a->arguments, "\x1f");
	if (words[0])
		execvp(words[0], words);
	die(a->key);
}

/* Returns whether the attempt has its exit code. */
static int ended(struct attempt *a)
{
	FILE *f;
	int found;

	if (!*a->code_file)
		return 1;
	f = fopen(a->code_file, "re");
	if (!f)
		return 0;
	found = fscanf(f, "%d", &a->code) == 1;
	fclose(f);
	return found;
}

int main(void)
{
	const char *folder = getenv("STAND_IN");
	char path[4096];
	int failed = 0;
	FILE *record;

	if (!folder)
		die("STAND_IN is not set");
	read_plan(folder);
	if (snprintf(path, sizeof(path), "%s/record", folder) >= (int)sizeof(path) || !(record = fopen(path, "we")))
		die("no record");
	for (;;) {
		size_t running = 0, waiting = 0;
		int status;
		pid_t pid;

		while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
			for (size_t i = 0; i < attempts_n; i++) {
				if (attempts[i].state == RUNNING && attempts[i].pid == pid) {
					attempts[i].state = EXITED;
					attempts[i].code = WIFEXITED(status) ? WEXITSTATUS(status)
									     : 128 + WTERMSIG(status);
				}
			}
		}
		for (size_t i = 0; i < attempts_n; i++) {
			struct attempt *a = &attempts[i], *before = a->number > 1 ? a - 1 : NULL;

			if (a->state == EXITED && ended(a)) {
				a->state = ENDED;
				failed += a->code != 0;
				fprintf(record, "%s\t%d\t%d\t%.6f\t%.6f\t%d\n", a->key, a->number, (int)a->pid, a->begin, now(), a->code);
			}
			if (a->state == WAITING && before &&
			    (before->state == NOT_NEEDED || (before->state == ENDED && before->code == 0)))
				a->state = NOT_NEEDED;
			running += a->state == RUNNING || a->state == EXITED;
			waiting += a->state == WAITING;
		}
		if (running + waiting == 0)
			break;
		for (size_t i = 0; i < attempts_n && running < AT_ONCE; i++) {
			struct attempt *a = &attempts[i];

			if (a->state == WAITING && (a->number == 1 || a[-1].state == ENDED)) {
				begin(a);
				running++;
			}
		}
		usleep(2000);
	}
	fclose(record);
	return failed ? 1 : 0;
}
