/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_rules [SECONDS]: how many processes a second a set of rules decides about.
 *
 * Sets of 10, 100 and 1,000 rules in the shapes that packs have (lists of names, prefixes, patterns,
 * ancestors, arguments), each evaluated on processes that none holds for (every rule is tried: the
 * most that a set can cost) and on processes of which each one's rule is evenly spread over the set.
 * Then the packs that come with skep, all four, on what a build starts.  One thread; three
 * repetitions, the fastest of which is printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/config/config.h"
#include "core/rules/rule_fields.h"
#include "core/rules/rules_file.h"

#define SUBJECTS 1000u

static double seconds = 0.5;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- sets ---------------------------------------------------------------------------- */

/* Rule i matches tool{i} and no other; the shapes alternate. */
static int when_of(unsigned i, char *to, size_t size)
{
	switch (i % 5) {
	case 0:
		return snprintf(to, size,
				"comm in ('a%u', 'b%u', 'c%u', 'd%u', 'tool%u', 'e%u', 'f%u', 'g%u') and uid < 2000", i,
				i, i, i, i, i, i, i);
	case 1:
		return snprintf(to, size, "exe prefix ('/opt/vendor%u/', '/opt/tool%u/') or exe = '/usr/lib/tool%u'", i,
				i, i);
	case 2:
		return snprintf(to, size, "cgroup glob '*/slurm*/job_%u/*' and not user = 'root'", i);
	case 3:
		return snprintf(to, size, "any parent.comm = 'parent%u'", i);
	default:
		return snprintf(to, size, "argv prefix '--tool%u=' or tool = ('tool%u', 'tool%u sort')", i, i, i);
	}
}

static struct ruleset *set_of(unsigned n)
{
	struct ruleset *set = ruleset_new(&rule_fields_schema, RULE_INCLUDE);
	struct filter_error error;
	char id[16], when[256];

	for (unsigned i = 0; set && i < n; i++) {
		struct rule_spec spec = { .id = id, .when = when, .verdict = RULE_EXCLUDE };

		snprintf(id, sizeof(id), "r%u", i);
		spec.when_len = (size_t)when_of(i, when, sizeof(when));
		if (ruleset_add(set, &spec, &error)) {
			fprintf(stderr, "bench_rules: %s\n", error.what);
			exit(1);
		}
	}
	if (!set)
		abort();
	return set;
}

/* ---- processes ------------------------------------------------------------------------ */

struct process {
	struct rule_subject subject; /* first */
	struct rule_subject ancestors[4]; /* nextflow's depth: engine, wrapper, shell, step */
	char tool[24], comm[16], exe[48], cgroup[64], argv[96], parent[16];
};

static const struct rule_subject *parent_of(const struct rule_subject *s)
{
	return s->owner;
}

static void set_text(struct rule_subject *s, enum rule_field f, const char *text)
{
	rule_subject_set_text(s, f, text, strlen(text));
}

/* i: the rule that shall match; none: no rule matches. */
static void make(struct process *p, unsigned i, bool none)
{
	static const char *const above[4] = { "bash", "nxf", "java", "sshd" };
	const char *x = none ? "none" : "tool";
	int n;

	memset(p, 0, sizeof(*p));
	snprintf(p->tool, sizeof(p->tool), "%s%u", x, i);
	snprintf(p->comm, sizeof(p->comm), "%s%u", x, i);
	snprintf(p->exe, sizeof(p->exe), "/usr/bin/%s%u", x, i);
	if (!none && i % 5 == 1)
		snprintf(p->exe, sizeof(p->exe), "/opt/tool%u/bin/x", i);
	snprintf(p->cgroup, sizeof(p->cgroup), "/system.slice/slurmstepd.scope/job_%u/step_0", none ? 9999999 : i);
	snprintf(p->parent, sizeof(p->parent), "%s%u", none ? "nobody" : "parent", i);
	n = snprintf(p->argv, sizeof(p->argv), "%s%u", x, i) + 1;
	n += snprintf(p->argv + n, sizeof(p->argv) - (size_t)n, "--threads") + 1;
	n += snprintf(p->argv + n, sizeof(p->argv) - (size_t)n, "8") + 1;
	n += snprintf(p->argv + n, sizeof(p->argv) - (size_t)n, "/data/sample_%u.bam", i) + 1;
	set_text(&p->subject, RULE_FIELD_TOOL, p->tool);
	set_text(&p->subject, RULE_FIELD_COMM, p->comm);
	set_text(&p->subject, RULE_FIELD_EXE, p->exe);
	set_text(&p->subject, RULE_FIELD_CGROUP, p->cgroup);
	set_text(&p->subject, RULE_FIELD_CWD, "/scratch/work/ab/0123456789");
	set_text(&p->subject, RULE_FIELD_CONTAINER, "");
	rule_subject_set_text(&p->subject, RULE_FIELD_ARGV, p->argv, (size_t)n);
	rule_subject_set_number(&p->subject, RULE_FIELD_UID, 1000);
	rule_subject_set_wrapper(&p->subject, false);
	p->subject.parent = parent_of;
	p->subject.owner = &p->ancestors[0];
	for (int a = 0; a < 4; a++) {
		set_text(&p->ancestors[a], RULE_FIELD_COMM, a == 1 && i % 5 == 3 ? p->parent : above[a]);
		p->ancestors[a].parent = parent_of;
		p->ancestors[a].owner = a < 3 ? &p->ancestors[a + 1] : NULL;
	}
}

/* Nanoseconds a decision, the best of three; *ret_taken: how many of SUBJECTS. */
static double measure(const struct ruleset *set, const struct process *people, unsigned *ret_taken)
{
	double best = 0;

	for (int round = 0; round < 3; round++) {
		double begin = now(), spent;
		unsigned long done = 0;

		do {
			unsigned taken = 0;

			for (unsigned i = 0; i < SUBJECTS; i++) {
				struct rule_decision d;

				ruleset_evaluate(set, rule_field_get, &people[i].subject, i, &d);
				taken += d.rule != NULL;
			}
			*ret_taken = taken;
			done += SUBJECTS;
			spent = now() - begin;
		} while (spent < seconds);
		if (round == 0 || spent * 1e9 / (double)done < best)
			best = spent * 1e9 / (double)done;
	}
	return best;
}

static void line(const char *what, const struct ruleset *set, const struct process *people)
{
	unsigned taken = 0;
	double ns = measure(set, people, &taken);

	printf("%-28s %6zu rules  %10.0f ns/process  %12.0f processes/s  %5.1f ns/rule tried  taken %u of %u\n", what,
	       ruleset_count(set), ns, 1e9 / ns,
	       taken == 0 ? ns / (double)ruleset_count(set) : ns / ((double)ruleset_count(set) / 2), taken, SUBJECTS);
}

static struct ruleset *packs(void)
{
	static const char text[] =
		"{ \"filters\": { \"packs\": [ \"bioinformatics\", \"ml\", \"build\", \"host\" ] } }";
	struct ruleset *set = NULL;
	struct config *config;
	struct diag diag;

	diag_init(&diag);
	config = config_parse(text, sizeof(text) - 1, "packs", &diag);
	if (config)
		rules_load(config, &diag, &set);
	diag_print(&diag, stderr);
	diag_clear(&diag);
	config_free(config);
	return set;
}

int main(int argc, char **argv)
{
	static const unsigned sizes[] = { 10, 100, 1000 };
	struct process *people = calloc(SUBJECTS, sizeof(*people));
	struct ruleset *set;

	if (argc > 1)
		seconds = strtod(argv[1], NULL);
	if (!people || seconds <= 0)
		return 1;
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		set = set_of(sizes[s]);
		for (unsigned i = 0; i < SUBJECTS; i++)
			make(&people[i], i, true);
		line("none holds", set, people);
		for (unsigned i = 0; i < SUBJECTS; i++)
			make(&people[i], i % sizes[s], false);
		line("each rule holds as often", set, people);
		ruleset_unref(set);
	}
	set = packs(); /* $SKEP_PACK_DIRS */
	if (!set)
		return 1;
	for (unsigned i = 0; i < SUBJECTS; i++)
		make(&people[i], i, true);
	line("all four packs, none holds", set, people);
	ruleset_unref(set);
	free(people);
	return 0;
}
