/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/files/opens_kernel.c - chooses the hook that sees opens on this kernel; loads the program of the detail
 * "opens" with the first attachment and removes it with the last.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <skep/hash.h>
#include <skep/load.h>
#include <skep/misses.h>
#include <skep/object.h>
#include <skep/types.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "state.h"

#include "plugins/files/opens.skel.h"

#ifndef SYS_openat2
#define SYS_openat2 437 /* the same on all machines; since 5.6 */
#endif

/* Does the kernel accept a program at the end of that function?  Sandboxes refuse, and hardened kernels (one 6.18). */
static bool fexit_allowed(uint32_t btf_id)
{
	/* return 0 */
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FEXIT,
		    .attach_btf_id = btf_id);
	int fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "skep_ask", "Dual BSD/GPL", insns,
			       sizeof(insns) / sizeof(insns[0]), &opts);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* Is the function (int dfd, struct filename *, const struct open_flags *)? */
static bool opens(const struct skep_kernel_types *types, uint32_t id)
{
	const uint32_t proto_id = id ? skep_types_at(types, id)->type : 0;
	const struct btf_type *proto = proto_id ? skep_types_at(types, proto_id) : NULL;
	const uint32_t second = proto && btf_vlen(proto) == 3 ? btf_params(proto)[1].type : 0;

	return second && btf_is_ptr(skep_types_at(types, second));
}

void opens_kernel_ask(struct files_probe *st, const struct skep_kernel_types *types)
{
	/* do_filp_open() is do_file_open() after 6.18 (7.2 has it) */
	static const char *const functions[] = { "do_filp_open", "do_file_open" };
	const char **missing = &st->of[DETAIL_OPENS].missing;

	*missing = NULL;
	st->opens_way = OPENS_NONE;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]) && st->opens_way == OPENS_NONE; i++) {
		uint32_t id = skep_types_find(types, functions[i], BTF_KIND_FUNC);

		if (!opens(types, id) || !fexit_allowed(id))
			continue;
		st->opens_way = OPENS_FEXIT;
		st->opens_function = functions[i];
	}
	if (st->opens_way == OPENS_NONE && !skep_types_has_tracepoint(types, "sys_exit"))
		*missing = "the kernel refuses fexit programs and has no tracepoint sys_exit";
	else if (st->opens_way == OPENS_NONE && !FILES_CALLS_KNOWN)
		*missing =
			"the kernel refuses fexit programs, and skep does not know how this machine passes the arguments of system calls";
	else if (st->opens_way == OPENS_NONE)
		st->opens_way = OPENS_CALLS;
}

void opens_signal(const struct files_probe *st)
{
	const char *how = "tp_btf/sys_exit: open, openat, openat2, creat";
	const char *why =
		"opens by io_uring and by exec itself (a program, its interpreter) are not counted: "
		"this kernel refuses fexit programs, which see them"
#if defined(__aarch64__)
		"; opens of 32-bit programs are not counted"
#endif
		;

	if (st->opens_way == OPENS_FEXIT)
		how = strcmp(st->opens_function, "do_file_open") == 0 ? "fexit/do_file_open" : "fexit/do_filp_open";
	if (st->opens_way == OPENS_NONE)
		st->host->signal(st->inst, "proc.opens", SKEP_SIGNAL_MISSING, "", st->of[DETAIL_OPENS].missing);
	else if (!st->opens)
		st->host->signal(st->inst, "proc.opens", SKEP_SIGNAL_OFF, how, "on demand: skep attach opens");
	else
		st->host->signal(st->inst, "proc.opens",
				 st->opens_way == OPENS_FEXIT ? SKEP_SIGNAL_OK : SKEP_SIGNAL_PARTIAL, how,
				 st->opens_way == OPENS_FEXIT ? NULL : why);
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

static int load_with(struct files_probe *st, const struct skep_kernel_types *types)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	struct files_count *c = &st->of[DETAIL_OPENS];
	struct skep_hash_key key = skep_hash_key_new();
	bool fexit = st->opens_way == OPENS_FEXIT;
	struct skep_object object;
	struct opens_bpf *bpf;
	int err;

	skep_object_begin(&object, types);
	opts.btf_custom_path = object.path;
	bpf = opens_bpf__open_opts(&opts);
	if (!bpf) {
		err = -errno;
		goto out;
	}
	bpf_program__set_autoload(bpf->progs.on_open, fexit);
	bpf_program__set_autoload(bpf->progs.on_call, !fexit);
	bpf->rodata->any_kind = st->opt_opens_all;
	bpf->rodata->name_key[0] = key.k0;
	bpf->rodata->name_key[1] = key.k1;
	bpf->rodata->scope_cgroup_v1 = skep_scope_cgroup_v1();
	set_calls(bpf);
	bpf_map__set_max_entries(bpf->maps.rows, (uint32_t)c->opt_rows);
	err = fexit ? bpf_program__set_attach_target(bpf->progs.on_open, 0, st->opens_function) : 0;
	err = err ?: skep_load_verdict(st->host, bpf->maps.verdict, &bpf->rodata->verdict_pids);
	err = err ?: skep_object_ready(&object, bpf->obj);
	err = err ?: opens_bpf__load(bpf);
	err = err ?: skep_object_attach(bpf->skeleton);
	if (err)
		goto out;
	st->opens = bpf;
	c->kernel = (struct files_kernel){
		.skeleton = bpf->skeleton,
		.shared = &bpf->bss->shared,
		.scopes = &bpf->bss->scopes,
		.rows = bpf_map__fd(bpf->maps.rows),
		.paths = bpf_map__fd(bpf->maps.paths),
	};
out:
	skep_object_end(&object);
	if (err)
		opens_bpf__destroy(bpf);
	return err;
}

int opens_load(struct files_probe *st)
{
	const struct skep_kernel_types *types;
	int err = skep_types_get(st->inst, st->host, &types);

	if (err)
		return err;
	err = load_with(st, types);
	/* some kernels refuse only when the program is attached (arm64 before 6.4) */
	if (err && st->opens_way == OPENS_FEXIT && FILES_CALLS_KNOWN) {
		st->opens_way = OPENS_CALLS;
		err = load_with(st, types);
	}
	skep_types_put(st->inst, st->host, types);
	return err ? skep_detail_fail(st->inst, st->host, err, "the hook on opens") : 0;
}

void opens_unload(struct files_probe *st)
{
	opens_bpf__destroy(st->opens);
	st->opens = NULL;
}

uint64_t opens_misses(const struct files_probe *st)
{
	return skep_program_misses(st->opens_way == OPENS_FEXIT ? st->opens->progs.on_open : st->opens->progs.on_call);
}
