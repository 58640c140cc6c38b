// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/io/iolat.bpf.c - distributions of how long block requests took, for attachments of the detail iolat.  skepd
 * loads it with the first attachment.
 *
 * The kernel calls the programs of a tracepoint in the order of their attachment, so io.bpf.c runs first.  It finds the
 * issuer and the times of the request, and leaves them in `done` of this CPU.  When the completion of another request
 * interrupts and overwrites them, this program counts the request as lost and never confuses the two.
 */
#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/hist.bpf.h>
#include <skep/bpf/scope.bpf.h>

#include "iolat.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* A placeholder: user space replaces it by the map of io.bpf.c. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct io_done);
} done SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by user space */
	__type(key, struct iolat_key);
	__type(value, struct iolat_row);
} rows SEC(".maps");

/* A zeroed row to add; it is too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct iolat_row);
} new_row SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by user space: one a CPU */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct iolat_cpu);
} cpus SEC(".maps");

#define ADD(field_, n_) __sync_fetch_and_add(&(field_), n_)

static __always_inline struct iolat_cpu *my_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&cpus, &cpu);
}

static __always_inline struct iolat_row *row_of(struct iolat_key *key)
{
	struct iolat_row *r = bpf_map_lookup_elem(&rows, key), *none;
	__u32 zero = 0;

	if (r)
		return r;
	none = bpf_map_lookup_elem(&new_row, &zero);
	if (none)
		bpf_map_update_elem(&rows, key, none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&rows, key); /* also when another CPU was first */
}

/* Adds the request to a row of one attachment.  Not static: the verifier then checks the function once. */
__noinline int add(__u32 slot)
{
	struct iolat_cpu *c = my_cpu();
	struct iolat_key key = {};
	struct iolat_row *r;

	if (!c)
		return 0;
	key.dev = c->done.dev;
	key.op = c->done.op;
	key.slot = slot;
	r = row_of(&key);
	if (!r) {
		ADD(c->full, 1);
		return 0;
	}
	ADD(r->operations, 1);
	ADD(r->bytes, c->done.bytes);
	if (c->done.error)
		ADD(r->errors, 1);
#pragma unroll
	for (int i = 0; i < IOLAT_TIMES; i++) {
		__u64 at = c->at[i];

		/* keeps the value in one register: the verifier demands the bound next to the use */
		asm volatile("" : "+r"(at));
		if (at < IO_LATENCY_SLOTS) {
			ADD(r->times[i][at], 1);
			ADD(r->sum_ns[i], c->ns[i]);
		}
	}
	return 0;
}

static __always_inline void time(struct iolat_cpu *c, __u32 i, int known, __u64 ns)
{
	*(volatile __u64 *)&c->at[i] = known ? skep_hist_slot(ns) : IO_LATENCY_SLOTS;
	c->ns[i] = ns;
}

/* The attachments of this request. */
static __always_inline __u32 slots_of_request(struct iolat_cpu *c)
{
	struct io_done *r = &c->done;
	__u32 all = scopes.of_kind[0], slots;

	if (r->by == IO_BY_EXCLUDED)
		return 0;
	if (r->by == IO_BY_PROCESS)
		return skep_slots_of_values(r->verdict, r->pid, r->start_ns, r->cgroup_id, &c->matched) & all;
	/* the kernel's own request: attachments to the host, and to the cgroup for which it writes back */
	slots = scopes.of_byte[VERDICT_COLLECT] & all;
	if (r->by == IO_BY_UNKNOWN && all & ~slots)
		ADD(c->lost, 1);
	if (r->by == IO_BY_KERNEL && !scope_cgroup_v1 && scopes.of_cgroup && r->cgroup_id) {
		skep_scope_look_values(0, 0, r->cgroup_id, &c->matched);
		slots |= c->matched & all;
	}
	return slots;
}

static __always_inline void count(struct iolat_cpu *c)
{
	struct io_done *r = &c->done;
	__u32 slots = slots_of_request(c);

	if (!slots)
		return;
	time(c, IOLAT_DURATION, r->latency_ns != 0, r->latency_ns);
	time(c, IOLAT_SERVICE, r->service_ns != 0, r->service_ns);
	time(c, IOLAT_QUEUE, r->service_ns && r->latency_ns >= r->service_ns, r->latency_ns - r->service_ns);
#pragma unroll
	for (__u32 i = 0; i < SKEP_SCOPE_SLOTS; i++)
		if (slots & 1u << i)
			add(i);
}

SEC("raw_tp/block_rq_complete")
int on_done(__u64 *ctx)
{
	struct iolat_cpu *c = my_cpu();
	struct io_done *r;
	__u32 zero = 0;
	__u64 pass;

	if (!c || !scopes.of_kind[0])
		return 0;
	r = bpf_map_lookup_elem(&done, &zero);
	/* before 6.1 the kernel may call such a program again in the middle of itself */
	if (!r || c->busy) {
		ADD(c->lost, 1);
		return 0;
	}
	*(volatile __u64 *)&c->busy = 1;
	pass = *(volatile __u64 *)&r->pass;
	if (*(volatile __u64 *)&r->request != ctx[0]) {
		ADD(c->lost, 1);
		goto out;
	}
	__builtin_memcpy(&c->done, r, sizeof(c->done));
	asm volatile("" ::: "memory");
	if (*(volatile __u64 *)&r->pass != pass || c->done.state == IO_DONE_LOST) {
		ADD(c->lost, 1);
		goto out;
	}
	r->request = 0;
	if (c->done.state == IO_DONE_WHOLE)
		count(c);
out:
	*(volatile __u64 *)&c->busy = 0;
	return 0;
}
