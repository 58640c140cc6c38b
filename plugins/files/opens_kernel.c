/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/opens_kernel.c - where this kernel lets us see opens, and putting the program of
 * the detail "opens" there: loaded with the first attachment, gone with the last.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <skep/btf.h>
#include <skep/hash.h>
#include <skep/load.h>
#include <skep/misses.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "state.h"

#include "opens.skel.h"

#define RING_BYTES (1u << 20)
#ifndef SYS_openat2
#define SYS_openat2 437 /* the same on all machines; since 5.6 */
#endif

/* May a program be put at the end of that function? A sandbox or a hardened kernel may refuse (EPERM on one 6.18). */
static bool fexit_allowed(int btf_id)
{
	/* return 0 */
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FEXIT,
		    .attach_btf_id = (uint32_t)btf_id);
	int fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "skep_ask", "Dual BSD/GPL", insns,
			       sizeof(insns) / sizeof(insns[0]), &opts);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static bool calls_known(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
	return true;
#else
	return false;
#endif
}

void opens_kernel_ask(struct opens_kernel *k, const struct btf *btf)
{
	/* do_filp_open() became do_file_open() after 6.18; seen so in 7.2 */
	static const char *const functions[] = { "do_filp_open", "do_file_open" };

	*k = (struct opens_kernel){ .way = OPENS_NONE };
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]) && k->way == OPENS_NONE; i++) {
		int id = btf__find_by_name_kind(btf, functions[i], BTF_KIND_FUNC);
		const struct btf_type *proto =
			id < 0 ? NULL : btf__type_by_id(btf, btf__type_by_id(btf, (uint32_t)id)->type);

		/* (int dfd, struct filename *, const struct open_flags *) */
		if (!proto || btf_vlen(proto) != 3 || !btf_is_ptr(btf__type_by_id(btf, btf_params(proto)[1].type)) ||
		    !fexit_allowed(id))
			continue;
		k->way = OPENS_FEXIT;
		k->function = functions[i];
	}
	if (k->way == OPENS_NONE && !skep_btf_has_tracepoint(btf, "sys_exit"))
		k->missing = "the kernel refuses fexit programs and has no tracepoint sys_exit";
	else if (k->way == OPENS_NONE && !calls_known())
		k->missing =
			"the kernel refuses fexit programs, and how this machine passes a call's arguments is not known to skep";
	else if (k->way == OPENS_NONE)
		k->way = OPENS_CALLS;
}

void opens_kernel_tell(struct skep_instance *inst, const struct proc_state *st)
{
	const struct opens *o = &st->opens;
	const char *how = "tp_btf/sys_exit: open, openat, openat2, creat";
	const char *why =
		"opens that io_uring makes are not seen, nor those of exec itself (a program, its interpreter); "
		"fexit programs, which see them, are refused here"
#if defined(__aarch64__)
		"; nor those of 32-bit programs"
#endif
		;

	if (!SKEP_HAS(st->host, signal))
		return;
	if (o->kernel.way == OPENS_FEXIT)
		how = strcmp(o->kernel.function, "do_file_open") == 0 ? "fexit/do_file_open" : "fexit/do_filp_open";
	if (o->kernel.way == OPENS_NONE)
		st->host->signal(inst, "proc.opens", SKEP_SIGNAL_MISSING, "", o->kernel.missing);
	else if (!o->bpf)
		st->host->signal(inst, "proc.opens", SKEP_SIGNAL_OFF, how, "on demand: skep attach opens");
	else
		st->host->signal(inst, "proc.opens",
				 o->kernel.way == OPENS_FEXIT ? SKEP_SIGNAL_OK : SKEP_SIGNAL_PARTIAL, how,
				 o->kernel.way == OPENS_FEXIT ? NULL : why);
}

static void set_calls(struct opens_bpf *bpf)
{
#ifdef SYS_open
	bpf->rodata->nr_open = SYS_open;
	bpf->rodata->nr_creat = SYS_creat;
#endif
	bpf->rodata->nr_openat = SYS_openat;
	bpf->rodata->nr_openat2 = SYS_openat2;
#if defined(__x86_64__)
	/* arch/x86/entry/syscalls/syscall_32.tbl */
	bpf->rodata->nr32_open = 5;
	bpf->rodata->nr32_creat = 8;
	bpf->rodata->nr32_openat = 295;
	bpf->rodata->nr32_openat2 = 437;
#endif
}

static int load_with(struct proc_state *st, enum opens_way way)
{
	struct opens *o = &st->opens;
	struct opens_bpf *bpf = opens_bpf__open();
	struct skep_hash_key key = skep_hash_key_new();
	int err;

	if (!bpf)
		return -errno;
	bpf_program__set_autoload(bpf->progs.on_open, way == OPENS_FEXIT);
	bpf_program__set_autoload(bpf->progs.on_call, way == OPENS_CALLS);
	bpf->rodata->any_kind = st->opt_opens_all;
	bpf->rodata->wake_at = RING_BYTES / 4;
	bpf->rodata->name_key[0] = key.k0;
	bpf->rodata->name_key[1] = key.k1;
	bpf->rodata->scope_cgroup_v1 = skep_scope_cgroup_v1();
	set_calls(bpf);
	bpf_map__set_max_entries(bpf->maps.rows, (uint32_t)st->opt_opens_rows);
	bpf_map__set_max_entries(bpf->maps.paths, RING_BYTES);
	err = way == OPENS_FEXIT ? bpf_program__set_attach_target(bpf->progs.on_open, 0, o->kernel.function) : 0;
	err = err ?: skep_load_verdict(st->host, bpf->maps.verdict, &bpf->rodata->verdict_pids);
	err = err ?: opens_bpf__load(bpf);
	err = err ?: opens_bpf__attach(bpf);
	if (err) {
		opens_bpf__destroy(bpf);
		return err;
	}
	o->bpf = bpf;
	return 0;
}

int opens_load(struct skep_instance *inst, struct proc_state *st)
{
	struct opens *o = &st->opens;
	int err = load_with(st, o->kernel.way);

	/* a function may refuse at the attaching only (arm64 before 6.0) */
	if (err && o->kernel.way == OPENS_FEXIT && calls_known()) {
		o->kernel.way = OPENS_CALLS;
		err = load_with(st, o->kernel.way);
	}
	if (!err)
		return 0;
	return skep_detail_fail(inst, st->host, err, "the hook on opens");
}

void opens_unload(struct proc_state *st)
{
	opens_bpf__destroy(st->opens.bpf);
	st->opens.bpf = NULL;
}

uint64_t opens_misses(const struct proc_state *st)
{
	const struct opens_bpf *bpf = st->opens.bpf;

	return skep_program_misses(st->opens.kernel.way == OPENS_FEXIT ? bpf->progs.on_open : bpf->progs.on_call);
}
