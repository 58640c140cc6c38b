/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/exact/tiny.c - the shortest process there is: no libc, one system call.
 * Built with -static -nostdlib, so that a storm of them is limited by the kernel's fork and exec.
 */
__attribute__((noreturn, used)) void _start(void)
{
#if defined(__x86_64__)
	__asm__ volatile("syscall" : : "a"(60L), "D"(0L) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long number __asm__("x8") = 93, status __asm__("x0") = 0;

	__asm__ volatile("svc 0" : : "r"(number), "r"(status) : "memory");
#elif defined(__powerpc64__)
	register long number __asm__("r0") = 1, status __asm__("r3") = 0;

	__asm__ volatile("sc" : : "r"(number), "r"(status) : "memory");
#else
#error "exit system call of this architecture?"
#endif
	__builtin_unreachable();
}
