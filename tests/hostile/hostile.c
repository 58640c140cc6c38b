/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/hostile/hostile.c - attacks of a local user without any privilege on a program that watches all processes.
 *
 *   hostile                             prints the names of the tricks, a line each
 *   hostile TRICK SECONDS DIR SOCKET    plays one of them: for so long, in DIR, against the control socket SOCKET
 *
 * A trick repeats one "turn" until its time is up, at a bounded rate: it does not try to use up the host's CPU time,
 * which any user can, but to reach slow, unbounded or wrong code in the watcher.  Every child ends with its trick.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct stage {
	const char *dir;
	const char *socket;
	const char *self; /* this program, by an absolute path */
	unsigned long turn;
};

struct trick {
	const char *name;
	void (*turn)(const struct stage *);
	unsigned per_second;
};

/* Bytes that break a format: UTF-8, JSON, SQL, Prometheus, CSV, a terminal, a log line, a shell. */
static const char *const nasty[] = {
	"\xff\xfe",
	"\xc3",
	"\xed\xa0\x80",
	"\xf4\x90\x80\x80",
	"\xc0\xaf",
	"a\nb\r\nskepd: error: forged",
	"\x1b[2J\x1b]0;gone\x07",
	"\"},{\"x\":",
	"');DROP TABLE proc;--",
	"{a=\"b\"} 1\n",
	"%s%n%n",
	"$(id)`id`",
	"\t\v\f",
	"\342\200\256txt.exe",
	"-rf",
	"=",
	" ",
};
#define N_NASTY (sizeof(nasty) / sizeof(nasty[0]))

/* Executes a program that ends at once; the child exits with 127 where the exec fails. */
static pid_t run(const char *path, char *const argv[], char *const env[])
{
	pid_t pid = fork();

	if (pid == 0) {
		execve(path, argv, env);
		_exit(127);
	}
	return pid;
}

static void reap(pid_t pid)
{
	if (pid > 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
}

static char *const no_env[] = { NULL };

/* Programs, folders and arguments named with such bytes. */
static void names(const struct stage *s)
{
	const char *bad = nasty[s->turn % N_NASTY], *worse = nasty[s->turn / N_NASTY % N_NASTY];
	char folder[256], link_path[512];
	char *argv[] = { (char *)bad, (char *)"quit", (char *)worse, (char *)"\xff", (char *)"", NULL };
	pid_t pid;

	snprintf(folder, sizeof(folder), "%s/d%s", s->dir, worse);
	mkdir(folder, 0700);
	snprintf(link_path, sizeof(link_path), "%s/p%s", folder, bad);
	if (symlink(s->self, link_path) < 0 && errno != EEXIST)
		return;
	pid = fork();
	if (pid == 0) {
		if (chdir(folder) < 0)
			_exit(1);
		prctl(PR_SET_NAME, worse);
		usleep(20000);
		execve(link_path, argv, no_env);
		_exit(127);
	}
	reap(pid);
	unlink(link_path);
	rmdir(folder);
}

/* A session with such a name and folder that lives whenever skepd saves its state. */
static void lingers(const struct stage *s)
{
	pid_t pid = fork();

	if (pid == 0) {
		char folder[256], link_path[512];
		char *argv[] = { (char *)nasty[s->turn % N_NASTY], (char *)"linger", NULL };

		setsid();
		snprintf(folder, sizeof(folder), "%s/l%lu%s", s->dir, s->turn, nasty[s->turn % N_NASTY]);
		snprintf(link_path, sizeof(link_path), "%s/p%s", folder, nasty[s->turn % N_NASTY]);
		mkdir(folder, 0700);
		if (chdir(folder) < 0 || (symlink(s->self, link_path) < 0 && errno != EEXIST))
			_exit(1);
		execve(link_path, argv, no_env);
		_exit(127);
	}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* Each exec has 100 KB of arguments that differ from all before. */
static void arguments(const struct stage *s)
{
	static char text[100000];
	char *argv[] = { (char *)"hostile", (char *)"quit", text, text, NULL };

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = (char)('!' + (i * 31 + s->turn * 7919 + i * s->turn) % 94);
	reap(run(s->self, argv, no_env));
}

/* A path of nearly PATH_MAX bytes, a new one each time. */
static void paths(const struct stage *s)
{
	char name[240], link_path[32];
	char *argv[] = { link_path, (char *)"quit", NULL };
	pid_t pid = fork();

	if (pid != 0) {
		reap(pid);
		return;
	}
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	if (chdir(s->dir) < 0)
		_exit(1);
	for (int depth = 0; depth < 14; depth++) {
		snprintf(name, 24, "%08lx-%08lx", s->turn % 4 * 131, depth * 77ul);
		name[17] = 'x';
		mkdir(name, 0700);
		if (chdir(name) < 0)
			_exit(1);
	}
	snprintf(link_path, sizeof(link_path), "./p%lu", s->turn);
	if (link(s->self, link_path) < 0 && symlink(s->self, link_path) < 0)
		_exit(1);
	reap(run(link_path, argv, no_env));
	unlink(link_path);
	_exit(0);
}

/* Each child leads a session, so each is a run of its own. */
static void sessions(const struct stage *s)
{
	char *argv[] = { (char *)"hostile", (char *)"quit", NULL };
	pid_t pid = fork();

	if (pid == 0) {
		setsid();
		reap(run(s->self, argv, no_env));
		_exit(0);
	}
	reap(pid);
}

/* Forged tags: each process names its own task, a broken trace and another user's run. */
static void tags(const struct stage *s)
{
	char task[96], trace[96], run_id[96];
	char *env[] = { task,
			trace,
			run_id,
			(char *)"SKEP_TASK=",
			(char *)"TRACEPARENT=00-00000000000000000000000000000000-0000000000000000-00",
			NULL };
	char *argv[] = { (char *)"hostile", (char *)"quit", NULL };

	snprintf(task, sizeof(task), "SKEP_TASK=t%lu%s", s->turn, nasty[s->turn % N_NASTY]);
	snprintf(trace, sizeof(trace), "TRACEPARENT=00-%032lx-%016lx-01%s", s->turn * 77, s->turn,
		 s->turn % 3 ? "" : "\xff");
	snprintf(run_id, sizeof(run_id), "SKEP_RUN=r%lu", s->turn % 5);
	reap(run(s->self, argv, env));
}

/* A new name for each of many forks that never execute. */
static void comms(const struct stage *s)
{
	pid_t pid = fork();

	if (pid == 0) {
		char name[16];

		for (unsigned i = 0; i < 8; i++) {
			snprintf(name, sizeof(name), "%07lx%06x%s", s->turn & 0xfffffff, i * 4097, i % 2 ? "\xff" : "");
			prctl(PR_SET_NAME, name);
		}
		_exit((int)(s->turn & 255));
	}
	reap(pid);
}

/* A chain of processes: a watcher that follows parents has to walk all of it. */
static void deep(const struct stage *s)
{
	int level = 0;
	pid_t child = -1;

	(void)s;
	for (level = 0; level < 200; level++) {
		child = fork();
		if (child != 0)
			break;
	}
	if (level == 0) {
		reap(child);
		return;
	}
	if (child < 0 || level == 200)
		usleep(300000);
	reap(child);
	_exit(0);
}

/* Zombies: their pids stay, their totals change no more. */
static void zombies(const struct stage *s)
{
	(void)s;
	for (int i = 0; i < 500; i++)
		if (fork() == 0)
			_exit(i & 127);
	usleep(400000);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* Forks of a program with a long argument: each has the whole list, and lives whenever skepd saves its state. */
static void heirs(const struct stage *s)
{
	static char text[30000];
	char *argv[] = { (char *)"hostile", (char *)"heirs", text, NULL };

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = i % 3 ? 'x' : ' ';
	reap(run(s->self, argv, no_env));
}

static int beget(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	for (int i = 0; i < 4000; i++)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			sleep(30);
			_exit(0);
		}
	sleep(3);
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	while (waitpid(-1, NULL, 0) > 0)
		;
	return 0;
}

static void *thread_end(void *arg)
{
	prctl(PR_SET_NAME, "\xfe\xfe thread");
	usleep((useconds_t)(size_t)arg);
	return NULL;
}

static void *thread_exec(void *arg)
{
	const struct stage *s = arg;
	char *argv[] = { (char *)"hostile", (char *)"quit", NULL };

	execve(s->self, argv, no_env);
	_exit(127);
}

/* Many threads; one other than the leader executes while the others run, or the leader exits first. */
static void threads(const struct stage *s)
{
	pid_t pid = fork();

	if (pid == 0) {
		pthread_t id;

		for (size_t i = 0; i < 200; i++)
			if (pthread_create(&id, NULL, thread_end, (void *)(i * 50)) == 0)
				pthread_detach(id);
		if (s->turn % 2 == 0 && pthread_create(&id, NULL, thread_exec, (void *)s) == 0)
			pthread_detach(id);
		pthread_exit(NULL);
	}
	reap(pid);
}

/* Failing execs, from a removed file and from memory, one after the other in one process. */
static void execs(const struct stage *s)
{
	pid_t pid = fork();
	char *argv[] = { (char *)"hostile", (char *)"quit", NULL };

	if (pid == 0) {
		char copy[512], data[65536];
		int in = open(s->self, O_RDONLY | O_CLOEXEC), out = memfd_create("memory\xff\n", MFD_CLOEXEC);
		ssize_t n;

		for (int i = 0; i < 20; i++)
			execve(nasty[(size_t)i % N_NASTY], argv, no_env);
		if (s->turn % 2) {
			snprintf(copy, sizeof(copy), "%s/gone%lu", s->dir, s->turn);
			close(out);
			out = open(copy, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
		}
		while ((n = read(in, data, sizeof(data))) > 0)
			if (write(out, data, (size_t)n) != n)
				_exit(1);
		if (s->turn % 2) { /* a kernel does not execute a file that is open for writing */
			close(out);
			out = open(copy, O_RDONLY | O_CLOEXEC);
			unlink(copy);
		}
		syscall(SYS_execveat, out, "", argv, no_env, 0x1000 /* AT_EMPTY_PATH */);
		_exit(127);
	}
	reap(pid);
}

/* The shortest possible lives, with each way to end. */
static void lives(const struct stage *s)
{
	pid_t pid = s->turn % 3 ? fork() : vfork();

	if (pid == 0) {
		if (s->turn % 3 == 1)
			kill(getpid(), (int)(1 + s->turn / 3 % 31));
		_exit(0);
	}
	if (pid > 0 && s->turn % 3 == 1) /* some of these signals only stop it */
		kill(pid, SIGKILL);
	reap(pid);
}

/* A tracer that does not wait: its traced child is dead, and the child's parent does not learn it. */
static void traced(const struct stage *s)
{
	pid_t tracer = fork();

	(void)s;
	if (tracer == 0) {
		pid_t child = fork();

		if (child == 0) {
			ptrace(PTRACE_TRACEME, 0, NULL, NULL);
			raise(SIGSTOP);
			_exit(3);
		}
		waitpid(child, NULL, WUNTRACED);
		ptrace(PTRACE_CONT, child, NULL, NULL);
		usleep(100000);
		_exit(0);
	}
	reap(tracer);
}

/* A process overwrites its own arguments: /proc/PID/cmdline then has the new bytes. */
static void rewritten(const struct stage *s)
{
	char *argv[] = { (char *)"hostile", (char *)"overwrite", (char *)nasty[s->turn % N_NASTY],
			 (char *)"0123456789012345678901234567890123456789", NULL };

	reap(run(s->self, argv, no_env));
}

/* Many peers, ports that refuse, datagrams to everywhere on this host. */
static void peers(const struct stage *s)
{
	for (unsigned i = 0; i < 20; i++) {
		struct sockaddr_in to = { .sin_family = AF_INET,
					  .sin_port = htons((uint16_t)(1 + (s->turn * 20 + i) % 65535)) };
		int fd = socket(AF_INET, (i % 2 ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		to.sin_addr.s_addr = htonl(0x7f000000u | ((uint32_t)(s->turn * 20 + i) * 2654435761u & 0xffffff));
		if (fd < 0)
			return;
		if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
			send(fd, "x", 1, MSG_NOSIGNAL);
		close(fd);
	}
}

/* The control socket: many clients that send nothing, half a line, or lines that no parser accepts. */
static void control(const struct stage *s)
{
	static int held[64];
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t at = s->turn % (sizeof(held) / sizeof(held[0]));
	static const char junk[] =
		"{\"request\":\"status\",\"x\":\"\xff\\ud800\"}\n{{{{[[[[\n\"\n{\"request\":\"attach\",\"for_ns\":-1e999}\n{";
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (held[at] > 0)
		close(held[at]);
	held[at] = fd;
	snprintf(to.sun_path, sizeof(to.sun_path), "%s", s->socket);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 && s->turn % 2)
		send(fd, junk, sizeof(junk) - 1, MSG_NOSIGNAL);
}

/* The socket for all users: copies of all runs, and of one, that this client asks for and does not read. */
static void copies(const struct stage *s)
{
	static const char *const asks[] = { "{\"request\":\"lake_copy\"}\n", "{\"request\":\"lake_copy\",\"run\":\"last\"}\n",
					    "{\"request\":\"version\"}\n{\"request\":\"lake_copy\"}\n{\"request\":\"status\"}\n" };
	static int held[64];
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t at = s->turn % (sizeof(held) / sizeof(held[0]));
	const char *ask = asks[s->turn % 3];
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (held[at] > 0)
		close(held[at]);
	held[at] = fd;
	snprintf(to.sun_path, sizeof(to.sun_path), "%s.users", s->socket);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		send(fd, ask, strlen(ask), MSG_NOSIGNAL);
}

/* Opens and removes files with a new name each time. */
static void files(const struct stage *s)
{
	char path[512];

	for (unsigned i = 0; i < 50; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/f%lu-%u%s", s->dir, s->turn, i,
			 nasty[i % N_NASTY][0] == '\'' ? "" : nasty[i % N_NASTY]);
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0)
			continue;
		if (write(fd, path, 1) == 1)
			close(fd);
		unlink(path);
	}
}

/* Names of programs that recognizers match, links to this program. */
static const char *const engine_names[] = {
	"snakemake", "make", "airflow", "cron", "sh", "slurmstepd", "torchrun", "xargs", "gitlab-runner", "toil-cwl-runner",
};
#define N_ENGINES (sizeof(engine_names) / sizeof(engine_names[0]))

/* Parts of what the recognizers' patterns look for: repeated, so that a pattern that backtracks tries many ways. */
static const char *const engine_words[] = {
	"/call-a/shard-1/attempt-1/execution/",
	"\"task_id\" : \"",
	"/.snakemake/tmp.a/snakejob.",
	"set -euo pipefail; .snakemake/scripts/tmp",
	"  -o -o ",
	"cd x && A=b C=d [ e ] && ",
	"/aa/0123456789abcdef0123456789abcd",
	"/\n\x1b[2J\xff/call-",
};

static void engine_path(char *path, size_t size, const char *dir, size_t i)
{
	snprintf(path, size, "%s/%s", dir, engine_names[i % N_ENGINES]);
}

/* hostile nest DEPTH DIR: one engine in another, DEPTH of them alive at once. */
static int nest(unsigned long depth, const char *dir)
{
	char path[512], rest[24];
	char *argv[] = { path, (char *)"nest", rest, (char *)dir, NULL };

	if (depth == 0)
		return 0;
	engine_path(path, sizeof(path), dir, depth);
	snprintf(rest, sizeof(rest), "%lu", depth - 1);
	reap(run(path, argv, no_env));
	return 0;
}

/*
 * Engines that are none: arguments of 32 KiB for the patterns, a job of a scheduler for each exec, and every hundred
 * turns a deep nest.
 */
static void engines(const struct stage *s)
{
	static char text[32768];
	const char *word = engine_words[s->turn % (sizeof(engine_words) / sizeof(engine_words[0]))];
	char path[512], job[64], dag[64], try[64];
	char *argv[] = { path, (char *)"-c", text, (char *)"--target-jobs", text, (char *)"quit", NULL };
	char *env[] = { job, dag, try, (char *)"AIRFLOW_CTX_DAG_ID=\n\x1b[2J", (char *)"LOCAL_RANK=0", (char *)"WORLD_SIZE=1",
			(char *)"SLURM_JOB_ID=1", NULL };
	pid_t pid;

	if (s->turn == 0) {
		for (size_t i = 0; i < N_ENGINES; i++) {
			engine_path(path, sizeof(path), s->dir, i);
			if (symlink(s->self, path) < 0 && errno != EEXIST)
				return;
		}
	}
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = word[i % strlen(word)];
	if (s->turn % 3 == 0) /* the pattern fails at the last byte */
		text[sizeof(text) - 2] = '\n';
	snprintf(job, sizeof(job), "PBS_JOBID=%lu.server", s->turn);
	snprintf(dag, sizeof(dag), "AIRFLOW_CTX_DAG_RUN_ID=%lu", s->turn);
	snprintf(try, sizeof(try), "AIRFLOW_CTX_TASK_ID=%lu", s->turn);
	engine_path(path, sizeof(path), s->dir, s->turn);
	pid = fork();
	if (pid == 0) { /* below an engine, so that the marks of tasks are evaluated, too */
		reap(run(path, argv, env));
		if (s->turn % 100 == 0)
			nest(s->turn == 0 ? 2000 : 100, s->dir);
		_exit(0);
	}
	reap(pid);
}

static const struct trick tricks[] = {
	{ "names", names, 20 },
	{ "lingers", lingers, 4 },
	{ "arguments", arguments, 50 },
	{ "paths", paths, 20 },
	{ "sessions", sessions, 100 },
	{ "tags", tags, 100 },
	{ "comms", comms, 100 },
	{ "deep", deep, 1 },
	{ "zombies", zombies, 1 },
	{ "heirs", heirs, 1 },
	{ "threads", threads, 10 },
	{ "execs", execs, 20 },
	{ "lives", lives, 300 },
	{ "traced", traced, 5 },
	{ "rewritten", rewritten, 10 },
	{ "peers", peers, 50 },
	{ "control", control, 100 },
	{ "copies", copies, 100 },
	{ "files", files, 10 },
	{ "engines", engines, 50 },
};
#define N_TRICKS (sizeof(tricks) / sizeof(tricks[0]))

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void play(const struct trick *t, struct stage *s, double seconds)
{
	double begin = now();

	while (now() - begin < seconds) {
		if ((double)s->turn / t->per_second > now() - begin) {
			usleep(1000);
			continue;
		}
		t->turn(s);
		s->turn++;
	}
}

int main(int argc, char **argv)
{
	struct stage stage = { 0 };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	char self[512];
	ssize_t n;

	if (argc >= 2 && (strcmp(argv[1], "quit") == 0 || strcmp(argv[argc - 1], "quit") == 0))
		return 0;
	if (argc == 4 && strcmp(argv[1], "nest") == 0)
		return nest(strtoul(argv[2], NULL, 10), argv[3]);
	if (argc == 3 && strcmp(argv[1], "heirs") == 0)
		return beget();
	if (argc >= 2 && strcmp(argv[1], "linger") == 0) {
		sleep(4);
		return 0;
	}
	if (argc >= 4 && strcmp(argv[1], "overwrite") == 0) {
		/* one block, as the kernel lays the arguments out */
		memset(argv[0], 0xff, (size_t)(argv[3] + strlen(argv[3]) - argv[0]));
		usleep(300000);
		return 0;
	}
	if (argc == 1) {
		for (size_t i = 0; i < N_TRICKS; i++)
			puts(tricks[i].name);
		return 0;
	}
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (argc != 5 || n <= 0) {
		fprintf(stderr, "usage: hostile [TRICK SECONDS DIR SOCKET]\n");
		return 2;
	}
	self[n] = '\0';
	sigaction(SIGPIPE, &ignore, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	stage.self = self;
	stage.dir = argv[3];
	stage.socket = argv[4];
	for (size_t i = 0; i < N_TRICKS; i++)
		if (strcmp(tricks[i].name, argv[1]) == 0) {
			play(&tricks[i], &stage, atof(argv[2]));
			return 0;
		}
	fprintf(stderr, "hostile: no trick \"%s\"; hostile alone prints their names\n", argv[1]);
	return 2;
}
