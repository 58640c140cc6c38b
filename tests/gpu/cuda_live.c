/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/gpu/cuda_live.c - the detail "cuda" on this kernel: a program calls a stand-in
 * libcuda (tests/gpu/standin_cuda.c; no device is touched) a known number of times, from
 * several threads, and the test compares the counts with that, call by call.
 *
 * cuda_live LOAD LIBRARY [exec PROGRAM ARG...]: LOAD is tests/gpu/load.  With exec, PROGRAM
 * ARG... is run in place of LOAD LIBRARY (in a mount namespace, say), with threads and
 * rounds after it.  Exit status 77: this kernel has no uprobes.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <skep/clock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <skep/rules.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plugins/gpu/fence.skel.h"
#include "plugins/gpu/records.h"
#include "plugins/gpu/state.h"
#include <skep/mock.h>

const struct skep_plugin *skep_plugin_entry(const struct skep_host *host);

#define ROUNDS 25
#define THREADS 4

static struct skep_mock m;
static struct cuda_record sum[8]; /* by id of the attachment */
static uint64_t stall_n[8], cost;
static char over[200];
static uint64_t over_id;
static uint64_t fences_emitted;
static char fence_driver[64];
static int failures;

static void on_emit(struct skep_instance *i, unsigned stream, const struct skep_upid *who, uint64_t time_ns,
		    const void *rec)
{
	const struct cuda_record *r = rec;
	struct cuda_record *to;

	(void)i;
	(void)who;
	(void)time_ns;
	if (stream == STREAM_FENCE) {
		const struct fence_record *fence = rec;

		fences_emitted += fence->emitted;
		snprintf(fence_driver, sizeof(fence_driver), "%.*s", (int)fence->driver.len, fence->driver.ptr);
	}
	if (stream != STREAM_CUDA || r->detail >= 8)
		return;
	to = &sum[r->detail];
#define ADD(member_) to->member_ += r->member_
	ADD(launches);
	ADD(graph_launches);
	ADD(copies_h2d);
	ADD(bytes_h2d);
	ADD(copies_d2h);
	ADD(bytes_d2h);
	ADD(copies_d2d);
	ADD(bytes_d2d);
	ADD(copies_other);
	ADD(bytes_other);
	ADD(copies_unsized);
	ADD(allocs);
	ADD(bytes_alloc);
	ADD(frees);
	ADD(syncs);
	ADD(hits);
	to->stall.sum += r->stall.sum;
	cost = r->hits ? r->cost_ns / r->hits : cost;
	for (uint32_t k = 0; k < r->stall.n; k++)
		stall_n[r->detail] += r->stall.slots[k];
}

static void on_over(struct skep_instance *i, uint64_t id, const char *why)
{
	snprintf(over, sizeof(over), "%s", why);
	over_id = id;
	m.plugin->detach(i, m.state, id);
}

static void on_drained(struct skep_instance *i, uint64_t time_ns)
{
	(void)i;
	(void)time_ns;
}

static void on_lost(struct skep_instance *i, unsigned stream, enum skep_loss where, uint64_t n)
{
	(void)i;
	(void)where;
	printf("FAIL - %llu of stream %u lost\n", (unsigned long long)n, stream);
	failures++;
}

static bool on_process(struct skep_instance *i, uint32_t pid, struct skep_upid *ret)
{
	(void)i;
	*ret = (struct skep_upid){ .pid = pid, .start_ns = 1 };
	return true;
}

static void same(const char *what, uint64_t want, uint64_t got)
{
	printf("%s - %s: %llu", want == got ? "ok" : "FAIL", what, (unsigned long long)got);
	if (want != got)
		printf(", wanted %llu", (unsigned long long)want);
	puts("");
	failures += want != got;
}

static void check(const char *what, bool good)
{
	printf("%s - %s\n", good ? "ok" : "FAIL", what);
	failures += !good;
}

/* ---- the program that is watched ---------------------------------------------------- */

struct child {
	pid_t pid;
	FILE *in, *out;
};

static struct child start(char **argv)
{
	int to[2], from[2];
	struct child c = { 0 };

	if (pipe(to) || pipe(from))
		exit(1);
	c.pid = fork();
	if (c.pid == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		close(to[0]);
		close(to[1]);
		close(from[0]);
		close(from[1]);
		execvp(argv[0], argv);
		perror(argv[0]);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	c.in = fdopen(to[1], "w");
	c.out = fdopen(from[0], "r");
	return c;
}

static void expect(struct child *c, const char *word)
{
	char line[64];

	if (!fgets(line, sizeof(line), c->out) || strncmp(line, word, strlen(word)) != 0) {
		printf("FAIL - the load did not say %s\n", word);
		exit(1);
	}
}

static void go(struct child *c)
{
	fputs("go\n", c->in);
	fflush(c->in);
	expect(c, "done");
}

static void finish(struct child *c)
{
	fclose(c->in);
	waitpid(c->pid, NULL, 0);
	fclose(c->out);
}

static void sample(void)
{
	m.plugin->sample(m.instance, m.state);
	skep_mock_settle(&m);
}

static int attach(enum skep_scope kind, uint64_t value, uint64_t id)
{
	const struct skep_detail_scope scope = { .size = sizeof(scope), .kind = kind, .value = value, .id = id };
	int err = m.plugin->attach(m.instance, m.state, 0, &scope);

	skep_mock_settle(&m);
	return err;
}

static void compare(uint64_t id, uint64_t rounds)
{
	const struct cuda_record *r = &sum[id];

	same("launches", 3 * rounds, r->launches);
	same("graph launches", rounds, r->graph_launches);
	same("copies to the device", rounds, r->copies_h2d);
	same("bytes to the device", 1000 * rounds, r->bytes_h2d);
	same("copies from the device", 2 * rounds, r->copies_d2h);
	same("bytes from the device", 1000 * rounds, r->bytes_d2h);
	same("bytes within it", 64 * rounds, r->bytes_d2d);
	same("bytes to peers", 32 * rounds, r->bytes_other);
	same("2D copies", rounds, r->copies_unsized);
	same("allocations", 2 * rounds, r->allocs);
	same("bytes allocated", 2 * 4096 * rounds, r->bytes_alloc);
	same("frees", rounds, r->frees);
	same("waits", rounds, r->syncs);
	same("waits with their time", rounds, stall_n[id]);
	check("each waited its millisecond", r->stall.sum >= rounds * 1000000 && r->stall.sum < rounds * 1000000000);
	same("hits: one a call, two a wait", 15 * rounds, r->hits);
}

/*
 * Stands in for a fence's driver: the test puts the symbol of a function into the kernel's table, because no driver
 * here makes fences. A thread reads /proc/kallsyms for the symbol, so its counts arrive an interval later, and none is
 * missing.
 */
static void fence_name(void)
{
	struct fence_stats stats = { .emitted = 7, .signaled = 5 };
	struct hooks *h = calloc(1, sizeof(*h));
	uint64_t key = 1, address = 0;
	char line[512], want[64] = "";
	FILE *f = fopen("/proc/kallsyms", "re");

	while (f && !address && fgets(line, sizeof(line), f))
		if (strstr(line, "_get_driver_name\n") && sscanf(line, "%lx", &address) == 1)
			hooks_driver_of(line, address, want, sizeof(want));
	if (f)
		fclose(f);
	hooks_start(h, m.instance, &m.host, true, true);
	if (!h->fence || !address) {
		puts("# no dma_fence here");
	} else {
		stats.name_fn = address;
		same("a fence in the kernel's table", 0,
		     (uint64_t)bpf_map_update_elem(bpf_object__find_map_fd_by_name(h->fence->obj, "drivers"), &key,
						   &stats, BPF_ANY));
		hooks_sample(h, m.instance, &m.host, 1);
		same("nothing of it before its name is known", 0, fences_emitted);
		skep_mock_settle(&m);
		hooks_sample(h, m.instance, &m.host, 2);
		same("its fences then", 7, fences_emitted);
		check("its driver", *want && strcmp(fence_driver, want) == 0);
	}
	hooks_stop(h);
	free(h);
}

static double since(const struct timespec *a)
{
	struct timespec b;

	clock_gettime(CLOCK_MONOTONIC, &b);
	return (double)(b.tv_sec - a->tv_sec) * 1e3 + (double)(b.tv_nsec - a->tv_nsec) / 1e6;
}

static void mock_new(const char *procfs, const char *max_percent)
{
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.host.emit = on_emit;
	m.host.detail_over = on_over;
	m.host.process_by_pid = on_process;
	m.host.drained = on_drained;
	m.host.lost = on_lost;
	skep_mock_option(&m, "nvml", "false");
	skep_mock_option(&m, "drm", "false");
	skep_mock_option(&m, "tracepoints", "false");
	skep_mock_option(&m, "cuda_library", "standin_cuda.so");
	skep_mock_option(&m, "cuda_max_percent", max_percent);
	skep_mock_option(&m, "procfs", procfs);
}

static void begin(const char *procfs, const char *max_percent)
{
	mock_new(procfs, max_percent);
	if (skep_mock_start(&m)) {
		printf("FAIL - cannot start: %s\n", m.why);
		exit(1);
	}
}

/* Counts the process's entries in the kernel's tables "syncs": other programs have such tables too. */
static unsigned syncs_entries(pid_t pid)
{
	unsigned n = 0;

	for (uint32_t id = 0; bpf_map_get_next_id(id, &id) == 0;) {
		struct bpf_map_info info = { 0 };
		uint32_t size = sizeof(info);
		uint64_t key, *before = NULL;
		int fd = bpf_map_get_fd_by_id(id);

		if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 && strcmp(info.name, "syncs") == 0)
			for (; bpf_map_get_next_key(fd, before, &key) == 0; before = &key)
				n += key >> 32 == (uint64_t)pid;
		if (fd >= 0)
			close(fd);
	}
	return n;
}

/* A process killed while its threads wait for the device leaves nothing in the kernel's table. */
static void killed_inside(char **load, unsigned char *verdicts)
{
	struct child d;

	load[3] = "100000";
	d = start(load);
	load[3] = "25";
	expect(&d, "ready");
	verdicts[d.pid] = 8;
	same("attached to a run", 0, (uint64_t)-attach(SKEP_SCOPE_GROUP, 8, 4));
	fputs("go\n", d.in);
	fflush(d.in);
	do { /* until the stop finds a thread in its wait */
		kill(d.pid, SIGCONT);
		usleep(20000);
		kill(d.pid, SIGSTOP);
		waitpid(d.pid, NULL, WUNTRACED);
	} while (!syncs_entries(d.pid));
	kill(d.pid, SIGKILL);
	waitpid(d.pid, NULL, 0);
	sample();
	if (syncs_entries(d.pid))
		sample(); /* the pass that the plugin has just ended began before the process's end */
	same("entries of a killed process", 0, syncs_entries(d.pid));
	m.plugin->detach(m.instance, m.state, 4);
	skep_mock_settle(&m);
	fclose(d.in);
	fclose(d.out);
}

/* A process whose /proc/PID/maps blocks: a FIFO stands for it. No other process's counting waits for it. */
static void stuck(void)
{
	const struct skep_detail_scope scope = { .size = sizeof(scope), .kind = SKEP_SCOPE_PID, .value = 10, .id = 6 };
	char dir[] = "/tmp/cuda_live.XXXXXX", path[64];
	struct gpu_probe *probe;
	struct timespec begun;
	FILE *f;

	check("a folder", mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/10", dir);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/10/stat", dir);
	f = fopen(path, "w");
	fputs("10 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0\n", f);
	fclose(f);
	snprintf(path, sizeof(path), "%s/10/maps", dir);
	mkfifo(path, 0600);
	begin(dir, "5");
	probe = m.state;
	over_id = 0;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	same("attached to one that does not answer", 0, (uint64_t)-m.plugin->attach(m.instance, m.state, 0, &scope));
	check("without waiting for it", since(&begun) < 60000);
	for (int i = 0; i < 2400 && !over_id; i++) { /* until the thread blocks on it */
		usleep(50000);
		cuda_sample(probe->cuda, skep_boot_ns() + 11000000000u);
	}
	same("given up", 6, over_id);
	printf("# %s\n", over);
	same("counted", 1, skep_mock_counter(&m, "cuda_processes_stuck"));
	f = fopen(path, "w"); /* maps answers in the end, with no mapping */
	fclose(f);
	skep_mock_settle(&m);
	same("its end", 0, (uint64_t)-skep_mock_end(&m));
	unlink(path);
	snprintf(path, sizeof(path), "%s/10/stat", dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/10", dir);
	rmdir(path);
	rmdir(dir);
}

int main(int argc, char **argv)
{
	char *load[] = { argc > 2 ? argv[1] : NULL, argc > 2 ? argv[2] : NULL, "4", "25", NULL };
	char *plain[] = { "sleep", "60", NULL };
	char *other[64];
	unsigned char *verdicts;
	struct timespec begun;
	struct child c, d;
	int n = 0;

	if (argc < 3) {
		fputs("cuda_live LOAD LIBRARY [exec PROGRAM ARG...]\n", stderr);
		return 2;
	}
	if (argc > 4 && strcmp(argv[3], "exec") == 0) {
		for (int i = 4; i < argc && n < 60; i++)
			other[n++] = argv[i];
		other[n++] = "4";
		other[n++] = "25";
		other[n] = NULL;
	}
	mock_new("/proc", "0");
	/* the host's verdict map: a byte a pid */
	m.host.verdict_pids = 4194304;
	m.host.verdict_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "verdict", 4, m.host.verdict_pids, 1,
					   &(struct bpf_map_create_opts) { .sz = sizeof(struct bpf_map_create_opts),
									   .map_flags = BPF_F_MMAPABLE });
	if (m.host.verdict_fd < 0) {
		printf("skip: no BPF map: %s\n", strerror(errno));
		return 77;
	}
	verdicts = mmap(NULL, m.host.verdict_pids, PROT_READ | PROT_WRITE, MAP_SHARED, m.host.verdict_fd, 0);
	if (verdicts == MAP_FAILED || skep_mock_start(&m)) {
		printf("FAIL - cannot start: %s\n", m.why);
		return 1;
	}

	if (!n)
		fence_name();
	c = start(n ? other : load);
	expect(&c, "ready");
	clock_gettime(CLOCK_MONOTONIC, &begun);
	if (attach(SKEP_SCOPE_PID, (uint64_t)c.pid, 1)) {
		printf("skip: %s\n", m.why);
		kill(c.pid, SIGKILL);
		return 77;
	}
	printf("# attached in %.1f ms\n", since(&begun));
	if (over_id == 1) {
		printf("skip: %s\n", over);
		kill(c.pid, SIGKILL);
		return 77;
	}
	go(&c);
	sample();
	compare(1, ROUNDS * THREADS);
	check("the price of a hit was measured", cost > 0);
	printf("# a hit costs %llu ns here\n", (unsigned long long)cost);
	if (n) { /* the remaining cases do not depend on the library's place */
		finish(&c);
		sample();
		same("the end of the process ends the attachment", 1, over_id);
		skep_mock_end(&m);
		return failures != 0;
	}

	/*
	 * a process outside of the scope is not counted, though it runs the same file; a pid without libcuda is refused
	 */
	d = start(load);
	expect(&d, "ready");
	go(&d);
	sample();
	same("another process: not counted", 3 * ROUNDS * THREADS, sum[1].launches);
	finish(&d);
	d = start(plain);
	same("without libcuda: attached", 0, (uint64_t)-attach(SKEP_SCOPE_PID, (uint64_t)d.pid, 2));
	same("and ended, as a thread has looked", 2, over_id);
	printf("# %s\n", over);
	over_id = 0;
	kill(d.pid, SIGKILL);
	finish(&d);
	same("no such process: refused", (uint64_t)ESRCH, (uint64_t)-attach(SKEP_SCOPE_PID, 4194303, 2));
	same("the whole host: refused", (uint64_t)ENOTSUP, (uint64_t)-attach(SKEP_SCOPE_HOST, 0, 2));

	/* a run: the process followed before, and a second one that joins later */
	verdicts[c.pid] = 7;
	same("attached to a run", 0, (uint64_t)-attach(SKEP_SCOPE_GROUP, 7, 3));
	d = start(load);
	verdicts[d.pid] = 7 | SKEP_VERDICT_KEEP; /* the keep bit of the rules beside the run's group */
	expect(&d, "ready");
	/* more members than one scan reads: members followed before stay followed */
	memset(verdicts + 1000000, 7, 1200);
	for (int i = 0; i < 4; i++)
		sample();
	go(&d);
	sample();
	compare(3, ROUNDS * THREADS); /* and none of the first process's earlier calls */
	same("each attachment has its own count", 3 * ROUNDS * THREADS, sum[1].launches);
	finish(&d);
	sample();
	same("an ended process leaves its run attached", 0, over_id);

	/* detached: the last record comes, then calls cost nothing any more */
	clock_gettime(CLOCK_MONOTONIC, &begun);
	m.plugin->detach(m.instance, m.state, 3);
	skep_mock_settle(&m);
	finish(&c);
	sample();
	same("the end of the process ends the attachment", 1, over_id);
	printf("# %s; detached in %.1f ms\n", over, since(&begun));
	over_id = 0;

	killed_inside(load, verdicts);

	/* too expensive a call rate */
	skep_mock_end(&m);
	begin("/proc", "1");
	load[3] = "100000"; /* longer than the test measures */
	c = start(load);
	expect(&c, "ready");
	same("attached again", 0, (uint64_t)-attach(SKEP_SCOPE_PID, (uint64_t)c.pid, 5));
	sample();
	fputs("go\n", c.in);
	fflush(c.in);
	for (int i = 0; i < 1200 && !over_id; i++) {
		usleep(100000);
		sample();
	}
	same("one that costs too much is ended", 5, over_id);
	printf("# %s\n", over);
	kill(c.pid, SIGKILL);
	finish(&c);
	skep_mock_settle(&m);
	skep_mock_end(&m);
	stuck();
	printf(failures ? "%d failed\n" : "all good\n", failures);
	return failures != 0;
}
