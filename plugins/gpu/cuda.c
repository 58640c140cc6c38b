/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/cuda.c - attachments of the detail "cuda", and the processes behind them.
 *
 * Probes are put on process by process, in two steps, each on a thread of the instance:
 *
 * - A look opens and reads the libcuda of processes that are wanted and not followed yet.  A process's owner can make
 * it
 *   wait for ever (cuda_find.c), so a look shares nothing with the rest: one that is stuck is given up, its process is
 *   left out, and the next look goes on with the others.
 * - A pass attaches and takes off.  That takes milliseconds and waits for the kernel's grace periods; targets[], want[]
 * and
 *   looked belong to it meanwhile.
 *
 * What is emitted is read from the kernel's table by live[], the loop's copy of what the last pass has left; a pass
 * only adds to that table, the loop takes away.
 */
#include "cuda.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <skep/rules.h>
#include <skep/values.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "cuda.skel.h"

#define LOOKED_AT 512u             /* processes of a group whose maps one scan reads */
#define LOOK_FOUND 32u             /* libraries that one scan opens */
#define LOOK_STUCK_NS 10000000000u /* for one process */
#define LOOKS_STUCK   2u /* at a time: an instance has four threads, of which a pass and the devices need one each */

enum target_state { TARGET_FREE = 0, TARGET_ON, TARGET_GONE };

struct target {
	enum target_state state;
	uint32_t pid;
	uint32_t members; /* bits of the attachments that follow it */
	uint64_t started; /* its start time, because a pid may repeat */
	bool stepped;     /* at the higher price of single-stepping */
	int n_links;
	struct bpf_link *links[CUDA_LINKS_MAX];
};

struct attachment {
	uint64_t id; /* 0: unused */
	uint32_t kind;
	uint32_t resume; /* of a group: where the next scan continues */
	uint64_t value;
	bool over; /* the end was reported */
	uint64_t window_hits, window_cost_ns, window_ns; /* since the last check of the share */
	struct cuda_stats *base;         /* by target: the counts already emitted */
};

/* An attachment as the loop wants it when a scan or a pass begins, and its result. */
struct attachment_want {
	uint64_t id, value; /* id 0: unused */
	uint32_t kind, resume;
	bool failed;
	char why[CUDA_PATH_MAX + 160];
};

/* Belongs to the thread until the scan is done, except for the first members. */
struct look {
	struct cuda_state *state; /* owned by the loop */
	atomic_uint given_up;     /* the process that blocked this scan, which then reads no other */
	atomic_uint pid;          /* the process whose files the scan reads */
	atomic_ullong since_ns;   /* since when; 0: the scan reads nothing now */
	const char *procfs, *library;
	int verdict_fd;
	uint32_t verdict_pids;
	struct attachment_want want[CUDA_ATTACHMENTS];
	uint32_t n_skip, n_found;
	uint32_t skip[CUDA_PROCESSES + LOOKS_STUCK]; /* already followed, or stuck */
	struct cuda_library *found[LOOK_FOUND];
};

/* A target as the last pass left it. */
struct live {
	uint32_t pid; /* 0: unused */
	uint32_t members;
	bool stepped;
	struct skep_upid who; /* set when it is known */
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
	struct attachment_want want[CUDA_ATTACHMENTS]; /* the pass's own copy */
	struct look *look;   /* under way */
	struct look *looked; /* done; the next pass attaches its libraries */
	uint32_t n_stuck, stuck[LOOKS_STUCK]; /* processes that block a scan, each with its thread left behind */
	struct skep_counter *full, *held_up;
};

struct cuda_state *cuda_new(struct skep_instance *inst, const struct cuda_config *config)
{
	struct cuda_state *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->inst = inst;
	s->config = *config;
	s->full = config->host->counter(inst, "cuda_processes_full",
					"processes that a detail cuda could not follow: too many at a time");
	s->held_up =
		config->host->counter(inst, "cuda_processes_stuck",
				      "processes left out of a detail cuda: their /proc or libcuda did not answer");
	return s;
}

static void target_off(struct target *t)
{
	while (t->n_links > 0)
		bpf_link__destroy(t->links[--t->n_links]);
}

static struct look *look_free(struct look *look)
{
	for (uint32_t i = 0; look && i < look->n_found; i++)
		cuda_library_free(look->found[i]);
	free(look);
	return NULL;
}

static void unload(struct cuda_state *s)
{
	s->looked = look_free(s->looked);
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

/* ---- a look, on a thread ------------------------------------------------------------- */

/* The verdict map has a byte for each pid: the group, and a bit for the rules. NULL: the map cannot be mapped. */
static const unsigned char *verdicts_map(int fd, uint32_t pids)
{
	void *bytes = mmap(NULL, (pids + 4095u) / 4096 * 4096, PROT_READ, MAP_SHARED, fd, 0);

	if (bytes == MAP_FAILED)
		return NULL;
	return bytes;
}

static void verdicts_unmap(const unsigned char *bytes, uint32_t pids)
{
	if (bytes)
		munmap((void *)bytes, (pids + 4095u) / 4096 * 4096);
}

static bool in_group(unsigned char byte, uint64_t group)
{
	return byte < SKEP_VERDICT_EXCLUDED && (byte & SKEP_VERDICT_GROUPS) == group;
}

static bool skipped(const struct look *l, uint32_t pid)
{
	for (uint32_t i = 0; i < l->n_skip; i++)
		if (l->skip[i] == pid)
			return true;
	return false;
}

static int look_at(struct look *l, uint32_t pid, char *why, size_t why_size)
{
	int err;

	for (uint32_t i = 0; i < l->n_found; i++)
		if (l->found[i]->pid == pid)
			return 0; /* followed for another attachment */
	atomic_store(&l->pid, pid);
	atomic_store(&l->since_ns, skep_boot_ns());
	err = cuda_library_open(l->procfs, pid, l->library, &l->found[l->n_found], why, why_size);
	atomic_store(&l->since_ns, 0);
	l->n_found += err == 0;
	return err;
}

/* The maps of a group's processes show which of them use CUDA: a process without libcuda is no error of the group. */
static void look_at_group(struct look *l, struct attachment_want *w, const unsigned char *bytes)
{
	uint32_t looked = 0, first = w->resume, pid;
	char why[sizeof(w->why)];

	for (uint32_t i = 0; i < l->verdict_pids; i++) {
		pid = (first + i) % l->verdict_pids;
		if (!in_group(bytes[pid], w->value) || skipped(l, pid))
			continue;
		if (looked == LOOKED_AT || l->n_found == LOOK_FOUND || atomic_load(&l->given_up)) {
			w->resume = pid;
			return;
		}
		looked++;
		look_at(l, pid, why, sizeof(why));
	}
}

static void look(void *arg)
{
	struct look *l = arg;
	const unsigned char *bytes = l->verdict_fd >= 0 ? verdicts_map(l->verdict_fd, l->verdict_pids) : NULL;

	for (int i = 0; i < CUDA_ATTACHMENTS; i++) {
		struct attachment_want *w = &l->want[i];

		if (!w->id || l->n_found == LOOK_FOUND || atomic_load(&l->given_up))
			continue;
		if (w->kind == SKEP_SCOPE_GROUP && bytes)
			look_at_group(l, w, bytes);
		else if (w->kind == SKEP_SCOPE_PID && !skipped(l, (uint32_t)w->value))
			w->failed = look_at(l, (uint32_t)w->value, w->why, sizeof(w->why)) != 0;
	}
	verdicts_unmap(bytes, l->verdict_pids);
}

/* ---- a pass, on a thread -------------------------------------------------------------- */

static struct target *target_of(struct cuda_state *s, uint32_t pid)
{
	for (int i = 0; i < CUDA_PROCESSES; i++)
		if (s->targets[i].state == TARGET_ON && s->targets[i].pid == pid)
			return &s->targets[i];
	return NULL;
}

/* Bits of the attachments that want this process. */
static uint32_t members_of(const struct cuda_state *s, uint32_t pid, const unsigned char *bytes)
{
	uint32_t members = 0;

	for (int i = 0; i < CUDA_ATTACHMENTS; i++) {
		const struct attachment_want *w = &s->want[i];

		if (!w->id || w->failed)
			continue;
		if (w->kind == SKEP_SCOPE_PID
			    ? w->value == pid
			    : bytes && pid < s->config.host->verdict_pids && in_group(bytes[pid], w->value))
			members |= 1u << i;
	}
	return members;
}

static int target_on(struct cuda_state *s, const struct cuda_library *lib, uint32_t members, char *why, size_t why_size)
{
	struct cuda_stats *zeroes;
	struct target *t = NULL;
	uint32_t pid = lib->pid;
	int err;

	for (int i = 0; i < CUDA_PROCESSES && !t; i++)
		if (s->targets[i].state == TARGET_FREE)
			t = &s->targets[i];
	if (!t) {
		s->config.host->counter_add(s->full, 1);
		snprintf(why, why_size, "process %u: %d processes are being followed, which is the most", pid,
			 CUDA_PROCESSES);
		return -EBUSY;
	}
	zeroes = calloc(1, sizeof(*zeroes));
	if (!zeroes) {
		snprintf(why, why_size, "process %u: no memory", pid);
		return -ENOMEM;
	}
	err = bpf_map_update_elem(bpf_map__fd(s->bpf->maps.processes), &pid, zeroes, BPF_ANY);
	free(zeroes);
	if (err) {
		snprintf(why, why_size, "process %u: the kernel's table: %s", pid, strerror(-err));
		return err;
	}
	err = cuda_probe(s->bpf, lib, t->links, &t->stepped, why, why_size);
	if (err < 0) {
		bpf_map_delete_elem(bpf_map__fd(s->bpf->maps.processes), &pid);
		return err;
	}
	t->pid = pid;
	t->members = members;
	t->started = lib->started;
	t->n_links = err;
	t->state = TARGET_ON;
	return 0;
}

/* A process killed inside a synchronize call leaves entries of its threads. */
static void syncs_forget(int fd, uint32_t pid)
{
	uint64_t key, next;
	bool more = bpf_map_get_next_key(fd, NULL, &key) == 0;

	for (uint32_t i = 0; more && i < 2 * CUDA_SYNCS; i++) {
		more = bpf_map_get_next_key(fd, &key, &next) == 0;
		if (key >> 32 == pid)
			bpf_map_delete_elem(fd, &key);
		key = next;
	}
}

static void targets_check(struct cuda_state *s, const unsigned char *bytes)
{
	for (int i = 0; i < CUDA_PROCESSES; i++) {
		struct target *t = &s->targets[i];
		bool ended;

		if (t->state != TARGET_ON)
			continue;
		ended = cuda_process_started(s->config.procfs, t->pid) != t->started;
		for (int k = 0; ended && k < CUDA_ATTACHMENTS; k++)
			if (s->want[k].id && s->want[k].kind == SKEP_SCOPE_PID && s->want[k].value == t->pid) {
				s->want[k].failed = true;
				snprintf(s->want[k].why, sizeof(s->want[k].why), "process %u has ended", t->pid);
			}
		t->members = ended ? 0 : members_of(s, t->pid, bytes);
		if (t->members)
			continue;
		target_off(t);
		syncs_forget(bpf_map__fd(s->bpf->maps.syncs), t->pid);
		t->state = TARGET_GONE; /* the loop emits its last record, then frees it */
	}
}

static void attach_found(struct cuda_state *s, const struct cuda_library *lib, const unsigned char *bytes)
{
	uint32_t members = members_of(s, lib->pid, bytes);
	char why[sizeof(s->want[0].why)];

	if (!members || target_of(s, lib->pid) || cuda_process_started(s->config.procfs, lib->pid) != lib->started)
		return;
	if (target_on(s, lib, members, why, sizeof(why)) == 0)
		return;
	for (int i = 0; i < CUDA_ATTACHMENTS; i++)
		if ((members & 1u << i) && s->want[i].kind == SKEP_SCOPE_PID) {
			s->want[i].failed = true;
			snprintf(s->want[i].why, sizeof(s->want[i].why), "%s", why);
		}
}

static void pass(void *arg)
{
	struct cuda_state *s = arg;
	uint32_t pids = s->config.host->verdict_pids;
	const unsigned char *bytes = NULL;
	bool any = false;

	for (int i = 0; i < CUDA_ATTACHMENTS; i++) {
		any = any || s->want[i].id;
		if (s->want[i].id && s->want[i].kind == SKEP_SCOPE_GROUP && !bytes)
			bytes = verdicts_map(s->config.host->verdict_fd, pids);
	}
	targets_check(s, bytes);
	for (uint32_t i = 0; s->looked && i < s->looked->n_found; i++)
		attach_found(s, s->looked->found[i], bytes);
	verdicts_unmap(bytes, pids);
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

/* Threads without room for their synchronize call: their stall is missing. */
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

/* Ends a detail that costs its processes more than the limit: the processes come first. */
static void watch_cost(struct cuda_state *s, struct attachment *a, uint64_t interval_ns)
{
	char why[160];
	double share;

	a->window_ns += interval_ns;
	if (a->window_ns < 1000000000u)
		return;
	share = (double)a->window_cost_ns / (double)a->window_ns;
	if (s->config.max_share > 0 && share > s->config.max_share && !a->over &&
	    SKEP_HAS(s->config.host, detail_over)) {
		snprintf(why, sizeof(why),
			 "%.0f calls a second at %.1f us each are %.1f %% of a core, more than cuda_max_percent allows",
			 (double)a->window_hits * 1e9 / (double)a->window_ns,
			 (double)a->window_cost_ns / 1e3 / (double)a->window_hits, share * 100);
		a->over = true;
		a->window_hits = a->window_cost_ns = a->window_ns = 0;
		s->config.host->detail_over(s->inst, a->id, why); /* calls cuda_detach(): `a` may be free now */
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

/* Copies the pass's result for the loop, and emits the last record of processes that are no longer followed. */
static void take_targets(struct cuda_state *s, uint64_t now_ns)
{
	uint32_t valid = 0; /* bits of attachments that still are the ones that the pass saw */

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
	s->looked = look_free(s->looked);
	take_targets(s, skep_boot_ns());
	for (int i = 0; i < CUDA_ATTACHMENTS; i++) {
		struct attachment *a = &s->attachments[i];

		if (a->id && a->id == s->want[i].id && s->want[i].failed && !a->over &&
		    SKEP_HAS(s->config.host, detail_over)) {
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

static void want_all(const struct cuda_state *s, struct attachment_want *want)
{
	for (int i = 0; i < CUDA_ATTACHMENTS; i++) {
		const struct attachment *a = &s->attachments[i];

		want[i] = (struct attachment_want) {
			.id = a->over ? 0 : a->id, .kind = a->kind, .value = a->value, .resume = a->resume
		};
	}
}

static void pass_begin(struct cuda_state *s)
{
	if (s->busy) {
		s->again = true;
		return;
	}
	want_all(s, s->want);
	for (int i = 0; s->looked && i < CUDA_ATTACHMENTS; i++)
		if (s->want[i].id && s->want[i].id == s->looked->want[i].id && s->looked->want[i].failed)
			s->want[i] = s->looked->want[i];
	s->busy = true;
	if (s->config.host->work(s->inst, pass, done, s))
		s->busy = false; /* the probe is about to stop: cuda_free() removes the uprobes */
}

static void look_done(struct skep_instance *inst, void *arg)
{
	struct look *l = arg;
	struct cuda_state *s = l->state;
	uint32_t held_up_by = atomic_load(&l->given_up), i = 0;

	(void)inst;
	if (held_up_by) {
		while (i + 1 < s->n_stuck && s->stuck[i] != held_up_by)
			i++;
		s->stuck[i] = s->stuck[--s->n_stuck];
		look_free(l);
		return;
	}
	s->look = NULL;
	for (i = 0; i < CUDA_ATTACHMENTS; i++)
		if (s->attachments[i].id && s->attachments[i].id == l->want[i].id)
			s->attachments[i].resume = l->want[i].resume;
	/* a pass attaches the libraries of an earlier scan: the next scan would find the same */
	if (!s->bpf || s->busy || s->looked) {
		look_free(l);
		s->again = s->busy;
		return;
	}
	s->looked = l;
	pass_begin(s);
}

/* Whether a scan is useful: an attachment has a group, or a process that is not followed yet. */
static bool look_wanted(const struct cuda_state *s, struct look *l)
{
	bool wanted = false;

	for (int k = 0; k < CUDA_PROCESSES; k++)
		if (s->live[k].pid)
			l->skip[l->n_skip++] = s->live[k].pid;
	for (uint32_t i = 0; i < s->n_stuck; i++)
		l->skip[l->n_skip++] = s->stuck[i];
	want_all(s, l->want);
	for (int i = 0; i < CUDA_ATTACHMENTS; i++) {
		const struct attachment_want *w = &l->want[i];

		wanted = wanted || (w->id && (w->kind == SKEP_SCOPE_GROUP || !skipped(l, (uint32_t)w->value)));
	}
	return wanted;
}

/* False: no scan began. */
static bool look_begin(struct cuda_state *s)
{
	struct look *l = s->look || s->looked || s->n_stuck == LOOKS_STUCK ? NULL : calloc(1, sizeof(*l));

	if (!l)
		return false;
	l->state = s;
	l->procfs = s->config.procfs;
	l->library = s->config.library;
	l->verdict_fd = s->config.host->verdict_fd;
	l->verdict_pids = s->config.host->verdict_pids;
	s->look = l;
	if (look_wanted(s, l) && s->config.host->work(s->inst, look, look_done, l) == 0)
		return true;
	s->look = look_free(l);
	return false;
}

static void give_up(struct cuda_state *s, uint32_t pid, const char *why)
{
	for (int i = 0; i < CUDA_ATTACHMENTS; i++) {
		struct attachment *a = &s->attachments[i];

		if (!a->id || a->over || a->kind != SKEP_SCOPE_PID || a->value != pid ||
		    !SKEP_HAS(s->config.host, detail_over))
			continue;
		a->over = true;
		s->config.host->detail_over(s->inst, a->id, why);
	}
}

/* Leaves a scan behind, with its thread, that has read one process for LOOK_STUCK_NS. */
static void look_watch(struct cuda_state *s, uint64_t now_ns)
{
	uint64_t since = s->look ? atomic_load(&s->look->since_ns) : 0;
	uint32_t pid = s->look ? atomic_load(&s->look->pid) : 0;
	char why[200];

	if (since && now_ns > since + LOOK_STUCK_NS && s->n_stuck < LOOKS_STUCK) {
		atomic_store(&s->look->given_up, pid);
		s->look = NULL;
		s->stuck[s->n_stuck++] = pid;
		s->config.host->counter_add(s->held_up, 1);
		snprintf(
			why, sizeof(why),
			"process %u: its /proc/%u/maps or its libcuda did not answer for 10 s; its file system may hang",
			pid, pid);
		give_up(s, pid, why);
	}
	/* No thread is left for scans: a process that no thread can read must not wait for ever. */
	for (int i = 0; s->n_stuck == LOOKS_STUCK && i < CUDA_ATTACHMENTS; i++) {
		const struct attachment *a = &s->attachments[i];
		bool followed = false;

		for (int k = 0; k < CUDA_PROCESSES; k++)
			followed = followed || (s->live[k].pid && s->live[k].pid == a->value);
		snprintf(why, sizeof(why),
			 "processes %u and %u hold up all that look for libcuda: end them, or reload the plugin gpu",
			 s->stuck[0], s->stuck[1]);
		if (a->id && a->kind == SKEP_SCOPE_PID && !followed)
			give_up(s, (uint32_t)a->value, why);
	}
}

static void kick(struct cuda_state *s)
{
	if (s->bpf && !look_begin(s)) /* the end of a scan begins the pass */
		pass_begin(s);
}

void cuda_sample(struct cuda_state *s, uint64_t now_ns)
{
	bool any = false;

	for (int i = 0; i < CUDA_ATTACHMENTS; i++)
		any = any || s->attachments[i].id;
	if (!any)
		return;
	emit_all(s, now_ns);
	look_watch(s, now_ns);
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
	int err;

	if (scope->kind != SKEP_SCOPE_PID && scope->kind != SKEP_SCOPE_GROUP)
		return host->fail(s->inst, -ENOTSUP, "cuda: can be attached to a process or to a run");
	if (scope->kind == SKEP_SCOPE_GROUP && host->verdict_fd < 0)
		return host->fail(s->inst, -ENOTSUP,
				  "cuda: a run's processes are not known here: the host has no verdict map");
	for (int i = 0; i < CUDA_ATTACHMENTS && !a; i++)
		if (!s->attachments[i].id)
			a = &s->attachments[i];
	if (!a)
		return host->fail(s->inst, -EBUSY, "cuda: %d are attached, which is the most; detach one",
				  CUDA_ATTACHMENTS);
	/* A thread checks whether it has libcuda: the loop must not wait for that process. */
	if (scope->kind == SKEP_SCOPE_PID && !cuda_process_started(s->config.procfs, (uint32_t)scope->value))
		return host->fail(s->inst, -ESRCH, "cuda: there is no process %llu", (unsigned long long)scope->value);
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
	a->resume = 0;
	a->value = scope->value;
	a->id = scope->id;
	/* Another attachment already follows the process: its earlier counts do not belong to this one. */
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
				emit_one(s, a, k, skep_boot_ns());
			s->live[k].members &= ~(1u << i);
		}
		a->id = 0;
		kick(s);
		return;
	}
}
