/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/cuda.c - attachments of the detail "cuda", and the processes behind them.
 *
 * Probes are put on process by process.  Finding a process's libcuda and attaching takes
 * milliseconds, and taking probes off waits for the kernel's grace periods: both are work
 * for the pool, to which targets[] and want[] belong meanwhile.  What is emitted is read
 * from the kernel's table by live[], the loop's copy of what the last pass has left; a pass
 * only adds to that table, the loop takes away.
 */
#include "cuda.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "cuda.skel.h"

#define LOOKED_AT 512u /* processes of a group whose maps are read in one pass */

enum target_state { TARGET_FREE = 0, TARGET_ON, TARGET_GONE };

struct target {
	enum target_state state;
	uint32_t pid;
	uint32_t members; /* bits of attachments that it is in */
	uint64_t started; /* its start time, against a pid that comes again */
	bool stepped;     /* at the dearer price */
	int n_links;
	struct bpf_link *links[CUDA_LINKS_MAX];
};

struct attachment {
	uint64_t id; /* 0: free */
	uint32_t kind;
	uint64_t value;
	bool over; /* said so */
	uint64_t window_hits, window_cost_ns, window_ns; /* since the share was last looked at */
	struct cuda_stats *base;         /* by target: what has been emitted */
};

/* Of a target, as the last pass has left it. */
struct live {
	uint32_t pid; /* 0: free */
	uint32_t members;
	bool stepped;
	struct skep_upid who; /* once it is known */
};

struct cuda_state {
	struct skep_instance *inst;
	struct cuda_config config;
	struct cuda_bpf *bpf;
	struct cuda_price price;
	uint64_t last_ns;
	bool busy, again, calibrated;
	uint64_t lost_seen;
	struct attachment attachments[CUDA_ATTACHMENTS];
	struct live live[CUDA_PROCESSES];
	struct target targets[CUDA_PROCESSES];
	/* the pass's own copy of what is wanted */
	struct attachment_want {
		uint64_t id, value;
		uint32_t kind;
		bool failed;
		char why[CUDA_PATH_MAX + 160];
	} want[CUDA_ATTACHMENTS];
	uint32_t resume; /* where the next pass over a group goes on */
	struct skep_counter *full;
};

static uint64_t boot_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

struct cuda_state *cuda_new(struct skep_instance *inst, const struct cuda_config *config)
{
	struct cuda_state *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->inst = inst;
	s->config = *config;
	s->full = config->host->counter(inst, "cuda_processes_full", "processes that a detail cuda could not follow: too many at a time");
	return s;
}

static void target_off(struct target *t)
{
	while (t->n_links > 0)
		bpf_link__destroy(t->links[--t->n_links]);
}

static void unload(struct cuda_state *s)
{
	for (int i = 0; i < CUDA_PROCESSES; i++) {
		target_off(&s->targets[i]);
		s->targets[i].state = TARGET_FREE;
		s->live[i] = (struct live){ 0 };
	}
	cuda_bpf__destroy(s->bpf);
	s->bpf = NULL;
	s->lost_seen = 0;
}

struct cuda_state *cuda_free(struct cuda_state *s)
{
	if (!s)
		return NULL;
	unload(s);
	for (int i = 0; i < CUDA_ATTACHMENTS; i++)
		free(s->attachments[i].base);
	free(s);
	return NULL;
}

/* ---- a pass, on a pool thread ------------------------------------------------------- */

/* Field 22 of /proc/PID/stat, after the name, which may contain anything; 0: no such process. */
static uint64_t started(const struct cuda_state *s, uint32_t pid)
{
	char path[320], text[1024];
	const char *at;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%.200s/%u/stat", s->config.procfs, pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++) {
		at = strchr(at, ' ');
		at += at != NULL;
	}
	return at ? strtoull(at, NULL, 10) : 0;
}

static struct target *target_of(struct cuda_state *s, uint32_t pid)
{
	for (int i = 0; i < CUDA_PROCESSES; i++)
		if (s->targets[i].state == TARGET_ON && s->targets[i].pid == pid)
			return &s->targets[i];
	return NULL;
}

/* -ENOENT: no libcuda (yet). */
static int target_on(struct cuda_state *s, uint32_t pid, uint32_t member, char *why, size_t why_size)
{
	struct target *t = target_of(s, pid);
	struct cuda_stats *zeroes;
	char file[CUDA_PATH_MAX];
	int err;

	if (t) {
		t->members |= member;
		return 0;
	}
	err = cuda_find(s->config.procfs, pid, s->config.library, file, sizeof(file));
	if (err) {
		snprintf(why, why_size, "process %u: %s", pid,
			 err == -ESRCH ? "there is none" : err == -ENOENT ? "has not loaded libcuda" : strerror(-err));
		return err;
	}
	for (int i = 0; i < CUDA_PROCESSES && !t; i++)
		if (s->targets[i].state == TARGET_FREE)
			t = &s->targets[i];
	if (!t) {
		s->config.host->counter_add(s->full, 1);
		snprintf(why, why_size, "process %u: %d processes are being followed, which is the most", pid, CUDA_PROCESSES);
		return -EBUSY;
	}
	zeroes = calloc(1, sizeof(*zeroes));
	if (!zeroes)
		return -ENOMEM;
	err = bpf_map_update_elem(bpf_map__fd(s->bpf->maps.processes), &pid, zeroes, BPF_ANY);
	free(zeroes);
	if (err) {
		snprintf(why, why_size, "process %u: the kernel's table: %s", pid, strerror(-err));
		return err;
	}
	t->pid = pid;
	t->members = member;
	t->started = started(s, pid);
	t->n_links = 0;
	err = cuda_probe(s->bpf, pid, file, t->links, &t->stepped, why, why_size);
	if (err < 0) {
		bpf_map_delete_elem(bpf_map__fd(s->bpf->maps.processes), &pid);
		return err;
	}
	t->n_links = err;
	t->state = TARGET_ON;
	return 0;
}

/* Processes of a group are those whose byte in the verdict map says so; which of them use CUDA, their maps tell. */
static void group_on(struct cuda_state *s, const struct attachment_want *w, uint32_t member)
{
	uint32_t pids = s->config.host->verdict_pids, looked = 0, pid;
	size_t size = (pids + 4095u) / 4096 * 4096;
	const unsigned char *bytes;
	char why[160];

	bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, s->config.host->verdict_fd, 0);
	if (bytes == MAP_FAILED)
		return;
	for (uint32_t i = 0; i < pids && looked < LOOKED_AT; i++) {
		pid = (s->resume + i) % pids;
		if (bytes[pid] != w->value)
			continue;
		if (!target_of(s, pid))
			looked++;
		target_on(s, pid, member, why, sizeof(why)); /* a process without libcuda is no failure of the group */
		if (looked == LOOKED_AT)
			s->resume = pid + 1;
	}
	munmap((void *)bytes, size);
}

static void pass(void *arg)
{
	struct cuda_state *s = arg;
	bool any = false;

	for (int i = 0; i < CUDA_PROCESSES; i++)
		s->targets[i].members = 0;
	for (int i = 0; i < CUDA_ATTACHMENTS; i++) {
		struct attachment_want *w = &s->want[i];

		if (!w->id)
			continue;
		any = true;
		if (w->kind == SKEP_SCOPE_PID) {
			struct target *t = target_of(s, (uint32_t)w->value);

			if (t && started(s, t->pid) != t->started) {
				w->failed = true;
				snprintf(w->why, sizeof(w->why), "process %u has ended", t->pid);
			} else {
				w->failed = target_on(s, (uint32_t)w->value, 1u << i, w->why, sizeof(w->why)) != 0;
			}
		} else {
			group_on(s, w, 1u << i);
		}
	}
	for (int i = 0; i < CUDA_PROCESSES; i++) {
		struct target *t = &s->targets[i];

		if (t->state != TARGET_ON)
			continue;
		if (!t->members || started(s, t->pid) != t->started) {
			target_off(t);
			t->state = TARGET_GONE; /* the loop emits its last numbers, then frees it */
		}
	}
	if (any && !s->calibrated && cuda_calibrate(s->bpf, &s->price))
		s->price = (struct cuda_price){ 0 };
	s->calibrated = s->calibrated || any;
}

/* ---- on the loop --------------------------------------------------------------------- */

void cuda_difference(const struct cuda_stats *now, const struct cuda_stats *before, uint64_t stall[GPU_HIST_SLOTS],
		     struct cuda_record *ret)
{
	uint32_t last = 0;

	*ret = (struct cuda_record){
		.launches = now->launches - before->launches,
		.graph_launches = now->graph_launches - before->graph_launches,
		.copies_h2d = now->copies_h2d - before->copies_h2d,
		.bytes_h2d = now->bytes_h2d - before->bytes_h2d,
		.copies_d2h = now->copies_d2h - before->copies_d2h,
		.bytes_d2h = now->bytes_d2h - before->bytes_d2h,
		.copies_d2d = now->copies_d2d - before->copies_d2d,
		.bytes_d2d = now->bytes_d2d - before->bytes_d2d,
		.copies_other = now->copies_other - before->copies_other,
		.bytes_other = now->bytes_other - before->bytes_other,
		.copies_unsized = now->copies_unsized - before->copies_unsized,
		.allocs = now->allocs - before->allocs,
		.bytes_alloc = now->bytes_alloc - before->bytes_alloc,
		.frees = now->frees - before->frees,
		.syncs = now->syncs - before->syncs,
		.hits = now->hits - before->hits,
	};
	for (uint32_t i = 0; i < GPU_HIST_SLOTS; i++) {
		stall[i] = now->stall[i] - before->stall[i];
		if (stall[i])
			last = i + 1;
	}
	ret->stall = (struct skep_hist){ .slots = stall, .n = last, .sum = now->stall_ns - before->stall_ns };
}

static void emit_one(struct cuda_state *s, struct attachment *a, int target, uint64_t now_ns)
{
	const struct skep_host *host = s->config.host;
	struct live *l = &s->live[target];
	uint64_t stall[GPU_HIST_SLOTS];
	struct cuda_record rec;
	struct cuda_stats now;

	if (bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.processes), &l->pid, &now))
		return;
	cuda_difference(&now, &a->base[target], stall, &rec);
	if (!rec.hits)
		return;
	a->base[target] = now;
	a->window_hits += rec.hits;
	rec.detail = a->id;
	rec.cost_ns = rec.hits * (l->stepped ? s->price.stepped_ns : s->price.emulated_ns);
	a->window_cost_ns += rec.cost_ns;
	if (!l->who.pid && SKEP_HAS(host, process_by_pid) && !host->process_by_pid(s->inst, l->pid, &l->who))
		l->who = (struct skep_upid){ 0 };
	host->emit(s->inst, STREAM_CUDA, l->who.pid ? &l->who : NULL, now_ns, &rec);
}

/* Synchronizing threads that found no room: their stall is missing. */
static void tell_lost(struct cuda_state *s)
{
	int cpus = libbpf_num_possible_cpus();
	struct gpu_lost *lost = cpus > 0 ? calloc((size_t)cpus, sizeof(*lost)) : NULL;
	uint32_t zero = 0;
	uint64_t n = 0;

	if (lost && bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.lost), &zero, lost) == 0)
		for (int i = 0; i < cpus; i++)
			n += lost[i].pending;
	free(lost);
	if (n > s->lost_seen) {
		s->config.host->lost(s->inst, STREAM_CUDA, SKEP_LOSS_KERNEL, n - s->lost_seen);
		s->lost_seen = n;
	}
}

/* A detail that costs its processes more than it may is ended: they come first. */
static void watch_cost(struct cuda_state *s, struct attachment *a, uint64_t interval_ns)
{
	char why[160];
	double share;

	a->window_ns += interval_ns;
	if (a->window_ns < 1000000000u)
		return;
	share = (double)a->window_cost_ns / (double)a->window_ns;
	if (s->config.max_share > 0 && share > s->config.max_share && !a->over && SKEP_HAS(s->config.host, detail_over)) {
		snprintf(why, sizeof(why), "%.0f calls a second at %.1f us each are %.1f %% of a core, more than cuda_max_percent allows",
			 (double)a->window_hits * 1e9 / (double)a->window_ns, (double)a->window_cost_ns / 1e3 / (double)a->window_hits, share * 100);
		a->over = true;
		a->window_hits = a->window_cost_ns = a->window_ns = 0;
		s->config.host->detail_over(s->inst, a->id, why); /* which calls cuda_detach(): a may be free now */
		return;
	}
	a->window_hits = a->window_cost_ns = a->window_ns = 0;
}

static void emit_all(struct cuda_state *s, uint64_t now_ns)
{
	uint64_t interval_ns = s->last_ns && now_ns > s->last_ns ? now_ns - s->last_ns : 0;

	s->last_ns = now_ns;
	for (int i = 0; s->bpf && i < CUDA_ATTACHMENTS; i++) {
		struct attachment *a = &s->attachments[i];

		if (!a->id)
			continue;
		for (int k = 0; k < CUDA_PROCESSES; k++)
			if (s->live[k].members & 1u << i)
				emit_one(s, a, k, now_ns);
		watch_cost(s, a, interval_ns);
	}
	if (s->bpf)
		tell_lost(s);
}

static void kick(struct cuda_state *s);

/* What the pass has left, for the loop; the last numbers of processes that are not followed any more. */
static void take_targets(struct cuda_state *s, uint64_t now_ns)
{
	uint32_t valid = 0; /* bits of attachments that are still those that the pass knew */

	for (int i = 0; i < CUDA_ATTACHMENTS; i++)
		if (s->attachments[i].id && s->attachments[i].id == s->want[i].id)
			valid |= 1u << i;
	for (int k = 0; k < CUDA_PROCESSES; k++) {
		struct target *t = &s->targets[k];
		struct live *l = &s->live[k];

		if (t->state == TARGET_ON) {
			l->pid = t->pid;
			l->members = t->members & valid;
			l->stepped = t->stepped;
		} else if (t->state == TARGET_GONE) {
			for (int i = 0; i < CUDA_ATTACHMENTS; i++) {
				if (s->attachments[i].id && (l->members & 1u << i))
					emit_one(s, &s->attachments[i], k, now_ns);
				if (s->attachments[i].base)
					memset(&s->attachments[i].base[k], 0, sizeof(s->attachments[i].base[k]));
			}
			bpf_map_delete_elem(bpf_map__fd(s->bpf->maps.processes), &t->pid);
			*l = (struct live){ 0 };
			t->state = TARGET_FREE;
		}
	}
}

static void done(struct skep_instance *inst, void *arg)
{
	struct cuda_state *s = arg;
	bool any = false;

	s->busy = false;
	take_targets(s, boot_now());
	for (int i = 0; i < CUDA_ATTACHMENTS; i++) {
		struct attachment *a = &s->attachments[i];

		if (a->id && a->id == s->want[i].id && s->want[i].failed && !a->over && SKEP_HAS(s->config.host, detail_over)) {
			a->over = true;
			s->config.host->detail_over(inst, a->id, s->want[i].why);
		}
		any = any || a->id;
	}
	if (s->again && !s->busy) {
		s->again = false;
		kick(s);
	}
	if (!any && !s->busy)
		unload(s);
}

static void kick(struct cuda_state *s)
{
	if (s->busy) {
		s->again = true;
		return;
	}
	for (int i = 0; i < CUDA_ATTACHMENTS; i++) {
		struct attachment *a = &s->attachments[i];

		s->want[i] = (struct attachment_want){ .id = a->over ? 0 : a->id, .kind = a->kind, .value = a->value };
	}
	if (!s->bpf)
		return;
	s->busy = true;
	if (s->config.host->work(s->inst, pass, done, s))
		s->busy = false; /* about to stop: cuda_free() takes the probes off */
}

void cuda_sample(struct cuda_state *s, uint64_t now_ns)
{
	bool any = false;

	for (int i = 0; i < CUDA_ATTACHMENTS; i++)
		any = any || s->attachments[i].id;
	if (!any)
		return;
	emit_all(s, now_ns);
	kick(s);
}

static int load(struct cuda_state *s)
{
	int err;

	if (s->bpf)
		return 0;
	s->bpf = cuda_bpf__open_and_load();
	if (s->bpf)
		return 0;
	err = -errno;
	return s->config.host->fail(s->inst, err, "loading the programs of the detail cuda: %s%s", strerror(-err),
				    err == -EPERM ? "; needs CAP_BPF and CAP_PERFMON" : "");
}

int cuda_attach(struct cuda_state *s, const struct skep_detail_scope *scope)
{
	const struct skep_host *host = s->config.host;
	struct attachment *a = NULL;
	char file[CUDA_PATH_MAX];
	int err;

	if (scope->kind != SKEP_SCOPE_PID && scope->kind != SKEP_SCOPE_GROUP)
		return host->fail(s->inst, -ENOTSUP, "cuda: can be attached to a process or to a run");
	if (scope->kind == SKEP_SCOPE_GROUP && host->verdict_fd < 0)
		return host->fail(s->inst, -ENOTSUP, "cuda: a run's processes are not known here: the host has no verdict map");
	for (int i = 0; i < CUDA_ATTACHMENTS && !a; i++)
		if (!s->attachments[i].id)
			a = &s->attachments[i];
	if (!a)
		return host->fail(s->inst, -EBUSY, "cuda: %d are attached, which is the most; detach one", CUDA_ATTACHMENTS);
	if (scope->kind == SKEP_SCOPE_PID) {
		err = cuda_find(s->config.procfs, (uint32_t)scope->value, s->config.library, file, sizeof(file));
		if (err == -ENOENT)
			return host->fail(s->inst, err, "cuda: process %llu has not loaded %s; attach when it has, or to its run",
					  (unsigned long long)scope->value, s->config.library);
		if (err)
			return host->fail(s->inst, err, "cuda: process %llu: %s", (unsigned long long)scope->value, strerror(-err));
	}
	err = load(s);
	if (err)
		return err;
	if (!a->base)
		a->base = calloc(CUDA_PROCESSES, sizeof(*a->base));
	if (!a->base)
		return host->fail(s->inst, -ENOMEM, "cuda: no memory");
	memset(a->base, 0, CUDA_PROCESSES * sizeof(*a->base));
	a->over = false;
	a->window_hits = a->window_cost_ns = a->window_ns = 0;
	a->kind = scope->kind;
	a->value = scope->value;
	a->id = scope->id;
	/* A process that another attachment follows already: what was counted before is not this one's. */
	for (int k = 0; k < CUDA_PROCESSES; k++)
		if (s->live[k].pid)
			bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.processes), &s->live[k].pid, &a->base[k]);
	kick(s);
	return 0;
}

void cuda_detach(struct cuda_state *s, uint64_t id)
{
	for (int i = 0; i < CUDA_ATTACHMENTS; i++) {
		struct attachment *a = &s->attachments[i];

		if (a->id != id)
			continue;
		for (int k = 0; s->bpf && k < CUDA_PROCESSES; k++) {
			if (s->live[k].members & 1u << i)
				emit_one(s, a, k, boot_now());
			s->live[k].members &= ~(1u << i);
		}
		a->id = 0;
		kick(s);
		return;
	}
}
