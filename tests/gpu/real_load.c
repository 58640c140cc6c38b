/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/gpu/real_load.c - a program for a real NVIDIA device, by the driver API alone: it
 * opens libcuda.so.1 at run time and brings its kernel as PTX, so gcc is all that it needs.
 *
 * real_load IDLE_S BUSY_S: makes a context and 256 MiB of device memory, prints "ready PID",
 * waits for a line, holds the device without using it for IDLE_S, keeps it busy for BUSY_S,
 * and prints its calls since the line, for comparison with the detail cuda.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BYTES (256u << 20)
#define COPY (16u << 20)

/* Each thread multiplies and adds the given number of times; its result depends on every step. */
static const char ptx[] =
	".version 6.0\n.target sm_60\n.address_size 64\n"
	".visible .entry turn(.param .u64 to, .param .u32 times)\n{\n"
	".reg .pred %p;\n.reg .b32 %r<6>;\n.reg .f32 %f<3>;\n.reg .b64 %d<4>;\n"
	"ld.param.u64 %d0, [to];\nld.param.u32 %r0, [times];\n"
	"mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\nmad.lo.u32 %r4, %r1, %r2, %r3;\n"
	"cvt.rn.f32.u32 %f0, %r4;\nmov.f32 %f1, 0f3F7FFFEF;\nmov.u32 %r5, 0;\n"
	"again:\nfma.rn.f32 %f0, %f0, %f1, %f1;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p, %r5, %r0;\n@%p bra again;\n"
	"cvta.to.global.u64 %d1, %d0;\nmul.wide.u32 %d2, %r4, 4;\nadd.u64 %d3, %d1, %d2;\nst.global.f32 [%d3], %f0;\nret;\n}\n";

static void *library;

static void *find(const char *name)
{
	void *at = dlsym(library, name);

	if (!at) {
		fprintf(stderr, "real_load: libcuda has no %s\n", name);
		exit(77);
	}
	return at;
}

static void must(int error, const char *what)
{
	if (error) {
		fprintf(stderr, "real_load: %s: CUDA error %d\n", what, error);
		exit(error == 100 ? 77 : 1); /* 100: no device */
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	int (*init)(unsigned), (*get)(int *, int), (*retain)(void **, int), (*current)(void *),
		(*load)(void **, const void *);
	int (*function)(void **, void *, const char *), (*alloc)(unsigned long long *, size_t);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
		      void **);
	int (*h2d)(unsigned long long, const void *, size_t), (*d2h)(void *, unsigned long long, size_t), (*sync)(void);
	int (*synced)(void *);
	unsigned long long memory, launches = 0, bytes = 0, syncs = 0;
	double idle = argc > 1 ? atof(argv[1]) : 1, busy = argc > 2 ? atof(argv[2]) : 1, until;
	unsigned times = 20000;
	void *context, *module, *kernel, *host = calloc(1, COPY), *arguments[2] = { &memory, &times };
	char line[16];
	int device;

	library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!library || !host) {
		fprintf(stderr, "real_load: %s\n", library ? "no memory" : dlerror());
		return 77;
	}
	*(void **)&init = find("cuInit");
	*(void **)&get = find("cuDeviceGet");
	*(void **)&retain = find("cuDevicePrimaryCtxRetain");
	*(void **)&current = find("cuCtxSetCurrent");
	*(void **)&load = find("cuModuleLoadData");
	*(void **)&function = find("cuModuleGetFunction");
	*(void **)&alloc = find("cuMemAlloc_v2");
	*(void **)&launch = find("cuLaunchKernel");
	*(void **)&h2d = find("cuMemcpyHtoD_v2");
	*(void **)&d2h = find("cuMemcpyDtoH_v2");
	*(void **)&sync = find("cuCtxSynchronize");
	*(void **)&synced = find("cuStreamSynchronize");
	must(init(0), "cuInit");
	must(get(&device, 0), "cuDeviceGet");
	must(retain(&context, device), "cuDevicePrimaryCtxRetain");
	must(current(context), "cuCtxSetCurrent");
	must(load(&module, ptx), "cuModuleLoadData");
	must(function(&kernel, module, "turn"), "cuModuleGetFunction");
	must(alloc(&memory, BYTES), "cuMemAlloc");
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 0;
	usleep((useconds_t)(idle * 1e6));
	for (until = now() + busy; now() < until;) {
		must(h2d(memory, host, COPY), "cuMemcpyHtoD");
		bytes += COPY;
		for (int i = 0; i < 16; i++, launches++)
			must(launch(kernel, 4096, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL), "cuLaunchKernel");
		must(synced(NULL), "cuStreamSynchronize");
		must(d2h(host, memory, COPY), "cuMemcpyDtoH");
		must(sync(), "cuCtxSynchronize");
		syncs += 2;
	}
	printf("done launches %llu h2d %llu d2h %llu syncs %llu\n", launches, bytes, bytes, syncs);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
