/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/files/filelat_kernel.c - the system calls that the detail "filelat" measures; loads its programs with the
 * first attachment and removes them with the last.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <skep/load.h>
#include <skep/misses.h>
#include <skep/object.h>
#include <skep/types.h>
#include <string.h>
#include <sys/syscall.h>

#include "state.h"

#include "plugins/files/filelat.skel.h"

#define UNDER_WAY 16384u /* calls at a time, one a thread */

/* The headers of this build know all of these: preadv2 (4.6) is the newest. */
static const struct {
	uint16_t nr;
	uint8_t what;
} native[] = {
	{ SYS_read, FILELAT_WHAT(FILELAT_READ, 0) },
	{ SYS_pread64, FILELAT_WHAT(FILELAT_READ, 0) },
	{ SYS_readv, FILELAT_WHAT(FILELAT_READ, 0) },
	{ SYS_preadv, FILELAT_WHAT(FILELAT_READ, 0) },
	{ SYS_preadv2, FILELAT_WHAT(FILELAT_READ, 0) },
	{ SYS_sendfile, FILELAT_WHAT(FILELAT_READ, 1) },
	{ SYS_write, FILELAT_WHAT(FILELAT_WRITE, 0) },
	{ SYS_pwrite64, FILELAT_WHAT(FILELAT_WRITE, 0) },
	{ SYS_writev, FILELAT_WHAT(FILELAT_WRITE, 0) },
	{ SYS_pwritev, FILELAT_WHAT(FILELAT_WRITE, 0) },
	{ SYS_pwritev2, FILELAT_WHAT(FILELAT_WRITE, 0) },
	{ SYS_copy_file_range, FILELAT_WHAT(FILELAT_WRITE, 2) }, /* the target */
	{ SYS_fsync, FILELAT_WHAT(FILELAT_SYNC, 0) },
	{ SYS_fdatasync, FILELAT_WHAT(FILELAT_SYNC, 0) },
#ifdef SYS_sync_file_range
	{ SYS_sync_file_range, FILELAT_WHAT(FILELAT_SYNC, 0) },
#else /* powerpc: other arguments, but the file is the first here too */
	{ SYS_sync_file_range2, FILELAT_WHAT(FILELAT_SYNC, 0) },
#endif
};

#if defined(__x86_64__)
/* arch/x86/entry/syscalls/syscall_32.tbl */
static const struct {
	uint16_t nr;
	uint8_t what;
} by_32[] = {
	{ 3, FILELAT_WHAT(FILELAT_READ, 0) },    /* read */
	{ 180, FILELAT_WHAT(FILELAT_READ, 0) },  /* pread64 */
	{ 145, FILELAT_WHAT(FILELAT_READ, 0) },  /* readv */
	{ 333, FILELAT_WHAT(FILELAT_READ, 0) },  /* preadv */
	{ 378, FILELAT_WHAT(FILELAT_READ, 0) },  /* preadv2 */
	{ 187, FILELAT_WHAT(FILELAT_READ, 1) },  /* sendfile */
	{ 239, FILELAT_WHAT(FILELAT_READ, 1) },  /* sendfile64 */
	{ 4, FILELAT_WHAT(FILELAT_WRITE, 0) },   /* write */
	{ 181, FILELAT_WHAT(FILELAT_WRITE, 0) }, /* pwrite64 */
	{ 146, FILELAT_WHAT(FILELAT_WRITE, 0) }, /* writev */
	{ 334, FILELAT_WHAT(FILELAT_WRITE, 0) }, /* pwritev */
	{ 379, FILELAT_WHAT(FILELAT_WRITE, 0) }, /* pwritev2 */
	{ 377, FILELAT_WHAT(FILELAT_WRITE, 2) }, /* copy_file_range */
	{ 118, FILELAT_WHAT(FILELAT_SYNC, 0) },  /* fsync */
	{ 148, FILELAT_WHAT(FILELAT_SYNC, 0) },  /* fdatasync */
	{ 314, FILELAT_WHAT(FILELAT_SYNC, 0) },  /* sync_file_range */
};
#endif

static void set_calls(struct filelat_bpf *bpf)
{
	for (size_t i = 0; i < sizeof(native) / sizeof(native[0]); i++)
		if (native[i].nr < FILELAT_CALLS)
			*(uint8_t *)&bpf->rodata->calls_native[native[i].nr] = native[i].what;
#if defined(__x86_64__)
	for (size_t i = 0; i < sizeof(by_32) / sizeof(by_32[0]); i++)
		*(uint8_t *)&bpf->rodata->calls_32[by_32[i].nr] = by_32[i].what;
#endif
}

void filelat_kernel_ask(struct files_probe *st, const struct skep_kernel_types *types)
{
	const char **missing = &st->of[DETAIL_FILELAT].missing;

	*missing = NULL;
	if (!FILES_CALLS_KNOWN)
		*missing = "skep does not know how this machine passes the arguments of system calls";
	else if (!skep_types_has_tracepoint(types, "sys_enter") || !skep_types_has_tracepoint(types, "sys_exit"))
		*missing = "the kernel has no tracepoints sys_enter and sys_exit (CONFIG_HAVE_SYSCALL_TRACEPOINTS)";
}

void filelat_signal(const struct files_probe *st)
{
	static const char how[] = "tp_btf/sys_enter and sys_exit: read, write, sync";
	const char *missing = st->of[DETAIL_FILELAT].missing;

	if (missing)
		st->host->signal(st->inst, "io.filelat", SKEP_SIGNAL_MISSING, "", missing);
	else if (!st->filelat)
		st->host->signal(st->inst, "io.filelat", SKEP_SIGNAL_OFF, how, "on demand: skep attach filelat");
	else
		st->host->signal(
			st->inst, "io.filelat", SKEP_SIGNAL_PARTIAL, how,
			"I/O by io_uring and through memory (mmap) is no system call and is not measured"
#if defined(__aarch64__)
			"; calls of 32-bit programs are not measured"
#endif
		);
}

int filelat_load(struct files_probe *st)
{
	struct files_count *c = &st->of[DETAIL_FILELAT];
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	const struct skep_kernel_types *types;
	struct filelat_bpf *bpf;
	struct skep_object object;
	int err = skep_types_get(st->inst, st->host, &types);

	if (err)
		return err;
	skep_object_begin(&object, types);
	opts.btf_custom_path = object.path;
	bpf = filelat_bpf__open_opts(&opts);
	if (!bpf) {
		err = -errno;
		goto out;
	}
	bpf->rodata->scope_cgroup_v1 = skep_scope_cgroup_v1();
	set_calls(bpf);
	bpf_map__set_max_entries(bpf->maps.rows, (uint32_t)c->opt_rows);
	bpf_map__set_max_entries(bpf->maps.calls, UNDER_WAY);
	err = skep_load_verdict(st->host, bpf->maps.verdict, &bpf->rodata->verdict_pids);
	err = err ?: skep_object_ready(&object, bpf->obj);
	err = err ?: filelat_bpf__load(bpf);
	err = err ?: skep_object_attach(bpf->skeleton);
	if (err)
		goto out;
	st->filelat = bpf;
	c->kernel = (struct files_kernel){
		.skeleton = bpf->skeleton,
		.shared = &bpf->bss->shared,
		.scopes = &bpf->bss->scopes,
		.rows = bpf_map__fd(bpf->maps.rows),
		.paths = bpf_map__fd(bpf->maps.paths),
	};
out:
	skep_object_end(&object);
	skep_types_put(st->inst, st->host, types);
	if (err) {
		filelat_bpf__destroy(bpf);
		return skep_detail_fail(st->inst, st->host, err, "the hooks on system calls");
	}
	return 0;
}

void filelat_unload(struct files_probe *st)
{
	filelat_bpf__destroy(st->filelat);
	st->filelat = NULL;
}

uint64_t filelat_misses(const struct files_probe *st)
{
	return skep_program_misses(st->filelat->progs.on_enter) + skep_program_misses(st->filelat->progs.on_exit);
}
