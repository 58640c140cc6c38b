/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/cuda_probes.c - the probed functions of libcuda with their programs, and the cost of a probe on this
 * machine. Names by NVIDIA's driver API: _v2 since 3.2 (64-bit sizes), _ptsz and _ptds for programs built with a
 * default stream for each thread. Where a driver lacks some functions the others still count.
 */
#include <bpf/libbpf.h>
#include <bpf/bpf.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cuda.h"
#include "plugins/gpu/cuda.skel.h"

#define CALLS 32u
#define BATCHES 8 /* 256 calls: at 9 us each, the highest cost seen, 2.3 ms */

enum { LAUNCH, GRAPH, H2D, D2H, D2D, COPY, PEER, UNSIZED, ALLOC, ALLOC_PITCH, FREE, SYNC };

static const struct {
	const char *name;
	int kind;
} functions[] = {
	{ "cuLaunchKernel", LAUNCH },
	{ "cuLaunchKernel_ptsz", LAUNCH },
	{ "cuLaunchKernelEx", LAUNCH },
	{ "cuLaunchKernelEx_ptsz", LAUNCH },
	{ "cuLaunchCooperativeKernel", LAUNCH },
	{ "cuLaunchCooperativeKernel_ptsz", LAUNCH },
	{ "cuGraphLaunch", GRAPH },
	{ "cuGraphLaunch_ptsz", GRAPH },
	{ "cuMemcpyHtoD_v2", H2D },
	{ "cuMemcpyHtoD_v2_ptds", H2D },
	{ "cuMemcpyHtoDAsync_v2", H2D },
	{ "cuMemcpyHtoDAsync_v2_ptsz", H2D },
	{ "cuMemcpyDtoH_v2", D2H },
	{ "cuMemcpyDtoH_v2_ptds", D2H },
	{ "cuMemcpyDtoHAsync_v2", D2H },
	{ "cuMemcpyDtoHAsync_v2_ptsz", D2H },
	{ "cuMemcpyDtoD_v2", D2D },
	{ "cuMemcpyDtoD_v2_ptds", D2D },
	{ "cuMemcpyDtoDAsync_v2", D2D },
	{ "cuMemcpyDtoDAsync_v2_ptsz", D2D },
	{ "cuMemcpy", COPY },
	{ "cuMemcpy_ptds", COPY },
	{ "cuMemcpyAsync", COPY },
	{ "cuMemcpyAsync_ptsz", COPY },
	{ "cuMemcpyPeer", PEER },
	{ "cuMemcpyPeer_ptds", PEER },
	{ "cuMemcpyPeerAsync", PEER },
	{ "cuMemcpyPeerAsync_ptsz", PEER },
	{ "cuMemcpy2D_v2", UNSIZED },
	{ "cuMemcpy2D_v2_ptds", UNSIZED },
	{ "cuMemcpy2DUnaligned_v2", UNSIZED },
	{ "cuMemcpy2DUnaligned_v2_ptds", UNSIZED },
	{ "cuMemcpy2DAsync_v2", UNSIZED },
	{ "cuMemcpy2DAsync_v2_ptsz", UNSIZED },
	{ "cuMemcpy3D_v2", UNSIZED },
	{ "cuMemcpy3D_v2_ptds", UNSIZED },
	{ "cuMemcpy3DAsync_v2", UNSIZED },
	{ "cuMemcpy3DAsync_v2_ptsz", UNSIZED },
	{ "cuMemAlloc_v2", ALLOC },
	{ "cuMemAllocManaged", ALLOC },
	{ "cuMemAllocAsync", ALLOC },
	{ "cuMemAllocAsync_ptsz", ALLOC },
	{ "cuMemAllocFromPoolAsync", ALLOC },
	{ "cuMemAllocFromPoolAsync_ptsz", ALLOC },
	{ "cuMemCreate", ALLOC },
	{ "cuMemAllocPitch_v2", ALLOC_PITCH },
	{ "cuMemFree_v2", FREE },
	{ "cuMemFreeAsync", FREE },
	{ "cuMemFreeAsync_ptsz", FREE },
	{ "cuMemRelease", FREE },
	{ "cuCtxSynchronize", SYNC },
	{ "cuCtxSynchronize_v2", SYNC },
	{ "cuStreamSynchronize", SYNC },
	{ "cuStreamSynchronize_ptsz", SYNC },
	{ "cuEventSynchronize", SYNC },
};
#define N_FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

_Static_assert(N_FUNCTIONS <= CUDA_FUNCTIONS_MAX, "each has a place in struct cuda_library");

static struct bpf_program *program_of(struct cuda_bpf *bpf, int kind)
{
	switch (kind) {
	case LAUNCH:
		return bpf->progs.on_launch;
	case GRAPH:
		return bpf->progs.on_graph;
	case H2D:
		return bpf->progs.on_h2d;
	case D2H:
		return bpf->progs.on_d2h;
	case D2D:
		return bpf->progs.on_d2d;
	case COPY:
		return bpf->progs.on_copy;
	case PEER:
		return bpf->progs.on_peer;
	case UNSIZED:
		return bpf->progs.on_unsized;
	case ALLOC:
		return bpf->progs.on_alloc;
	case ALLOC_PITCH:
		return bpf->progs.on_alloc_pitch;
	case FREE:
		return bpf->progs.on_free;
	default:
		return bpf->progs.on_sync;
	}
}

static struct bpf_link *attach(struct bpf_program *prog, uint32_t pid, const char *file, uint64_t offset,
			       bool at_return)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .retprobe = at_return);

	return bpf_program__attach_uprobe_opts(prog, (pid_t)pid, file, offset, &opts);
}

/* Field 22 lies behind the name, which may contain any character. */
uint64_t cuda_process_started(const char *procfs, uint32_t pid)
{
	char path[320], text[1024];
	const char *at;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%.200s/%u/stat", procfs, pid);
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

struct cuda_library *cuda_library_free(struct cuda_library *lib)
{
	if (lib && lib->fd >= 0)
		close(lib->fd);
	free(lib);
	return NULL;
}

int cuda_library_open(const char *procfs, uint32_t pid, const char *library, struct cuda_library **ret, char *why,
		      size_t why_size)
{
	struct cuda_library *lib = calloc(1, sizeof(*lib));
	int err;

	if (!lib) {
		snprintf(why, why_size, "process %u: no memory", pid);
		return -ENOMEM;
	}
	lib->pid = pid;
	lib->fd = -1;
	lib->started = cuda_process_started(procfs, pid);
	err = cuda_find(procfs, pid, library, lib->path, sizeof(lib->path), &lib->fd);
	if (err) {
		snprintf(why, why_size, "process %u: %s", pid,
			 err == -ESRCH    ? "there is none"
			 : err == -ENOENT ? "has not loaded libcuda; attach when it has, or to its run"
			 : err == -E2BIG  ? "its /proc/PID/maps has more than 16 MiB"
					  : strerror(-err));
		goto out;
	}
	for (size_t i = 0; i < N_FUNCTIONS; i++)
		lib->symbols[i].name = functions[i].name;
	err = cuda_symbols(lib->fd, lib->symbols, N_FUNCTIONS);
	if (err <= 0) {
		err = err ?: -ENOENT;
		snprintf(why, why_size, "%s: %s", lib->path,
			 err == -ENOENT  ? "none of the functions of libcuda"
			 : err == -E2BIG ? "its tables are larger than any libcuda's"
					 : strerror(-err));
		goto out;
	}
	*ret = lib;
	return 0;
out:
	cuda_library_free(lib);
	return err;
}

/* Attaches by descriptor, so that it probes the parsed file even if another file has the path now. */
int cuda_probe(struct cuda_bpf *bpf, const struct cuda_library *lib, struct bpf_link **links, bool *ret_stepped,
	       char *why, size_t why_size)
{
	const struct cuda_symbol *symbols = lib->symbols;
	bool stepped = false;
	char file[64];
	int n = 0, err;

	snprintf(file, sizeof(file), "/proc/self/fd/%d", lib->fd);
	for (size_t i = 0; i < N_FUNCTIONS; i++) {
		bool seen = false;

		/* one address under two names would count twice */
		for (size_t k = 0; k < i && symbols[i].offset; k++)
			seen = seen || symbols[k].offset == symbols[i].offset;
		if (!symbols[i].offset || seen)
			continue;
		links[n] = attach(program_of(bpf, functions[i].kind), lib->pid, file, symbols[i].offset, false);
		if (links[n] && functions[i].kind == SYNC) {
			n++;
			links[n] = attach(bpf->progs.on_sync_end, lib->pid, file, symbols[i].offset, true);
		}
		if (!links[n]) {
			err = -errno;
			snprintf(why, why_size, "uprobe on %s of %s: %s%s", functions[i].name, lib->path,
				 strerror(-err),
				 err == -EACCES || err == -EPERM ? "; needs CAP_SYS_ADMIN, or CAP_PERFMON with "
								   "kernel.perf_event_paranoid below 3"
								 : "");
			while (n > 0)
				bpf_link__destroy(links[--n]);
			return err;
		}
		stepped = stepped || !cuda_emulated(symbols[i].code);
		n++;
	}
	*ret_stepped = stepped;
	return n;
}

/*
 * The cost of a hit depends on the probed instruction. The kernel emulates some (push, which most functions begin
 * with), and single-steps others from a copy, with a second trap: 0.9 and 11 us on the machine where both were seen.
 * One function of each kind here.
 */
#if defined(__x86_64__)
static __attribute__((naked, noinline)) void target_emulated(void)
{
	__asm__ volatile("push %rbp; pop %rbp; ret");
}

static __attribute__((naked, noinline)) void target_stepped(void)
{
	__asm__ volatile("lea 8(%rax), %rax; ret");
}

/* push of any register, with or without the prefix of the newer ones; nop */
bool cuda_emulated(const unsigned char code[2])
{
	unsigned char first = code[0] == 0x41 ? code[1] : code[0];

	return (first >= 0x50 && first <= 0x57) || code[0] == 0x90;
}
#else
static __attribute__((noinline)) void target_stepped(void)
{
	__asm__ volatile("" : : : "memory");
}
#define target_emulated target_stepped

bool cuda_emulated(const unsigned char code[2])
{
	(void)code;
	return false;
}
#endif

/* The CPU time of a batch of calls, the best of several, so that other activity does not count. */
static uint64_t calls_ns(void (*volatile call)(void))
{
	uint64_t best = UINT64_MAX;
	struct timespec a, b;

	for (int batch = 0; batch < BATCHES; batch++) {
		uint64_t ns;

		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
		for (unsigned int i = 0; i < CALLS; i++)
			call();
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
		ns = (uint64_t)(b.tv_sec - a.tv_sec) * 1000000000u + (uint64_t)b.tv_nsec - (uint64_t)a.tv_nsec;
		best = ns < best ? ns : best;
	}
	return best;
}

static int price(struct cuda_bpf *bpf, void (*fn)(void), uint64_t *ret_ns)
{
	uint64_t offset, plain, probed;
	struct bpf_link *link;
	Dl_info info;
	void *at;
	int err;

	memcpy(&at, &fn, sizeof(at));
	if (!dladdr(at, &info) || !info.dli_fname)
		return -ENOENT;
	err = cuda_file_offset(info.dli_fname, (uint64_t)((char *)at - (char *)info.dli_fbase), &offset);
	if (err)
		return err;
	plain = calls_ns(fn);
	link = attach(bpf->progs.on_calibrate, (uint32_t)getpid(), info.dli_fname, offset, false);
	if (!link)
		return -errno;
	probed = calls_ns(fn);
	*ret_ns = probed > plain ? (probed - plain) / CALLS : 0;
	bpf_link__destroy(link);
	return 0;
}

int cuda_calibrate(struct cuda_bpf *bpf, struct cuda_price *ret)
{
	struct cuda_stats *zeroes = calloc(1, sizeof(*zeroes));
	struct cuda_price p = { 0 };
	uint32_t pid = (uint32_t)getpid();
	int err;

	if (!zeroes)
		return -ENOMEM;
	err = bpf_map_update_elem(bpf_map__fd(bpf->maps.processes), &pid, zeroes, BPF_ANY);
	free(zeroes);
	if (err)
		return err;
	err = price(bpf, target_emulated, &p.emulated_ns) ?: price(bpf, target_stepped, &p.stepped_ns);
	bpf_map_delete_elem(bpf_map__fd(bpf->maps.processes), &pid);
	if (!err)
		*ret = p;
	return err;
}
