/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/filelat_kernel.c - the calls that the detail "filelat" is about, and putting its
 * programs in place: loaded with the first attachment, gone with the last.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <skep/btf.h>
#include <skep/load.h>
#include <skep/misses.h>
#include <string.h>
#include <sys/syscall.h>

#include "state.h"

#include "filelat.skel.h"

#define RING_BYTES (1u << 20)
#define UNDER_WAY 16384u /* calls at a time: one a thread */

/* preadv2, copy_file_range and others came with kernels that all have BTF: headers of today know them all. */
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
	{ SYS_copy_file_range, FILELAT_WHAT(FILELAT_WRITE, 2) }, /* what it is copied to */
	{ SYS_fsync, FILELAT_WHAT(FILELAT_SYNC, 0) },
	{ SYS_fdatasync, FILELAT_WHAT(FILELAT_SYNC, 0) },
	{ SYS_sync_file_range, FILELAT_WHAT(FILELAT_SYNC, 0) },
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

static bool calls_known(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
	return true;
#else
	return false;
#endif
}

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

void filelat_kernel_ask(struct filelat *f, const struct btf *btf)
{
	f->missing = NULL;
	if (!calls_known())
		f->missing = "how this machine passes a call's arguments is not known to skep";
	else if (!skep_btf_has_tracepoint(btf, "sys_enter") || !skep_btf_has_tracepoint(btf, "sys_exit"))
		f->missing = "the kernel has no tracepoints sys_enter and sys_exit (CONFIG_HAVE_SYSCALL_TRACEPOINTS)";
}

void filelat_kernel_tell(struct skep_instance *inst, const struct io_probe *st)
{
	static const char how[] = "tp_btf/sys_enter and sys_exit: read, write, sync";
	const struct filelat *f = &st->filelat;

	if (!SKEP_HAS(st->host, signal))
		return;
	if (f->missing)
		st->host->signal(inst, "io.filelat", SKEP_SIGNAL_MISSING, "", f->missing);
	else if (!f->bpf)
		st->host->signal(inst, "io.filelat", SKEP_SIGNAL_OFF, how, "on demand: skep attach filelat");
	else
		st->host->signal(
			inst, "io.filelat", SKEP_SIGNAL_PARTIAL, how,
			"what io_uring reads and writes, and what programs do through memory (mmap), is no call"
#if defined(__aarch64__)
			"; nor are calls of 32-bit programs seen"
#endif
		);
}

int filelat_load(struct skep_instance *inst, struct io_probe *st)
{
	struct filelat_bpf *bpf = filelat_bpf__open();
	int err;

	if (!bpf)
		return st->host->fail(inst, -errno, "cannot open the BPF object of filelat: %s", strerror(errno));
	bpf->rodata->wake_at = RING_BYTES / 4;
	bpf->rodata->scope_cgroup_v1 = skep_scope_cgroup_v1();
	set_calls(bpf);
	bpf_map__set_max_entries(bpf->maps.rows, (uint32_t)st->opt_filelat_rows);
	bpf_map__set_max_entries(bpf->maps.calls, UNDER_WAY);
	bpf_map__set_max_entries(bpf->maps.paths, RING_BYTES);
	err = skep_load_verdict(st->host, bpf->maps.verdict, &bpf->rodata->verdict_pids);
	err = err ?: filelat_bpf__load(bpf);
	err = err ?: filelat_bpf__attach(bpf);
	if (err) {
		filelat_bpf__destroy(bpf);
		return skep_detail_fail(inst, st->host, err, "the hooks on system calls");
	}
	st->filelat.bpf = bpf;
	return 0;
}

void filelat_unload(struct io_probe *st)
{
	filelat_bpf__destroy(st->filelat.bpf);
	st->filelat.bpf = NULL;
}

uint64_t filelat_misses(const struct io_probe *st)
{
	return skep_program_misses(st->filelat.bpf->progs.on_enter) +
	       skep_program_misses(st->filelat.bpf->progs.on_exit);
}
