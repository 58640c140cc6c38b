/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/decode.c - turns records of the ring into records of the host.
 *
 * It checks every length, although the probe's own kernel side wrote it: here bytes become pointers, and the fuzzer
 * feeds them.
 */
#include <string.h>

#include "state.h"

_Static_assert(sizeof(struct proc_sums) == sizeof(struct skep_counters), "one is copied into the other");

static struct skep_counters counters_of(const struct proc_sums *s)
{
	return (struct skep_counters){
		.cpu_ns = s->cpu_ns,
		.utime_ns = s->utime_ns,
		.stime_ns = s->stime_ns,
		.run_delay_ns = s->run_delay_ns,
		.run_count = s->run_count,
		.voluntary_switches = s->nvcsw,
		.involuntary_switches = s->nivcsw,
		.minor_faults = s->min_flt,
		.major_faults = s->maj_flt,
		.rchar_bytes = s->rchar,
		.wchar_bytes = s->wchar,
		.read_calls = s->syscr,
		.write_calls = s->syscw,
		.read_bytes = s->read_bytes,
		.write_bytes = s->write_bytes,
		.cancelled_write_bytes = s->cancelled_write_bytes,
	};
}

static struct skep_str text(const char *ptr, size_t len)
{
	return (struct skep_str){ .ptr = ptr, .len = (uint32_t)len, .total = (uint32_t)len };
}

static struct skep_str comm_of(struct proc_state *st, const char comm[PROC_COMM])
{
	memcpy(st->scratch.comm, comm, PROC_COMM);
	st->scratch.comm[PROC_COMM] = '\0';
	return text(st->scratch.comm, strlen(st->scratch.comm));
}

static void decode_origin(struct proc_state *st, const struct proc_origin *origin, struct skep_process_exec *rec)
{
	memcpy(st->scratch.parent_comm, origin->parent_comm, PROC_COMM);
	st->scratch.parent_comm[PROC_COMM] = '\0';
	rec->parent_comm = text(st->scratch.parent_comm, strlen(st->scratch.parent_comm));
	rec->group_leader = origin->group;
	rec->flags |= origin->tty ? SKEP_EXEC_TTY : 0;
}

static int decode_fork(struct skep_instance *inst, struct proc_state *st, const struct proc_fork *r)
{
	struct skep_upid who = { .pid = r->h.pid, .start_ns = r->h.start_ns };
	struct skep_process_fork rec = {
		.parent = { .pid = r->parent_pid, .start_ns = r->parent_start_ns },
		.cgroup_id = r->cgroup_id,
		.uid = r->uid,
		.gid = r->gid,
		.payer = r->payer,
		.session = r->session,
		.ns_pid = r->ns_pid,
		.comm = comm_of(st, r->comm),
	};

	st->host->emit(inst, STREAM_FORK, &who, r->h.time_ns, &rec);
	return 0;
}

static int decode_exec(struct skep_instance *inst, struct proc_state *st, const struct proc_exec *r, size_t size)
{
	struct skep_upid who = { .pid = r->h.pid, .start_ns = r->h.start_ns };
	const char *at = (const char *)(r + 1);
	struct scratch *s = &st->scratch;
	uint64_t sum = sizeof(*r);
	struct skep_process_exec rec = {
		.parent = { .pid = r->parent_pid, .start_ns = r->parent_start_ns },
		.counters = counters_of(&r->sums),
		.maxrss_bytes = PAGE_BYTES(r->maxrss_pages),
		.cgroup_id = r->cgroup_id,
		.mount_ns = r->mount_ns,
		.pid_ns = r->pid_ns,
		.uid = r->uid,
		.gid = r->gid,
		.payer = r->payer,
		.session = r->session,
		.tid = r->tid,
		.ns_pid = r->ns_pid,
		.flags = (r->flags & PROC_EXEC_ARGV_FAULT ? SKEP_EXEC_ARGV_UNREADABLE : 0) |
			 (r->flags & PROC_EXEC_JUDGED ? SKEP_EXEC_JUDGED : 0) |
			 (r->flags & PROC_EXEC_WAS_EXCLUDED ? SKEP_EXEC_WAS_EXCLUDED : 0) |
			 ((r->flags & (PROC_EXEC_BOUNDARY | PROC_EXEC_ENVIRON_FAULT)) == PROC_EXEC_BOUNDARY
				  ? SKEP_EXEC_BOUNDARY
				  : 0) |
			 (r->flags >> PROC_EXEC_UNKNOWN_SHIFT & 255) << SKEP_EXEC_UNKNOWN_SHIFT,
		.comm = comm_of(st, r->comm),
		.exe_size_bytes = r->file.size_bytes,
		.exe_modified_ns = r->file.modified_ns,
	};
	uint32_t len;

	sum += (uint64_t)r->filename_len + r->exe_len + r->cwd_len + r->cgroup_len + r->argv_len + r->environ_len;
	if (sum > size || r->filename_len > PROC_PATH_MAX || r->argv_len > PROC_ARGV_MAX ||
	    r->environ_len > PROC_ENVIRON_MAX)
		return -EBADMSG;

	decode_origin(st, &r->origin, &rec);
	len = (uint32_t)skep_path_join(at, r->exe_len, r->flags & PROC_EXEC_EXE_CUT, s->exe, sizeof(s->exe));
	rec.exe = text(s->exe, len);
	at += r->exe_len;
	len = r->filename_len;
	memcpy(s->filename, at, len);
	s->filename[len] = '\0';
	rec.filename = text(s->filename, strlen(s->filename));
	at += len;
	len = (uint32_t)skep_path_join(at, r->cwd_len, r->flags & PROC_EXEC_CWD_CUT, s->cwd, sizeof(s->cwd));
	rec.cwd = text(s->cwd, len);
	at += r->cwd_len;
	/* without its beginning it is no path: the host finds the whole one in the mounted hierarchy */
	if (r->cgroup_len && !(r->flags & PROC_EXEC_CGROUP_CUT)) {
		len = (uint32_t)skep_path_join(at, r->cgroup_len, false, s->cgroup, sizeof(s->cgroup));
		rec.cgroup = text(s->cgroup, len);
		st->host->cgroup_known(inst, r->cgroup_id, &rec.cgroup);
	}
	at += r->cgroup_len;
	len = r->argv_len;
	memcpy(s->argv, at, len);
	s->argv[len] = '\0';
	rec.argv = text(s->argv, len);
	rec.argv.total = r->argv_total > len ? r->argv_total : len;
	if (len)
		st->host->redact(inst, rec.exe.len ? s->exe : s->filename, s->argv, &rec.argv.len);
	/* arguments that redaction shortened are not "cut" */
	if (r->argv_total == len)
		rec.argv.total = rec.argv.len;
	/* Picks by our names, as the kernel side may be a previous skepd's with other names. */
	rec.environ = proc_environ_text(inst, st, at + r->argv_len, r->environ_len);
	rec.environ.total += (r->flags & PROC_EXEC_ENVIRON_FAULT) != 0;
	st->host->emit(inst, STREAM_EXEC, &who, r->h.time_ns, &rec);
	return 0;
}

static int decode_excluded(struct skep_instance *inst, struct proc_state *st, const struct proc_excluded *r)
{
	struct skep_upid who = { .pid = r->h.pid, .start_ns = r->h.start_ns };
	struct skep_process_excluded rec = {
		.counters = counters_of(&r->sums),
		.maxrss_bytes = PAGE_BYTES(r->maxrss_pages),
		.byte = r->byte,
		.generation = r->generation,
	};

	st->host->emit(inst, STREAM_EXCLUDED, &who, r->h.time_ns, &rec);
	return 0;
}

static int decode_exit(struct skep_instance *inst, struct proc_state *st, const struct proc_exit *r)
{
	struct skep_upid who = { .pid = r->h.pid, .start_ns = r->h.start_ns };
	struct skep_process_exit rec = {
		.status = r->status,
		.rss_peak_bytes = PAGE_BYTES(r->rss_peak_pages),
		.maxrss_bytes = PAGE_BYTES(r->maxrss_pages),
		.cgroup_id = r->cgroup_id,
		.counters = counters_of(&r->sums),
	};

	st->host->emit(inst, STREAM_EXIT, &who, r->h.time_ns, &rec);
	return 0;
}

static int decode_oom(struct skep_instance *inst, struct proc_state *st, const struct proc_oom *r, size_t size)
{
	struct skep_upid who = { .pid = r->h.pid, .start_ns = r->h.start_ns };
	struct skep_process_oom rec = {
		.cgroup_id = r->cgroup_id,
		.limit_bytes = PAGE_BYTES(r->limit_pages),
		.usage_bytes = PAGE_BYTES(r->usage_pages),
		.peak_bytes = PAGE_BYTES(r->peak_pages),
	};

	if (sizeof(*r) + (uint64_t)r->cgroup_len > size)
		return -EBADMSG;
	if (r->cgroup_id && !r->cgroup_cut) {
		size_t len = skep_path_join((const char *)(r + 1), r->cgroup_len, false, st->scratch.cgroup,
					    sizeof(st->scratch.cgroup));

		rec.cgroup = text(st->scratch.cgroup, len);
	}
	st->host->emit(inst, STREAM_OOM, &who, r->h.time_ns, &rec);
	return 0;
}

void proc_emit_final(struct skep_instance *inst, struct proc_state *st, const struct proc_final *r)
{
	struct skep_upid who = { .pid = r->h.pid, .start_ns = r->h.start_ns };
	struct skep_process_final rec = {
		.counters = counters_of(&r->sums),
		.maxrss_bytes = PAGE_BYTES(r->maxrss_pages),
		.status = r->status,
		.flags = (r->flags & PROC_FINAL_DELAYED ? SKEP_FINAL_DELAYED : 0) |
			 (r->flags & PROC_FINAL_PARTIAL ? SKEP_FINAL_THREADS_PARTIAL : 0),
		.cgroup_id = r->cgroup_id,
		.threads = r->threads,
	};

	st->host->emit(inst, STREAM_FINAL, &who, r->h.time_ns, &rec);
}

void proc_live_record(struct skep_instance *inst, struct proc_state *st, const struct proc_leader *r,
		      const struct proc_sums *sums, uint32_t flags, const struct skep_process_text *details)
{
	struct skep_upid who = { .pid = r->h.pid, .start_ns = r->h.start_ns };
	struct skep_process_live rec = {
		.parent = { .pid = r->parent_pid, .start_ns = r->parent_start_ns },
		.counters = counters_of(sums),
		.rss_bytes = PAGE_BYTES(r->rss_pages),
		.rss_peak_bytes = PAGE_BYTES(r->rss_peak_pages),
		.maxrss_bytes = PAGE_BYTES(r->maxrss_pages),
		.cgroup_id = r->cgroup_id,
		.uid = r->uid,
		.gid = r->gid,
		.payer = r->payer,
		.session = r->session,
		.ns_pid = r->ns_pid,
		.threads = r->threads,
		.group_leader = r->group,
		.flags = (flags & PROC_LIVE_ZOMBIE ? SKEP_LIVE_ZOMBIE : 0) |
			 (flags & PROC_LIVE_TTY ? SKEP_LIVE_TTY : 0) |
			 (flags & PROC_LIVE_RUNNING ? SKEP_LIVE_STATE_RUNNING : 0) |
			 (flags & PROC_LIVE_BLOCKED ? SKEP_LIVE_STATE_BLOCKED : 0),
		.comm = comm_of(st, r->comm),
	};

	if (details)
		proc_details(inst, st, &who, details, &rec);
	st->host->emit(inst, STREAM_LIVE, &who, r->h.time_ns, &rec);
}

void proc_emit_live(struct skep_instance *inst, struct proc_state *st, const struct proc_leader *r,
		    const struct proc_sums *sums, uint32_t flags)
{
	struct skep_upid who = { .pid = r->h.pid, .start_ns = r->h.start_ns };

	if (!(flags & PROC_LIVE_ZOMBIE) && !st->host->process_known(inst, &who))
		proc_details_ask(inst, st, r, sums, flags);
	else
		proc_live_record(inst, st, r, sums, flags, NULL);
}

#define MINIMUM(type_) ((size < sizeof(type_)) ? -EBADMSG : 0)

int proc_decode_ring(struct skep_instance *inst, struct proc_state *st, const void *data, size_t size)
{
	const struct proc_head *h = data;

	if (size < sizeof(*h))
		return -EBADMSG;
	if (st->n_waiting && h->type != PROC_FORK && h->type != PROC_OOM)
		proc_details_skip(inst, st, h->pid, h->type == PROC_EXEC);
	switch (h->type) {
	case PROC_FORK:
		return MINIMUM(struct proc_fork) ?: decode_fork(inst, st, data);
	case PROC_EXEC:
		return MINIMUM(struct proc_exec) ?: decode_exec(inst, st, data, size);
	case PROC_EXCLUDED:
		return MINIMUM(struct proc_excluded) ?: decode_excluded(inst, st, data);
	case PROC_EXIT:
		return MINIMUM(struct proc_exit) ?: decode_exit(inst, st, data);
	case PROC_FINAL:
		return MINIMUM(struct proc_final) ?: proc_pending_add(inst, st, data);
	case PROC_OOM:
		return MINIMUM(struct proc_oom) ?: decode_oom(inst, st, data, size);
	default:
		return -EBADMSG;
	}
}
