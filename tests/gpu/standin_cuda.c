/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/gpu/standin_cuda.c - a stand-in for libcuda.so.1: functions of its names and
 * arguments that do nothing but, where one waits for the device, wait.  It tests finding
 * the library in a process, attaching to it, and counting; that programs really call these
 * functions is for tests/gpu/real.sh to show, on a real device.
 */
#include <stddef.h>
#include <time.h>

#define API __attribute__((visibility("default"), noinline)) int
/* Each function has a body of its own: a compiler folds equal bodies into one. */
#define NOTHING __asm__ volatile("# %0" : : "i"(__LINE__) : "memory")

API cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		   unsigned shared, void *stream, void **params, void **extra);
API cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		   unsigned shared, void *stream, void **params, void **extra)
{
	(void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream, (void)params,
		(void)extra;
	NOTHING;
	return 0;
}

API cuGraphLaunch(void *graph, void *stream);
API cuGraphLaunch(void *graph, void *stream)
{
	(void)graph, (void)stream;
	NOTHING;
	return 0;
}

API cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t n);
API cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t n)
{
	(void)to, (void)from, (void)n;
	NOTHING;
	return 0;
}

API cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t n, void *stream);
API cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t n, void *stream)
{
	(void)to, (void)from, (void)n, (void)stream;
	NOTHING;
	return 0;
}

API cuMemcpyDtoD_v2(unsigned long long to, unsigned long long from, size_t n);
API cuMemcpyDtoD_v2(unsigned long long to, unsigned long long from, size_t n)
{
	(void)to, (void)from, (void)n;
	NOTHING;
	return 0;
}

API cuMemcpyPeer(unsigned long long to, void *to_context, unsigned long long from, void *from_context, size_t n);
API cuMemcpyPeer(unsigned long long to, void *to_context, unsigned long long from, void *from_context, size_t n)
{
	(void)to, (void)to_context, (void)from, (void)from_context, (void)n;
	NOTHING;
	return 0;
}

API cuMemcpy2D_v2(const void *what);
API cuMemcpy2D_v2(const void *what)
{
	(void)what;
	NOTHING;
	return 0;
}

API cuMemAlloc_v2(unsigned long long *ret, size_t n);
API cuMemAlloc_v2(unsigned long long *ret, size_t n)
{
	(void)ret, (void)n;
	NOTHING;
	return 0;
}

API cuMemAllocPitch_v2(unsigned long long *ret, size_t *pitch, size_t width, size_t height, unsigned element);
API cuMemAllocPitch_v2(unsigned long long *ret, size_t *pitch, size_t width, size_t height, unsigned element)
{
	(void)ret, (void)pitch, (void)width, (void)height, (void)element;
	NOTHING;
	return 0;
}

API cuMemFree_v2(unsigned long long at);
API cuMemFree_v2(unsigned long long at)
{
	(void)at;
	NOTHING;
	return 0;
}

/* The "device" takes as many microseconds as the address of the stream says. */
API cuStreamSynchronize(void *stream);
API cuStreamSynchronize(void *stream)
{
	struct timespec t = { 0, (long)(size_t)stream * 1000 };

	nanosleep(&t, NULL);
	return 0;
}
