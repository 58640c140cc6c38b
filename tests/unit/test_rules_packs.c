/* SPDX-License-Identifier: Apache-2.0 */
/*
 * etc/packs: every pack loads, every rule gives a reason, and typical processes meet the intended rule.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/config/config.h"
#include "core/rules/rule_fields.h"
#include "core/rules/rules_file.h"

static struct ruleset *load(const char *const *packs)
{
	const char *src = getenv("abs_srcdir");
	char text[512] = "";
	struct config *config;
	struct ruleset *set = NULL;
	struct diag diag;
	size_t n;

	n = (size_t)snprintf(text, sizeof(text), "{ \"filters\": { \"pack_dirs\": [ \"%s/etc/packs\" ], \"packs\": [",
			     src ? src : ".");
	for (size_t i = 0; packs[i]; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s \"%s\"", i ? "," : "", packs[i]);
	snprintf(text + n, sizeof(text) - n, " ] } }");
	diag_init(&diag);
	config = config_parse(text, strlen(text), "conf", &diag);
	if (config)
		rules_load(config, &diag, &set);
	diag_print(&diag, stderr);
	assert_int_equal(diag.n, 0);
	assert_non_null(set);
	config_free(config);
	return set;
}

static void every_pack(void **state)
{
	static const char *const packs[] = { "bioinformatics", "build", "host", "ml", NULL };

	(void)state;
	for (size_t i = 0; packs[i]; i++) {
		struct ruleset *set = load((const char *const[]){ packs[i], NULL });
		size_t len = strlen(packs[i]);

		assert_true(ruleset_count(set) >= 8);
		for (size_t j = 0; j < ruleset_count(set); j++) {
			const struct rule *r = ruleset_rule(set, j);

			assert_non_null(r->why);
			assert_non_null(r->when);
			/* No user hides by the pack of the host, nor by any pack with all descendants. */
			if (r->verdict == RULE_EXCLUDE && (r->inherit || strcmp(packs[i], "host") == 0) &&
			    !filter_expr_is_fixed(r->when, ruleset_schema(set)))
				fail_msg("%s: any user can make it hold", r->id);
			if (strncmp(r->id, packs[i], len) != 0 || r->id[len] != '/')
				fail_msg("%s is in pack %s", r->id, packs[i]);
			/* A rule that includes sets labels: otherwise it would only hide the rules behind it. */
			assert_int_equal(r->n_labels > 0, r->verdict == RULE_INCLUDE);
			/* comm has at most 15 bytes: a longer word never matches */
			for (const char *at = r->text; (at = strstr(at, "comm in (")); at++) {
				const char *end = strchr(at, ')');

				for (at = strchr(at, '\''); at && at < end; at = strchr(at, '\'')) {
					const char *close = strchr(++at, '\'');

					if (close - at > 15)
						fail_msg("%s: '%.*s' is longer than a comm", r->id, (int)(close - at),
							 at);
					at = close + 1;
				}
				at = end;
			}
		}
		ruleset_unref(set);
	}
	ruleset_unref(load(packs));
}

struct process {
	const char *tool, *comm, *exe, *argv;
	size_t argv_len;
	uint64_t uid;
	bool wrapper;
	const char *container;
};
#define ARGV(s) .argv = s, .argv_len = sizeof(s)

static const struct rule_subject *parent_of(const struct rule_subject *s)
{
	return s->owner;
}

static void subject(struct rule_subject *s, const struct process *p, const struct rule_subject *parent)
{
	*s = (struct rule_subject){ .parent = parent_of, .owner = (void *)parent };
	rule_subject_set_text(s, RULE_FIELD_TOOL, p->tool, p->tool ? strlen(p->tool) : 0);
	rule_subject_set_text(s, RULE_FIELD_COMM, p->comm, p->comm ? strlen(p->comm) : 0);
	rule_subject_set_text(s, RULE_FIELD_EXE, p->exe, p->exe ? strlen(p->exe) : 0);
	rule_subject_set_text(s, RULE_FIELD_ARGV, p->argv, p->argv_len);
	rule_subject_set_text(s, RULE_FIELD_CGROUP, "/", 1);
	rule_subject_set_text(s, RULE_FIELD_CONTAINER, p->container ? p->container : "",
			      p->container ? strlen(p->container) : 0);
	rule_subject_set_number(s, RULE_FIELD_UID, p->uid);
	rule_subject_set_wrapper(s, p->wrapper);
}

static void typical_processes(void **state)
{
	static const struct process shell = { "bash", "bash", "/usr/bin/bash", ARGV("-bash"), 1000, false, NULL };
	static const struct process nxf = {
		".command.run", "bash", "/usr/bin/bash", ARGV("bash\0/work/ab/12/.command.run"), 1000, false, NULL
	};
	static const struct process engine = {
		"nextflow", "java", "/usr/bin/java", ARGV("java\0nextflow.cli.Launcher"), 1000, false, NULL
	};
	static const struct process make = { "make", "make", "/usr/bin/make", ARGV("make\0-j8"), 1000, false, NULL };
	static const struct process configure = {
		"configure", "configure", "/usr/bin/dash", ARGV("/bin/sh\0./configure"), 1000, false, NULL
	};
	static const struct process python = {
		"train.py", "python3", "/usr/bin/python3.11", ARGV("python3\0train.py"), 1000, false, NULL
	};
	static const struct process torchrun = {
		"torchrun", "torchrun", "/usr/bin/python3.11", ARGV("python3\0/usr/bin/torchrun\0t.py"), 1000,
		false,      NULL
	};
	static const struct {
		const struct process *parent;
		struct process p;
		const char *rule; /* NULL: none */
	} cases[] = {
		/* the host */
		{ NULL,
		  { "cron", "cron", "/usr/sbin/cron", ARGV("/usr/sbin/cron\0-f"), 0, false, NULL },
		  "host/daemons" },
		{ NULL, { "cron", "cron", "/home/a/cron", ARGV("./cron"), 1000, false, NULL }, NULL },
		{ NULL,
		  { "systemd-journald", "systemd-journal", "/usr/lib/systemd/systemd-journald", ARGV("x"), 0, false,
		    NULL },
		  "host/daemons" },
		{ NULL,
		  { "containerd-shim", "containerd-shim", "/usr/bin/containerd-shim-runc-v2", ARGV("x"), 0, false,
		    NULL },
		  "host/container-runtimes" },
		{ NULL, { "slurmd", "slurmd", "/usr/sbin/slurmd", ARGV("slurmd"), 0, false, NULL }, "host/schedulers" },
		{ NULL,
		  { "slurmstepd", "slurmstepd", "/usr/sbin/slurmstepd", ARGV("slurmstepd: [1.batch]"), 0, false, NULL },
		  "host/schedulers" },
		{ NULL,
		  { "node_exporter", "node_exporter", "/usr/bin/prometheus-node-exporter", ARGV("x"), 110, false,
		    NULL },
		  "host/agents" },
		{ NULL,
		  { "agent", "agent", "/opt/datadog-agent/bin/agent/agent", ARGV("x"), 101, false, NULL },
		  "host/agents-opt" },
		{ NULL, { "nrpe", "nrpe", "/usr/sbin/nrpe", ARGV("x"), 112, false, NULL }, "host/checks" },
		{ NULL, { "monit", "monit", "/tmp/monit", ARGV("monit"), 1000, false, NULL }, NULL },
		{ NULL, { "monit", "monit", "/usr/bin/monit", ARGV("x"), 0, false, "0123456789ab" }, NULL },
		{ NULL, { "sh", "sh", "/usr/bin/dash", ARGV("sh\0-c\0x\0/.ansible/tmp/"), 1000, false, NULL }, NULL },
		{ &shell, { "date", "date", "/tmp/date", ARGV("date"), 1000, false, NULL }, NULL },
		{ &shell, { "date", "date", "/usr/bin/dash", ARGV("/bin/sh\0/tmp/date"), 1000, false, NULL }, NULL },
		{ NULL,
		  { "apt-get", "apt-get", "/usr/bin/apt-get", ARGV("apt-get\0update"), 0, false, NULL },
		  "host/packages" },
		{ NULL, { "apt-get", "apt-get", "/usr/bin/apt-get", ARGV("apt-get\0update"), 0, false, "4f1c" }, NULL },
		{ NULL,
		  { "AnsiballZ_setup.py", "python3", "/usr/bin/python3.11",
		    ARGV("python3\0/root/.ansible/tmp/1/AnsiballZ_setup.py"), 0, false, NULL },
		  "host/configuration" },
		{ NULL,
		  { "run-parts", "run-parts", "/usr/bin/run-parts", ARGV("run-parts\0--report\0/etc/cron.hourly"), 0,
		    false, NULL },
		  "host/periodic" },
		{ NULL,
		  { "run-parts", "run-parts", "/usr/bin/run-parts", ARGV("run-parts\0/home/a/steps"), 1000, false,
		    NULL },
		  NULL },
		{ &shell,
		  { "basename", "basename", "/usr/bin/basename", ARGV("basename\0/a/b"), 1000, false, NULL },
		  "host/shell-helpers" },
		{ &shell, { "sort", "sort", "/usr/bin/sort", ARGV("sort\0-k1,1"), 1000, false, NULL }, NULL },
		{ &shell, { "tr", "tr", "/usr/bin/tr", ARGV("tr\0a\0b"), 1000, false, NULL }, NULL },
		/* bioinformatics */
		{ &shell,
		  { "bwa mem", "bwa", "/usr/bin/bwa", ARGV("bwa\0mem\0ref.fa"), 1000, false, NULL },
		  "bioinformatics/alignment" },
		{ &shell, { "bwax", "bwax", "/usr/bin/bwax", ARGV("bwax"), 1000, false, NULL }, NULL },
		{ &shell,
		  { "samtools sort", "samtools", "/usr/bin/samtools", ARGV("samtools\0sort"), 1000, false, NULL },
		  "bioinformatics/files" },
		{ &shell,
		  { "picard MarkDuplicates", "java", "/usr/bin/java", ARGV("java\0-jar\0picard.jar"), 1000, false,
		    NULL },
		  "bioinformatics/files" },
		{ &shell,
		  { "gatk HaplotypeCaller", "java", "/usr/bin/java", ARGV("java\0-jar\0gatk.jar"), 1000, false, NULL },
		  "bioinformatics/variants" },
		{ &shell,
		  { "nextflow", "java", "/usr/bin/java", ARGV("java"), 1000, false, NULL },
		  "bioinformatics/engines" },
		{ &nxf,
		  { "ps", "ps", "/usr/bin/ps", ARGV("ps\0-e"), 1000, false, NULL },
		  "bioinformatics/nextflow-wrapper" },
		{ &shell, { "ps", "ps", "/usr/bin/ps", ARGV("ps\0-e"), 1000, false, NULL }, NULL },
		{ &engine,
		  { "squeue", "squeue", "/usr/bin/squeue", ARGV("squeue"), 1000, false, NULL },
		  "bioinformatics/engine-probes" },
		/* ml */
		{ &python,
		  { "ldconfig", "ldconfig", "/sbin/ldconfig", ARGV("/sbin/ldconfig\0-p"), 1000, false, NULL },
		  "ml/python-probes" },
		{ &torchrun,
		  { "t.py", "python3", "/usr/bin/python3.11", ARGV("python3\0-u\0t.py"), 1000, false, NULL },
		  "ml/workers" },
		{ &shell,
		  { "torchrun", "torchrun", "/usr/bin/python3.11", ARGV("python3\0torchrun"), 1000, false, NULL },
		  "ml/launchers" },
		{ &shell,
		  { "train.py", "python3", "/usr/bin/python3.11", ARGV("python3\0train.py"), 1000, false, NULL },
		  "ml/training" },
		{ &python, { "ptxas", "ptxas", "/usr/lib/ptxas", ARGV("ptxas"), 1000, false, NULL }, "ml/compilers" },
		{ &shell,
		  { "nvidia-smi", "nvidia-smi", "/usr/bin/nvidia-smi", ARGV("nvidia-smi"), 1000, false, NULL },
		  "ml/gpu-polling" },
		/* build */
		{ &make,
		  { "gcc", "sh", "/usr/bin/dash", ARGV("/bin/sh\0-c\0gcc -c a.c"), 1000, true, NULL },
		  "build/recipe-shells" },
		{ &make,
		  { "sh -c", "sh", "/usr/bin/dash", ARGV("/bin/sh\0-c\0for i in 1; do gcc; done"), 1000, false, NULL },
		  NULL },
		{ &make,
		  { "cc1", "cc1", "/usr/lib/gcc/x86_64-linux-gnu/12/cc1", ARGV("cc1"), 1000, false, NULL },
		  "build/compile" },
		{ &make,
		  { "gcc", "gcc-12", "/usr/bin/x86_64-linux-gnu-gcc-12", ARGV("gcc-12"), 1000, false, NULL },
		  "build/drivers" },
		{ &make,
		  { "ld", "ld", "/usr/bin/x86_64-linux-gnu-ld.bfd", ARGV("ld"), 1000, false, NULL },
		  "build/link" },
		{ &make,
		  { "collect2", "collect2", "/usr/lib/gcc/collect2", ARGV("collect2"), 1000, false, NULL },
		  "build/collect2" },
		{ &make,
		  { "rm", "rm", "/usr/bin/rm", ARGV("rm\0-f\0a.o"), 1000, false, NULL },
		  "build/recipe-helpers" },
		{ &shell, { "rm", "rm", "/usr/bin/rm", ARGV("rm\0-f\0a.o"), 1000, false, NULL }, NULL },
		{ &make, { "sort", "sort", "/usr/bin/sort", ARGV("sort"), 1000, false, NULL }, NULL },
		{ &configure,
		  { "sed", "sed", "/usr/bin/sed", ARGV("sed\0s/a/b/"), 1000, false, NULL },
		  "build/configure" },
		{ &configure,
		  { "cc1", "cc1", "/usr/lib/gcc/x86_64-linux-gnu/12/cc1", ARGV("cc1"), 1000, false, NULL },
		  "build/compile" },
	};
	struct ruleset *set = load((const char *const[]){ "bioinformatics", "ml", "build", "host", NULL });

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rule_subject s, parent;
		struct rule_decision d;

		if (cases[i].parent)
			subject(&parent, cases[i].parent, NULL);
		subject(&s, &cases[i].p, cases[i].parent ? &parent : NULL);
		ruleset_evaluate(set, rule_field_get, &s, 1, &d);
		if (!d.rule != !cases[i].rule || (d.rule && strcmp(d.rule->id, cases[i].rule) != 0))
			fail_msg("%zu: %s: %s, not %s", i, cases[i].p.tool, d.rule ? d.rule->id : "no rule",
				 cases[i].rule ? cases[i].rule : "none");
	}
	ruleset_unref(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_pack),
		cmocka_unit_test(typical_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
