/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/account.c - how this kernel counts CPU time: whether tasks' run time includes interrupts and stolen
 * time.
 *
 * With CONFIG_IRQ_TIME_ACCOUNTING the kernel measures interrupts and subtracts them from the clock by which it charges
 * tasks (update_rq_clock_task, kernel/sched/core.c). With CONFIG_PARAVIRT_TIME_ACCOUNTING it does so with stolen time.
 * Without these options the kernel charges the task that was interrupted.  The members of struct rq show the options.
 */
#include <bpf/btf.h>
#include <string.h>

#include "cpu.h"

static bool has_member(const struct btf *btf, const char *type, const char *member)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	const struct btf_member *m = t ? btf_members(t) : NULL;

	for (unsigned i = 0; t && i < btf_vlen(t); i++) {
		const char *name = btf__name_by_offset(btf, m[i].name_off);

		if (name && strcmp(name, member) == 0)
			return true;
	}
	return false;
}

/* The variable is a u64 since 5.17. Before, it is a struct of two sums, which task_time.bpf.c does not read. */
static bool is_u64(const struct btf *btf, const char *variable)
{
	int id = btf__find_by_name_kind(btf, variable, BTF_KIND_VAR);
	int type = id > 0 ? btf__resolve_type(btf, btf__type_by_id(btf, (uint32_t)id)->type) : -1;
	const struct btf_type *t = type > 0 ? btf__type_by_id(btf, (uint32_t)type) : NULL;

	return t && btf_is_int(t) && t->size == sizeof(uint64_t);
}

static void read_types(const char *path, struct cpu_accounting *a)
{
	struct btf *btf = btf__parse_raw(path);

	if (!btf)
		return;
	a->known = btf__find_by_name_kind(btf, "rq", BTF_KIND_STRUCT) > 0;
	a->irq_time = has_member(btf, "rq", "prev_irq_time");
	a->steal_time = has_member(btf, "rq", "prev_steal_time_rq");
	a->tickless = has_member(btf, "tick_sched", "idle_sleeptime");
	a->task_time = is_u64(btf, "root_cpuacct_cpuusage");
	btf__free(btf);
}

static bool has_word(struct text line, const char *wanted)
{
	struct text word;

	while (skep_text_word(&line, &word))
		if (skep_text_is(word, wanted))
			return true;
	return false;
}

void cpu_accounting_read(int root, const char *btf_path, struct cpu_accounting *ret)
{
	char line[4096];

	*ret = (struct cpu_accounting){ 0 };
	read_types(btf_path, ret);
	if (skep_text_line_at(root, "proc/cmdline", line, sizeof(line)) == 0) {
		struct text t = skep_text_of(line);

		ret->irq_time_off = has_word(t, "tsc=noirqtime") || has_word(t, "tsc=unstable");
		ret->tickless_off = has_word(t, "nohz=off") || has_word(t, "nohz=0");
	}
#if defined(__x86_64__) || defined(__i386__)
	/*
	 * The kernel stops timing interrupts when the TSC is unstable, and removes it from the list
	 * (arch/x86/kernel/tsc.c).
	 */
	if (skep_text_line_at(root, "sys/devices/system/clocksource/clocksource0/available_clocksource", line,
			      sizeof(line)) == 0 &&
	    !has_word(skep_text_of(line), "tsc"))
		ret->irq_time_off = true;
#endif
}
