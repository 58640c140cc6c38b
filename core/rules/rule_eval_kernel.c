/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/rules/rule_eval_kernel.c - the kernel's part of the rule evaluation (skep/rules.h): the maps, the set in
 * use, and the answers to the kernel's questions.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/rules/rule_eval_priv.h"

/*
 * Distinct programs and other values in the kernel's answer maps. Full maps drop the least recently used
 * entries, and the kernel asks about them again. Both maps together take about 2 MiB of kernel memory.
 */
#define PROGRAMS 4096u
#define VALUES 8192u

/* The dimension that determines each field; PUSHDOWN_NONE: the kernel does not read the field's source. */
const uint8_t rule_eval_dimensions[RULE_FIELDS] = {
	[RULE_FIELD_TOOL] = SKEP_RULES_PROGRAM,
	[RULE_FIELD_EXE] = SKEP_RULES_PROGRAM,
	[RULE_FIELD_COMM] = SKEP_RULES_PROGRAM,
	[RULE_FIELD_FILENAME] = PUSHDOWN_NONE,
	[RULE_FIELD_ARGV] = PUSHDOWN_NONE,
	[RULE_FIELD_CWD] = PUSHDOWN_NONE,
	[RULE_FIELD_CGROUP] = SKEP_RULES_CGROUP,
	[RULE_FIELD_CONTAINER] = SKEP_RULES_CGROUP,
	[RULE_FIELD_RUN] = PUSHDOWN_NONE,
	[RULE_FIELD_PIPELINE] = PUSHDOWN_NONE,
	[RULE_FIELD_TASK] = PUSHDOWN_NONE,
	[RULE_FIELD_USER] = SKEP_RULES_USER,
	[RULE_FIELD_GROUP] = SKEP_RULES_USER,
	[RULE_FIELD_UID] = SKEP_RULES_USER,
	[RULE_FIELD_GID] = SKEP_RULES_USER,
	[RULE_FIELD_SESSION] = PUSHDOWN_NONE,
	[RULE_FIELD_PID] = PUSHDOWN_NONE,
	[RULE_FIELD_PPID] = PUSHDOWN_NONE,
	[RULE_FIELD_PID_NS] = SKEP_RULES_NAMESPACES,
	[RULE_FIELD_MOUNT_NS] = SKEP_RULES_NAMESPACES,
	[RULE_FIELD_WRAPPER] = PUSHDOWN_NONE,
};

static void refuse(struct rule_eval *j, const char *what, int err)
{
	rule_eval_kernel_close(j);
	if (asprintf(&j->why, "%s: %s", what, strerror(err)) < 0)
		j->why = NULL;
}

void rule_eval_kernel_open(struct rule_eval *j)
{
	struct pins_map maps[] = {
		{ .name = "rules",
		  .type = BPF_MAP_TYPE_ARRAY,
		  .key_size = sizeof(uint32_t),
		  .value_size = sizeof(struct skep_rules),
		  .max_entries = 1,
		  .flags = BPF_F_MMAPABLE },
		{ .name = "programs",
		  .type = BPF_MAP_TYPE_LRU_HASH,
		  .key_size = sizeof(struct skep_rules_program),
		  .value_size = sizeof(struct skep_rules_answer),
		  .max_entries = PROGRAMS },
		{ .name = "values",
		  .type = BPF_MAP_TYPE_LRU_HASH,
		  .key_size = sizeof(struct skep_rules_value),
		  .value_size = sizeof(struct skep_rules_answer),
		  .max_entries = VALUES },
	};
	const char *failed;
	bool adopted;
	void *shared;
	int err;

	j->rules_fd = j->programs_fd = j->values_fd = -1;
	if (!j->env.verdict->bytes) {
		j->why = strdup("there is no verdict map");
		return;
	}
	err = pins_maps(j->env.pins, "host", maps, sizeof(maps) / sizeof(maps[0]), &adopted, &failed);
	if (err < 0) {
		refuse(j,
		       strcmp(failed, "rules") == 0 ? "cannot create the rule map"
						    : "cannot create the answer maps",
		       -err);
		return;
	}
	j->rules_fd = maps[0].fd;
	j->programs_fd = maps[1].fd;
	j->values_fd = maps[2].fd;
	shared = mmap(NULL, sizeof(*j->shared), PROT_READ | PROT_WRITE, MAP_SHARED, j->rules_fd, 0);
	if (shared == MAP_FAILED) {
		refuse(j, "cannot mmap the rule map", errno);
		return;
	}
	j->shared = shared;
	if (!adopted)
		return;
	/*
	 * Answers that the previous skepd wrote carry its generation numbers, so ours continue from there. The
	 * kernel decides nothing until our rules are loaded.
	 */
	for (unsigned i = 0; i < 2; i++)
		if (j->shared->set[i].generation > j->generation)
			j->generation = j->shared->set[i].generation;
	__atomic_store_n(&j->shared->current, 0, __ATOMIC_SEQ_CST);
}

void rule_eval_kernel_close(struct rule_eval *j)
{
	int *fds[] = { &j->rules_fd, &j->programs_fd, &j->values_fd };

	if (j->shared)
		munmap(j->shared, sizeof(*j->shared));
	j->shared = NULL;
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
	free(j->why);
	j->why = NULL;
}

/* ---- the set ----------------------------------------------------------------------- */

static void fill_clause(const struct rule_eval *j, struct skep_rules_set *set, unsigned i,
			const struct pushdown_clause *clause)
{
	const struct rule *rule = clause->rule;
	struct skep_rules_clause *to = &set->clause[i];

	set->clauses |= 1ull << i;
	if (!rule || !clause->exact)
		set->ask |= 1ull << i;
	if (!rule)
		return;
	to->sampled_byte = rule->inherit ? SKEP_VERDICT_KEEP : 0;
	to->byte = rule->verdict == RULE_INCLUDE ? to->sampled_byte : j->tallies[rule->number].byte;
	to->sample = rule->verdict == RULE_SAMPLE ? rule->sample : 0;
}

void rule_eval_kernel_use(struct rule_eval *j)
{
	unsigned index = j->generation & 1;
	const struct pushdown_clause *clauses;
	struct skep_rules_set *set;
	size_t n;

	if (!j->shared)
		return;
	if (!j->plan) {
		__atomic_store_n(&j->shared->current, 0, __ATOMIC_RELEASE);
		return;
	}
	set = &j->shared->set[index];
	/*
	 * A program may still be reading the set of two generations ago; it notices that the generation has
	 * changed.
	 */
	__atomic_store_n(&set->generation, 0, __ATOMIC_SEQ_CST);
	memset((char *)set + sizeof(set->generation), 0, sizeof(*set) - sizeof(set->generation));
	memset(j->seen_hits, 0, sizeof(j->seen_hits));
	n = pushdown_clauses(j->plan, &clauses);
	if (!j->env.kernel) /* one clause that always holds, and that the kernel asks user space about */
		set->clauses = set->ask = 1;
	for (size_t i = 0; i < n && j->env.kernel; i++)
		fill_clause(j, set, (unsigned)i, &clauses[i]);
	for (unsigned d = 0; d < SKEP_RULES_DIMENSIONS && j->env.kernel; d++) {
		set->of[d] = pushdown_of(j->plan, d);
		set->dimensions |= set->of[d] ? 1u << d : 0;
	}
	for (size_t i = 0; i < ruleset_count(j->set); i++) {
		const struct rule *rule = ruleset_rule(j->set, i);
		unsigned slot = j->tallies[i].byte & 127;

		if (j->tallies[i].byte && rule->inherit)
			set->inherited[slot >> 6] |= 1ull << (slot & 63);
	}
	set->otherwise = j->otherwise;
	__atomic_store_n(&set->generation, j->generation, __ATOMIC_SEQ_CST);
	__atomic_store_n(&j->shared->current, index + 1, __ATOMIC_SEQ_CST);
}

/* ---- answers ----------------------------------------------------------------------- */

/* Path and comm determine a tool's name only where neither the arguments nor a script's name matter. */
struct masked {
	const struct rule_subject *subject;
	bool tool_fixed;
};

static enum filter_known get_masked(const void *subject, uint32_t level, uint32_t field, union filter_value *ret)
{
	const struct masked *m = subject;

	if (field == RULE_FIELD_TOOL && !m->tool_fixed)
		return FILTER_UNKNOWN;
	return rule_field_get(m->subject, level, field, ret);
}

/* Writes the path's components, the last first. false: the kernel never looks up such a path. */
static bool program_key(struct skep_rules_program *key, const struct interned *exe, const struct skep_str *comm)
{
	const char *end, *at;
	uint32_t n = 0;

	if (!exe || exe->len == 0 || exe->total > exe->len || exe->text[0] != '/' || comm->len >= sizeof(key->comm))
		return false;
	memcpy(key->comm, comm->ptr, comm->len);
	for (end = exe->text + exe->len; end > exe->text; end = at) {
		size_t len;

		for (at = end - 1; *at != '/'; at--)
			;
		len = (size_t)(end - at - 1);
		if (n + len + 1 > sizeof(key->path))
			return false;
		memcpy(key->path + n, at + 1, len);
		n += (uint32_t)len + 1;
	}
	key->len = n;
	return true;
}

static void tell(struct rule_eval *j, int fd, const void *key, const struct skep_rules_answer *answer)
{
	if (bpf_map_update_elem(fd, key, answer, BPF_ANY) < 0)
		j->self.answers_failed++;
	else
		j->self.answers++;
}

void rule_eval_kernel_answer(struct rule_eval *j, const struct rule_case *c, const struct rule_subject *subject)
{
	struct skep_str exe = c->program ? intern_str(c->program->exe) : (struct skep_str){ 0 };
	struct masked masked = { .subject = subject, .tool_fixed = tools_fixed(j->env.tools, &exe, &c->comm) };
	struct skep_rules_program program = { .generation = j->generation };
	struct skep_rules_value value = { .generation = j->generation };
	struct skep_rules_answer answer;
	uint64_t yes, maybe;

	if (!j->shared || !j->plan)
		return;
	for (unsigned d = 0; d < SKEP_RULES_DIMENSIONS; d++) {
		if (!(c->unknown & 1u << d))
			continue;
		pushdown_ask(j->plan, d, get_masked, &masked, &yes, &maybe);
		answer = (struct skep_rules_answer){ .yes = yes, .maybe = maybe };
		value.dimension = d;
		value.b = 0;
		switch (d) {
		case SKEP_RULES_PROGRAM:
			if (c->program && program_key(&program, c->program->exe, &c->comm))
				tell(j, j->programs_fd, &program, &answer);
			continue;
		case SKEP_RULES_USER:
			value.a = c->uid;
			value.b = c->gid;
			break;
		case SKEP_RULES_CGROUP:
			value.a = c->cgroup_id;
			if (!subject->text[RULE_FIELD_CGROUP].ptr)
				continue; /* skepd will learn the cgroup's path later */
			break;
		default:
			value.a = c->mount_ns;
			value.b = c->pid_ns;
			break;
		}
		tell(j, j->values_fd, &value, &answer);
	}
}

/* ---- counts ------------------------------------------------------------------------ */

static uint64_t since(const __u64 *counter, uint64_t *seen)
{
	uint64_t now = __atomic_load_n(counter, __ATOMIC_RELAXED), n = now - *seen;

	*seen = now;
	return n;
}

void rule_eval_kernel_count(struct rule_eval *j, uint64_t now_ns)
{
	const struct pushdown_clause *clauses;
	const struct skep_rules_set *set;
	size_t n, rules = j->set ? ruleset_count(j->set) : 0;

	if (!j->shared || !j->plan)
		return;
	set = &j->shared->set[j->generation & 1];
	n = pushdown_clauses(j->plan, &clauses);
	for (size_t i = 0; i <= SKEP_RULES_CLAUSES; i++) {
		struct rule_eval_tally *t = i < n && clauses[i].rule ? &j->tallies[clauses[i].rule->number] :
					i == SKEP_RULES_CLAUSES ? &j->tallies[rules] : NULL;
		uint64_t hits = since(&set->hits[i], &j->seen_hits[i]);

		if (!t || !hits)
			continue;
		t->hits_kernel += hits;
		t->last_ns = now_ns;
		j->self.evaluated_kernel += hits;
	}
	for (size_t i = 0; i <= rules; i++) {
		struct rule_eval_tally *t = &j->tallies[i];

		if (t->byte < SKEP_VERDICT_EXCLUDED)
			continue;
		t->gone += since(&j->shared->excluded[t->byte & 127], &t->seen_gone);
		t->gone_ns += since(&j->shared->excluded_ns[t->byte & 127], &t->seen_gone_ns);
	}
	j->self.asked = __atomic_load_n(&j->shared->asked, __ATOMIC_RELAXED);
	j->self.lineages_lost = __atomic_load_n(&j->shared->full, __ATOMIC_RELAXED);
}
