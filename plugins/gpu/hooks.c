/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/hooks.c - attaches the tracepoint programs that this kernel supports, and reads their tables each
 * interval.
 */
#include "hooks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <skep/types.h>
#include <skep/values.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugins/gpu/fence.skel.h"
#include "plugins/gpu/ring.skel.h"

#define RING_IDLE_NS 60000000000u
#define KALLSYMS_HEAD \
	4096 /* lines: the first hundreds are offsets of per-CPU symbols, which can be 0 (x86 before 6.15) */

struct fence_name {
	struct hooks *hooks;
	uint64_t key, address;
	char driver[FENCE_DRIVER_MAX];
};

struct hooks_links {
	struct bpf_link *ring[3], *ring_free;
};

static void say(struct skep_instance *inst, const struct skep_host *host, const char *name,
		enum skep_signal_state state, const char *how, const char *why)
{
	host->signal(inst, name, state, how, why);
}

bool hooks_driver_of(const char *line, uint64_t address, char *ret, size_t room)
{
	static const char suffix[] = "_get_driver_name";
	uint64_t at;
	char name[128];
	size_t n;

	if (sscanf(line, "%" SCNx64 " %*c %127s", &at, name) != 2 || at != address || !at)
		return false;
	n = strlen(name);
	if (n > sizeof(suffix) - 1 && strcmp(name + n - (sizeof(suffix) - 1), suffix) == 0)
		name[n - (sizeof(suffix) - 1)] = '\0';
	snprintf(ret, room, "%s", name);
	return true;
}

/*
 * Runs on a thread: the file takes 64 to 73 ms to read (122,153 lines on 6.18). Once for each kind of fence, of which a
 * machine has a handful. Zeroes for addresses (kptr_restrict) match nothing.
 */
static void name_find(void *arg)
{
	struct fence_name *n = arg;
	char line[512];
	FILE *f = fopen("/proc/kallsyms", "re");

	while (f && fgets(line, sizeof(line), f))
		if (hooks_driver_of(line, n->address, n->driver, sizeof(n->driver)))
			break;
	if (f)
		fclose(f);
}

static void name_found(struct skep_instance *inst, void *arg)
{
	struct fence_name *n = arg;
	struct hooks *h = n->hooks;

	(void)inst;
	for (uint32_t i = 0; i < h->n_fences; i++)
		if (h->fences[i].key == n->key) {
			memcpy(h->fences[i].driver, n->driver, sizeof(n->driver));
			h->fences[i].named = true;
		}
	h->naming = false;
	free(n);
}

/* One at a time. Without memory or a thread it tries again in the next interval. */
static void name_ask(struct hooks *h, struct skep_instance *inst, const struct skep_host *host, uint64_t key,
		     uint64_t address)
{
	struct fence_name *n = h->naming ? NULL : calloc(1, sizeof(*n));

	if (!n)
		return;
	*n = (struct fence_name){ .hooks = h, .key = key, .address = address };
	h->naming = true;
	if (host->work(inst, name_find, name_found, n)) {
		h->naming = false;
		free(n);
	}
}

static bool symbols_told(void)
{
	char line[512];
	uint64_t at = 0;
	FILE *f = fopen("/proc/kallsyms", "re");

	for (int i = 0; f && !at && i < KALLSYMS_HEAD && fgets(line, sizeof(line), f); i++)
		if (sscanf(line, "%" SCNx64, &at) != 1)
			at = 0;
	if (f)
		fclose(f);
	return at != 0;
}

/* ---- dma_fence ------------------------------------------------------------------------ */

static void fence_start(struct hooks *h, struct skep_instance *inst, const struct skep_host *host)
{
	static const char signal[] = "gpu.fences", how[] = "tp_btf/dma_fence_emit, dma_fence_signaled";
	const struct skep_kernel_types *types = NULL;
	char why[160];
	int err = skep_types_get(inst, host, &types);

	if (err || !skep_types_has_tracepoint(types, "dma_fence_emit") ||
	    !skep_types_has_tracepoint(types, "dma_fence_signaled")) {
		say(inst, host, signal, SKEP_SIGNAL_MISSING, how, "this kernel has no dma_fence tracepoints");
		goto out;
	}
	h->fence = fence_bpf__open();
	if (!h->fence) {
		say(inst, host, signal, SKEP_SIGNAL_MISSING, how, "the BPF object cannot be opened");
		goto out;
	}
	err = fence_bpf__load(h->fence) ?: fence_bpf__attach(h->fence);
	if (err) {
		snprintf(why, sizeof(why), "loading the BPF programs: %s", strerror(-err));
		say(inst, host, signal, SKEP_SIGNAL_MISSING, how, why);
		fence_bpf__destroy(h->fence);
		h->fence = NULL;
		goto out;
	}
	if (h->symbols)
		say(inst, host, signal, SKEP_SIGNAL_OK, how, NULL);
	else
		say(inst, host, signal, SKEP_SIGNAL_PARTIAL, how,
		    "without the names of drivers: "
		    "/proc/kallsyms hides addresses (needs CAP_SYSLOG, or kernel.kptr_restrict at 0)");
out:
	skep_types_put(inst, host, types);
}

uint32_t hooks_slots(const __u64 *now, const __u64 *before, uint64_t *ret)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < GPU_HIST_SLOTS; i++) {
		ret[i] = now[i] - before[i];
		if (ret[i])
			last = i + 1;
	}
	return last;
}

static void report_lost(struct skep_instance *inst, const struct skep_host *host, int fd, unsigned stream,
			uint64_t *seen)
{
	int cpus = libbpf_num_possible_cpus();
	struct gpu_lost *lost = cpus > 0 ? calloc((size_t)cpus, sizeof(*lost)) : NULL;
	uint32_t zero = 0;
	uint64_t n = 0;

	if (lost && bpf_map_lookup_elem(fd, &zero, lost) == 0)
		for (int i = 0; i < cpus; i++)
			n += lost[i].pending + lost[i].kinds;
	free(lost);
	if (n > *seen) {
		host->lost(inst, stream, SKEP_LOSS_KERNEL, n - *seen);
		*seen = n;
	}
}

static void fence_sample(struct hooks *h, struct skep_instance *inst, const struct skep_host *host, uint64_t now_ns)
{
	int fd = bpf_map__fd(h->fence->maps.drivers);
	uint64_t key, *before = NULL;
	struct fence_stats now;

	for (; bpf_map_get_next_key(fd, before, &key) == 0; before = &key) {
		struct fence_record rec;
		uint32_t i = 0;

		if (bpf_map_lookup_elem(fd, &key, &now))
			continue;
		while (i < h->n_fences && h->fences[i].key != key)
			i++;
		if (i == FENCE_DRIVERS)
			continue; /* the kernel's table is no larger */
		if (i == h->n_fences) {
			h->n_fences++;
			h->fences[i].key = key;
			h->fences[i].named = !h->symbols;
			h->fences[i].driver[0] = '\0';
			memset(&h->fences[i].last, 0, sizeof(h->fences[i].last));
		}
		if (!h->fences[i].named) { /* its counts wait for the name */
			if (now.name_fn) /* the kernel side sets it after it makes the element */
				name_ask(h, inst, host, key, now.name_fn);
			continue;
		}
		rec = (struct fence_record){
			.driver = skep_text(h->fences[i].driver),
			.emitted = now.emitted - h->fences[i].last.emitted,
			.signaled = now.signaled - h->fences[i].last.signaled,
			.waits = now.waits - h->fences[i].last.waits,
			.wait_ns = now.wait_ns - h->fences[i].last.wait_ns,
			.latency = { .slots = h->wait,
				     .n = hooks_slots(now.latency, h->fences[i].last.latency, h->wait),
				     .sum = now.latency_ns - h->fences[i].last.latency_ns },
		};
		h->fences[i].last = now;
		if (rec.emitted || rec.signaled || rec.waits)
			host->emit(inst, STREAM_FENCE, NULL, now_ns, &rec);
	}
	report_lost(inst, host, bpf_map__fd(h->fence->maps.lost), STREAM_FENCE, &h->fence_lost);
}

/* ---- the GPU scheduler ------------------------------------------------------------------ */

static void ring_start(struct hooks *h, struct skep_instance *inst, const struct skep_host *host)
{
	static const char signal[] = "gpu.scheduler";
	static const char *const names[2][3] = {
		{ "drm_sched_job_queue", "drm_sched_job_run", "drm_sched_job_done" }, /* since 6.17 */
		{ "drm_sched_job", "drm_run_job", "drm_sched_process_job" },
	};
	const char *how = "raw_tp/drm_sched_job_queue";
	struct bpf_program *programs[3];
	char why[200];
	int err = 0;

	if (access("/sys/module/gpu_sched", F_OK) != 0) { /* exists for a built-in module too, because it has parameters */
		say(inst, host, signal, SKEP_SIGNAL_MISSING, how,
		    "no driver here uses the GPU scheduler (module gpu_sched)");
		return;
	}
	h->ring = ring_bpf__open();
	h->links = calloc(1, sizeof(*h->links));
	if (!h->ring || !h->links) {
		say(inst, host, signal, SKEP_SIGNAL_MISSING, how, "the BPF object cannot be opened");
		goto fail;
	}
	err = ring_bpf__load(h->ring);
	if (err) {
		snprintf(why, sizeof(why),
			 "the kernel gives no types of gpu_sched (its module is not loaded, or has no BTF: "
			 "CONFIG_DEBUG_INFO_BTF_MODULES, and CAP_SYS_ADMIN to read it): %s",
			 strerror(-err));
		say(inst, host, signal, SKEP_SIGNAL_MISSING, how, why);
		goto fail;
	}
	programs[0] = h->ring->progs.on_queue;
	programs[1] = h->ring->progs.on_run;
	programs[2] = h->ring->progs.on_done;
	for (int v = 0; v < 2; v++) {
		how = v ? "raw_tp/drm_sched_job, drm_run_job, drm_sched_process_job" :
			  "raw_tp/drm_sched_job_queue, drm_sched_job_run, drm_sched_job_done";
		err = 0;
		for (int i = 0; i < 3 && !err; i++) {
			h->links->ring[i] = bpf_program__attach_raw_tracepoint(programs[i], names[v][i]);
			if (!h->links->ring[i])
				err = -errno;
		}
		if (!err) {
			h->links->ring_free =
				bpf_program__attach_raw_tracepoint(h->ring->progs.on_free, "dma_fence_destroy");
			say(inst, host, signal, SKEP_SIGNAL_OK, how, NULL);
			return;
		}
		for (int i = 0; i < 3; i++) {
			bpf_link__destroy(h->links->ring[i]);
			h->links->ring[i] = NULL;
		}
	}
	snprintf(why, sizeof(why), "no driver here uses the GPU scheduler, or its tracepoints have other names: %s",
		 strerror(-err));
	say(inst, host, signal, SKEP_SIGNAL_MISSING, how, why);
fail:
	ring_bpf__destroy(h->ring);
	h->ring = NULL;
	free(h->links);
	h->links = NULL;
}

/*
 * xe names a ring for each queue of a process (drivers/gpu/drm/xe/xe_guc_submit.c), so names come and go without end.
 * When they use half of the room, this drops those without a job for RING_IDLE_NS. A job that ends later makes its ring
 * again and counts there.
 */
void hooks_rings_forget(struct hooks *h, int fd, uint64_t now_ns)
{
	for (uint32_t i = 0; i < h->n_rings && h->n_rings > RINGS_ROOM / 2;) {
		if (now_ns - h->rings[i].active_ns < RING_IDLE_NS) {
			i++;
			continue;
		}
		bpf_map_delete_elem(fd, &h->rings[i].key);
		h->rings[i] = h->rings[--h->n_rings];
	}
}

static void ring_sample(struct hooks *h, struct skep_instance *inst, const struct skep_host *host, uint64_t now_ns)
{
	int fd = bpf_map__fd(h->ring->maps.rings);
	struct ring_key key, *before = NULL;
	struct ring_stats now;

	for (; bpf_map_get_next_key(fd, before, &key) == 0; before = &key) {
		struct sched_record rec;
		uint32_t i = 0;

		if (bpf_map_lookup_elem(fd, &key, &now))
			continue;
		while (i < h->n_rings && memcmp(&h->rings[i].key, &key, sizeof(key)) != 0)
			i++;
		if (i == RINGS_ROOM)
			continue;
		if (i == h->n_rings) {
			h->n_rings++;
			h->rings[i].key = key;
			h->rings[i].key.name[RING_NAME - 1] = '\0';
			memset(&h->rings[i].last, 0, sizeof(h->rings[i].last));
		}
		rec = (struct sched_record){
			.ring = skep_text(h->rings[i].key.name),
			.queued = now.queued - h->rings[i].last.queued,
			.started = now.started - h->rings[i].last.started,
			.finished = now.finished - h->rings[i].last.finished,
			.wait = { .slots = h->wait,
				  .n = hooks_slots(now.wait, h->rings[i].last.wait, h->wait),
				  .sum = now.wait_ns - h->rings[i].last.wait_ns },
			.run = { .slots = h->run,
				 .n = hooks_slots(now.run, h->rings[i].last.run, h->run),
				 .sum = now.run_ns - h->rings[i].last.run_ns },
		};
		h->rings[i].last = now;
		if (!rec.queued && !rec.started && !rec.finished)
			continue;
		h->rings[i].active_ns = now_ns;
		host->emit(inst, STREAM_SCHED, NULL, now_ns, &rec);
	}
	hooks_rings_forget(h, fd, now_ns);
	report_lost(inst, host, bpf_map__fd(h->ring->maps.lost), STREAM_SCHED, &h->ring_lost);
}

/* ---- both ---------------------------------------------------------------------------------- */

void hooks_start(struct hooks *h, struct skep_instance *inst, const struct skep_host *host, bool wanted, bool devices)
{
	const char *why = wanted ? "no DRM device here (/sys/class/drm)" : "option tracepoints is false";
	enum skep_signal_state state = wanted ? SKEP_SIGNAL_MISSING : SKEP_SIGNAL_OFF;

	if (!wanted || !devices) {
		say(inst, host, "gpu.fences", state, "tp_btf/dma_fence_emit", why);
		say(inst, host, "gpu.scheduler", state, "raw_tp/drm_sched_job_queue", why);
		return;
	}
	h->symbols = symbols_told();
	fence_start(h, inst, host);
	ring_start(h, inst, host);
}

void hooks_sample(struct hooks *h, struct skep_instance *inst, const struct skep_host *host, uint64_t now_ns)
{
	if (h->fence)
		fence_sample(h, inst, host, now_ns);
	if (h->ring)
		ring_sample(h, inst, host, now_ns);
}

void hooks_stop(struct hooks *h)
{
	for (int i = 0; h->links && i < 3; i++)
		bpf_link__destroy(h->links->ring[i]);
	if (h->links)
		bpf_link__destroy(h->links->ring_free);
	free(h->links);
	h->links = NULL;
	ring_bpf__destroy(h->ring);
	h->ring = NULL;
	fence_bpf__destroy(h->fence);
	h->fence = NULL;
	h->n_fences = h->n_rings = 0;
	h->fence_lost = h->ring_lost = 0;
}
