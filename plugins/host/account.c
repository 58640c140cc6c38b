/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/account.c - how this kernel counts CPU time: whether tasks' run time includes interrupts and stolen
 * time.
 *
 * With CONFIG_IRQ_TIME_ACCOUNTING the kernel measures interrupts and subtracts them from the clock by which it charges
 * tasks (update_rq_clock_task, kernel/sched/core.c). With CONFIG_PARAVIRT_TIME_ACCOUNTING it does so with stolen time.
 * Without these options the kernel charges the task that was interrupted.  The members of struct rq show the options.
 */
#include <linux/btf.h>
#include <skep/types.h>

#include "cpu.h"

/* The variable is a u64 since 5.17. Before, it is a struct of two sums, which task_time.bpf.c does not read. */
static bool is_u64(const struct skep_kernel_types *types, const char *variable)
{
	uint32_t id = skep_types_find(types, variable, BTF_KIND_VAR), kind = BTF_KIND_VAR;
	const struct btf_type *t = NULL;

	while (id && (kind == BTF_KIND_VAR || kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_VOLATILE)) {
		t = skep_types_at(types, id);
		kind = BTF_INFO_KIND(t->info);
		id = t->type;
	}
	return t && kind == BTF_KIND_INT && t->size == sizeof(uint64_t);
}

static void ask_types(const struct skep_kernel_types *types, struct cpu_accounting *a)
{
	a->known = skep_types_find(types, "rq", BTF_KIND_STRUCT) != 0;
	a->irq_time = skep_types_has_member(types, "rq", "prev_irq_time");
	a->steal_time = skep_types_has_member(types, "rq", "prev_steal_time_rq");
	a->tickless = skep_types_has_member(types, "tick_sched", "idle_sleeptime");
	a->task_time = is_u64(types, "root_cpuacct_cpuusage");
}

static bool has_word(struct text line, const char *wanted)
{
	struct text word;

	while (skep_text_word(&line, &word))
		if (skep_text_is(word, wanted))
			return true;
	return false;
}

bool cpu_irq_timed(int root)
{
#if defined(__x86_64__) || defined(__i386__)
	char line[4096];

	/*
	 * The kernel stops timing interrupts when the TSC becomes unstable, and removes it from the list
	 * (arch/x86/kernel/tsc.c). It does not come back before the next boot.
	 */
	return skep_text_line_at(root, "sys/devices/system/clocksource/clocksource0/available_clocksource", line,
				 sizeof(line)) != 0 ||
	       has_word(skep_text_of(line), "tsc");
#else
	(void)root;
	return true;
#endif
}

void cpu_accounting_read(int root, const struct skep_kernel_types *types, struct cpu_accounting *ret)
{
	char line[4096];

	*ret = (struct cpu_accounting){ 0 };
	if (types)
		ask_types(types, ret);
	if (skep_text_line_at(root, "proc/cmdline", line, sizeof(line)) == 0) {
		struct text t = skep_text_of(line);

		ret->irq_time_off = has_word(t, "tsc=noirqtime") || has_word(t, "tsc=unstable");
		ret->tickless_off = has_word(t, "nohz=off") || has_word(t, "nohz=0");
	}
	ret->irq_time_off = ret->irq_time_off || !cpu_irq_timed(root);
}
