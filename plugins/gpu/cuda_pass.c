/* SPDX-License-Identifier: Apache-2.0 */
/* plugins/gpu/cuda_pass.c - a thread attaches uprobes and removes them; the loop starts it and copies its result. */
#include "cuda_state.h"

void cuda_target_off(struct target *t)
{
	while (t->n_links > 0)
		bpf_link__destroy(t->links[--t->n_links]);
}

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
			    : bytes && pid < s->config.host->verdict_pids && cuda_in_group(bytes[pid], w->value))
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
		snprintf(why, why_size, "process %u: not followed: %d processes already are, which is the limit", pid,
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
		cuda_target_off(t);
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
			bytes = cuda_verdicts_map(s->config.host->verdict_fd, pids);
	}
	targets_check(s, bytes);
	for (uint32_t i = 0; s->scanned && i < s->scanned->n_found; i++)
		attach_found(s, s->scanned->found[i], bytes);
	cuda_verdicts_unmap(bytes, pids);
	if (any && !s->calibrated && cuda_calibrate(s->bpf, &s->price))
		s->price = (struct cuda_price){ 0 };
	s->calibrated = s->calibrated || any;
}

/* ---- on the loop --------------------------------------------------------------------- */

/* Copies the pass's result for the loop, and emits the last record of processes that are no longer followed. */
static void targets_read(struct cuda_state *s, uint64_t now_ns)
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
					cuda_emit_one(s, &s->attachments[i], k, now_ns);
				if (s->attachments[i].base)
					memset(&s->attachments[i].base[k], 0, sizeof(s->attachments[i].base[k]));
			}
			bpf_map_delete_elem(bpf_map__fd(s->bpf->maps.processes), &t->pid);
			*l = (struct live){ 0 };
			t->state = TARGET_FREE;
		}
	}
}

static void pass_done(struct skep_instance *inst, void *arg)
{
	struct cuda_state *s = arg;
	bool any = false;

	s->busy = false;
	s->scanned = cuda_scan_free(s->scanned);
	targets_read(s, skep_boot_ns());
	for (int i = 0; i < CUDA_ATTACHMENTS; i++) {
		struct attachment *a = &s->attachments[i];

		if (a->id && a->id == s->want[i].id && s->want[i].failed && !a->over) {
			a->over = true;
			s->config.host->detail_over(inst, a->id, s->want[i].why);
		}
		any = any || a->id;
	}
	if (s->again && !s->busy) {
		s->again = false;
		cuda_kick(s);
	}
	if (!any && !s->busy)
		cuda_unload(s);
}

void cuda_want_all(const struct cuda_state *s, struct attachment_want *want)
{
	for (int i = 0; i < CUDA_ATTACHMENTS; i++) {
		const struct attachment *a = &s->attachments[i];

		want[i] = (struct attachment_want) {
			.id = a->over ? 0 : a->id, .kind = a->kind, .value = a->value, .resume = a->resume
		};
	}
}

void cuda_pass_begin(struct cuda_state *s)
{
	if (s->busy) {
		s->again = true;
		return;
	}
	cuda_want_all(s, s->want);
	for (int i = 0; s->scanned && i < CUDA_ATTACHMENTS; i++)
		if (s->want[i].id && s->want[i].id == s->scanned->want[i].id && s->scanned->want[i].failed)
			s->want[i] = s->scanned->want[i];
	s->busy = true;
	if (s->config.host->work(s->inst, pass, pass_done, s))
		s->busy = false; /* the probe is about to stop: cuda_free() removes the uprobes */
}
