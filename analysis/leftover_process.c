/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/leftover_process.c - finds processes that outlive the run to which they belong.
 */
#include <string.h>

#include "analysis/waste.h"

enum { ALIVE };

/* These programs serve later runs, and end by themselves or with the session. */
static const char *const lasting[] = { "ssh-agent",   "gpg-agent", "ssh",      "tmux",       "tmux: server",
				       "screen",      "SCREEN",    "dtach",    "ccache",     "sccache",
				       "distccd",     "bazel",     "gradle",   "mvnd",       "sbt",
				       "nailgun",     "buck",      "watchman", "emacs",      "dbus-daemon",
				       "dbus-launch", "dirmngr",   "keyboxd",  "pulseaudio", "pipewire",
				       "gvfsd",       "systemd",   NULL };

static int look_at(struct sweep *s, const struct finding_kind *kind, const double *thresholds,
		   const struct lake_left *left)
{
	const struct lake_usage *u = s->in->usage;
	const struct lake_span *run = &u->runs[left->run];
	struct sweep_finding f = {
		.kind = kind, .severity = FINDING_WARN, .n = 1, .run = run, .threshold = thresholds[ALIVE]
	};
	char time[FINDING_NUMBER], bytes[FINDING_NUMBER];

	if (strcmp(run->origin, "session") == 0 || strcmp(run->origin, "shell") == 0 ||
	    waste_is_one_of(left->tool, lasting) || left->to_ns <= run->end_ns)
		return 0;
	f.host = &u->hosts[run->host];
	f.from_ns = run->end_ns;
	f.to_ns = left->to_ns;
	f.value = f.seconds = (double)(left->to_ns - run->end_ns) / 1e9;
	if (f.seconds < thresholds[ALIVE])
		return 0;
	f.is_open = waste_is_open(f.host, left->to_ns);
	f.amount.core_s = (double)left->cpu_ns / 1e9;
	f.amount.byte_s = (double)left->rss_bytes * f.seconds;
	f.subject = finding_text("%s", left->tool);
	f.evidence = finding_text("%llu process%s of run %s %s %s after the run's end, with %s of memory",
				  (unsigned long long)left->processes, left->processes == 1 ? "" : "es", run->id,
				  f.is_open ? "live" : "lived", finding_seconds(f.seconds, time),
				  finding_bytes((double)left->rss_bytes, bytes));
	f.advice = finding_text("%s", f.is_open ? "end it; let the script that starts it "
						  "stop it in a trap on exit"
						: "let the script that starts it stop it in a trap on exit");
	return waste_add_take(s, &f);
}

static int sweep_left(struct sweep *s, const struct finding_kind *kind, const double *thresholds)
{
	int rc = 0;

	for (size_t i = 0; i < s->in->usage->n_left && rc == 0; i++)
		rc = look_at(s, kind, thresholds, &s->in->usage->left[i]);
	return rc;
}

const struct finding_kind waste_leftover_process = {
	.id = "leftover-process",
	.title = "processes that outlive their run",
	.measures = "how long after the end of its run a tool's last process was alive",
	.unit = "s",
	.guards = "login sessions and jobs of a shell; agents of keys, servers of terminals, caches and daemons of compilers and build "
		  "tools",
	.advice = "its end, by the script that started it",
	.saving = "the memory that they hold, and their CPU time",
	.source = ANALYSIS_SAMPLED,
	.thresholds = {
		[ALIVE] = { "alive", 300, "s", "own: five minutes" },
	},
	.sweep = sweep_left,
};
