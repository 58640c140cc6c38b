/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/gpu/load.c - a program that calls a stand-in libcuda: load LIBRARY THREADS ROUNDS
 * Loads it (and deletes it, with LOAD_UNLINK in the environment), prints "ready", waits for a line ("probed": and then
 * until each function has a uprobe), then each thread does ROUNDS rounds; prints "done" and waits for the end of its input before it leaves.  One round: 3 launches, 1
 * graph, 1000 By to the device, 2 x 500 By back, 64 By within, 32 By to a peer, one 2D copy,
 * 4096 By allocated twice (once as 64 x 64), one freed, one wait of 1 ms.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
		     void **);
static int (*graph)(void *, void *);
static int (*h2d)(unsigned long long, const void *, size_t);
static int (*d2h)(void *, unsigned long long, size_t, void *);
static int (*d2d)(unsigned long long, unsigned long long, size_t);
static int (*peer)(unsigned long long, void *, unsigned long long, void *, size_t);
static int (*flat)(const void *);
static int (*alloc)(unsigned long long *, size_t);
static int (*pitch)(unsigned long long *, size_t *, size_t, size_t, unsigned);
static int (*release)(unsigned long long);
static int (*synchronize)(void *);
static long rounds;
static const volatile unsigned char *code[16];
static unsigned char before[16];
static unsigned n_code;

/* A uprobe replaces the first instruction of its function. */
static void until_probed(void)
{
	for (unsigned i = 0; i < n_code; i++)
		while (*code[i] == before[i])
			usleep(10000);
}

static void *find(void *library, const char *name)
{
	void *at = dlsym(library, name);

	if (!at) {
		fprintf(stderr, "load: no %s\n", name);
		exit(1);
	}
	code[n_code] = at;
	before[n_code++] = *(unsigned char *)at;
	return at;
}

static void *work(void *arg)
{
	for (long i = 0; i < rounds; i++) {
		for (int k = 0; k < 3; k++)
			launch(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
		graph(NULL, NULL);
		h2d(0, NULL, 1000);
		d2h(NULL, 0, 500, NULL);
		d2h(NULL, 0, 500, NULL);
		d2d(0, 0, 64);
		peer(0, NULL, 0, NULL, 32);
		flat(NULL);
		alloc(NULL, 4096);
		pitch(NULL, NULL, 64, 64, 4);
		release(0);
		synchronize((void *)1000);
	}
	return arg;
}

int main(int argc, char **argv)
{
	long threads = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
	pthread_t thread[64];
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	char line[16];

	if (!library || threads < 1 || threads > 64) {
		fprintf(stderr, "load: %s\n", library ? "1 to 64 threads" : dlerror());
		return 1;
	}
	if (getenv("LOAD_UNLINK") && unlink(argv[1])) {
		perror(argv[1]);
		return 1;
	}
	rounds = argc > 3 ? strtol(argv[3], NULL, 10) : 1;
	*(void **)&launch = find(library, "cuLaunchKernel");
	*(void **)&graph = find(library, "cuGraphLaunch");
	*(void **)&h2d = find(library, "cuMemcpyHtoD_v2");
	*(void **)&d2h = find(library, "cuMemcpyDtoHAsync_v2");
	*(void **)&d2d = find(library, "cuMemcpyDtoD_v2");
	*(void **)&peer = find(library, "cuMemcpyPeer");
	*(void **)&flat = find(library, "cuMemcpy2D_v2");
	*(void **)&alloc = find(library, "cuMemAlloc_v2");
	*(void **)&pitch = find(library, "cuMemAllocPitch_v2");
	*(void **)&release = find(library, "cuMemFree_v2");
	*(void **)&synchronize = find(library, "cuStreamSynchronize");
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 0;
	if (strcmp(line, "probed\n") == 0)
		until_probed();
	for (long i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, NULL))
			return 1;
	for (long i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	puts("done");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
