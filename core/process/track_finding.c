/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track_finding.c - reports trouble without a question: tasks that do nothing, processes and containers
 * that outlive their task or run, GPUs that are held idle, kills for memory.
 *
 * A look compares sums that the tracker has anyway, some twenty times within the shortest threshold.  It visits the
 * processes of tasks and of ended runs, and all processes only where a probe reports GPUs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/process/findings.h"
#include "core/process/track_priv.h"

#define NS_PER_S UINT64_C(1000000000)
#define LOOKS 20u /* within the shortest threshold: what lasts longer is found a twentieth late at most */
#define SENTENCE 512
/*
 * What a younger image read is mostly itself, and a loop of `sleep` must not look like work.  At most a quarter of the
 * time after which something is a stall.
 */
#define LONG_NS (30 * NS_PER_S)
/* For "%.*s": a name with the word before it; nothing without a name. */
#define NAME(text_) (int)((text_) ? (text_)->len : 1), (text_) ? (text_)->text : "?"
#define OF_TASK(task_, before_, else_) (task_) ? (before_) : (else_), (task_) ? (int)(task_)->name->len : 0, \
	(task_) ? (task_)->name->text : ""

/* ---- what processes do ------------------------------------------------------------- */

static void find_columns(struct track *t)
{
	static const char *const names[FINDING_COLUMNS] = {
		[COLUMN_RX] = "net.rx_bytes",
		[COLUMN_TX] = "net.tx_bytes",
		[COLUMN_LOOPBACK_RX] = "net.loopback_rx_bytes",
		[COLUMN_LOOPBACK_TX] = "net.loopback_tx_bytes",
		[COLUMN_ACCEPTS] = "net.accepts",
		[COLUMN_RECLAIMS] = "io.reclaims",
		[COLUMN_CGROUP_RECLAIMS] = "io.cgroup_reclaims",
		[COLUMN_GPU_BUSY] = "gpu.busy_ns",
		[COLUMN_GPU_HELD] = "gpu.held_ns",
		[COLUMN_GPU_KNOWN] = "gpu.known_ns",
	};
	struct findings *fs = t->findings;
	const char *name;

	if (fs->columns_seen && !facets_column(t->env.facets, fs->columns_seen))
		return;
	memset(fs->columns, 0xff, sizeof(fs->columns));
	for (fs->columns_seen = 0; (name = facets_column(t->env.facets, fs->columns_seen)); fs->columns_seen++)
		for (int i = 0; i < FINDING_COLUMNS; i++)
			if (strcmp(names[i], name) == 0)
				fs->columns[i] = fs->columns_seen;
}

static uint64_t facet(const struct track *t, const struct proc *p, enum finding_column column)
{
	uint32_t at = t->findings->columns[column];

	return p->facets && at != UINT32_MAX ? facets_number(p->facets, at) : 0;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t long_ns(const struct track *t)
{
	const uint64_t quarter_ns = t->findings->limits.stall_ns / 4;

	return quarter_ns && quarter_ns < LONG_NS ? quarter_ns : LONG_NS;
}

/* What the current image has done until `end`, its counters at end_ns. */
static void activity_of(const struct track *t, const struct proc *p, const struct skep_counters *end, uint64_t end_ns,
			struct activity *ret)
{
	const struct skep_counters *base = &p->base;

	*ret = (struct activity){ .cpu_ns = less(end->cpu_ns, base->cpu_ns) };
	if (less(end_ns, p->image_start_ns) < long_ns(t))
		return;
	ret->bytes = less(end->rchar_bytes, base->rchar_bytes) + less(end->wchar_bytes, base->wchar_bytes) +
		     less(end->read_bytes, base->read_bytes) + less(end->write_bytes, base->write_bytes) +
		     less(facet(t, p, COLUMN_RX), facet(t, p, COLUMN_LOOPBACK_RX)) +
		     less(facet(t, p, COLUMN_TX), facet(t, p, COLUMN_LOOPBACK_TX));
	/* Where the probe does not know whether its kernels ran, they may have run. */
	ret->others = less(end->major_faults, base->major_faults) + facet(t, p, COLUMN_RECLAIMS) +
		      facet(t, p, COLUMN_CGROUP_RECLAIMS) + facet(t, p, COLUMN_GPU_BUSY) +
		      less(facet(t, p, COLUMN_GPU_HELD), facet(t, p, COLUMN_GPU_KNOWN));
}

void track_finding_image(struct track *t, struct proc *p, const struct skep_counters *end, uint64_t end_ns)
{
	struct activity a;

	if (!t->findings || (!p->task && !p->run) ||
	    (!t->findings->limits.stall_ns && !t->findings->limits.orphan_container_ns))
		return;
	find_columns(t);
	activity_of(t, p, end, end_ns, &a);
	if (p->task)
		activity_add(&p->task->watch.done, &a);
	if (p->run)
		activity_add(&p->run->watch.done, &a);
}

/* Adds what the current image has done so far.  A process that has ended stays in the sum until its record leaves. */
static void add_live(const struct track *t, const struct proc *p, struct activity *sum)
{
	struct activity a;

	if (p->flags & (PROC_MUTED | PROC_EXCLUDED))
		return;
	activity_of(t, p, &p->last, t->now_ns, &a);
	activity_add(sum, &a);
}

static struct activity activity_of_task(const struct track *t, const struct task *task)
{
	struct activity sum = task->watch.done;

	for (const struct proc *p = task->procs; p; p = p->task_next)
		add_live(t, p, &sum);
	return sum;
}

static struct activity activity_of_run(const struct track *t, const struct run *run)
{
	struct activity sum = run->watch.done;

	for (const struct proc *p = run->procs; p; p = p->run_next)
		add_live(t, p, &sum);
	return sum;
}

static struct gpu_use use_of(const struct track *t, const struct proc *p)
{
	return (struct gpu_use){ facet(t, p, COLUMN_GPU_BUSY), facet(t, p, COLUMN_GPU_HELD),
				 facet(t, p, COLUMN_GPU_KNOWN) };
}

/* ---- guards ------------------------------------------------------------------------ */

static bool alive(const struct proc *p)
{
	return (p->flags & PROC_CONFIRMED) &&
	       !(p->flags & (PROC_EXITED | PROC_FINAL | PROC_ZOMBIE | PROC_MUTED | PROC_EXCLUDED)) && !p->missing_ns;
}

static const struct interned *tool_of(const struct proc *p)
{
	return p->program ? p->program->tool : NULL;
}

static bool is_one_of(const struct proc *p, const char *const *names)
{
	const struct interned *tool = tool_of(p);

	for (; tool && *names; names++)
		if (strcmp(tool->text, *names) == 0)
			return true;
	return false;
}

/* A user, or a client, decides when it continues. */
static const char *const interactive[] = { "jupyter",  "jupyter-lab", "jupyter-notebook", "jupyterhub",
					   "ipython",  "ipykernel",   "ipykernel_launcher", "rstudio",
					   "rserver",  "rsession",    "code-server",        "tmux",
					   "screen",   "vi",          "vim",                "nvim",
					   "nano",     "emacs",       "less",               "more",
					   "man",      "gdb",         "top",                "htop",
					   "watch",    NULL };
/* They wait for another machine. */
static const char *const remote[] = { "srun", "salloc", "sbatch", "qsub", "bsub", "flux", "kubectl", "ssh", NULL };
/* They are made to outlive what started them. */
static const char *const lasting[] = { "ssh-agent", "gpg-agent", "dirmngr", "dbus-daemon", "tmux", "screen", "adb",
				       "sccache",   "ccache",    "bazel",   "watchman",    "conmon", "podman",
				       "catatonit", "pasta",     "slirp4netns", "fuse-overlayfs", "containerd-shim",
				       "containerd-shim-runc-v2", "nvidia-cuda-mps-control", "nvidia-cuda-mps-server",
				       "ssh",       NULL }; /* ssh: a connection that others share */
/* They show a picture, or keep a device ready. */
static const char *const displays[] = { "Xorg", "Xwayland", "gnome-shell", "kwin_wayland", "kwin_x11", "sway",
					"nvidia-persistenced", "nvidia-cuda-mps-server", "nv-hostengine", NULL };

static bool is_served(const struct track *t, const struct proc *p)
{
	const struct interned *tool = tool_of(p);

	return facet(t, p, COLUMN_ACCEPTS) > 0 || is_one_of(p, interactive) || is_one_of(p, remote) ||
	       ((p->flags & PROC_TTY) && tool && tools_shell(t->env.tools, tool->text, tool->len));
}

static bool ends_with(const struct skep_str *s, const char *end)
{
	size_t n = strlen(end);

	return s->len > n && memcmp(s->ptr + s->len - n, end, n) == 0;
}

/* It is part of a service that systemd runs: another one than that in which its run began. */
static bool is_service(const struct track *t, const struct proc *p)
{
	const struct container *c = cgroups_container(t->env.cgroups, p->cgroup_id, t->now_ns);
	const struct interned *of_run = p->run ? p->run->contained.in[IN_UNIT] : NULL;
	const struct skep_str *unit = c ? &c->of[CONTAINER_UNIT].id : NULL;

	/* the manager of a user's session is no service that was made to last */
	if (!unit || !ends_with(unit, ".service") || (unit->len > 5 && memcmp(unit->ptr, "user@", 5) == 0))
		return false;
	return !of_run || of_run->len != unit->len || memcmp(of_run->text, unit->ptr, unit->len) != 0;
}

/* Begun by name, or by an engine.  A session is a user's, and cron's jobs may start services. */
static bool is_watched(const struct run *run)
{
	return run && (!run->found || (run->engine[0] && run->class > RECOGNIZER_ORIGIN));
}

/* Notes for each task and run whether a process outside of it is the child of one of its processes. */
static void note_waits(struct track *t)
{
	for (const struct proc *p = proctab_first(t->table); p; p = p->next) {
		const struct proc *parent = alive(p) && p->parent.pid ? proctab_find(t->table, &p->parent) : NULL;

		if (!parent || parent == p)
			continue;
		if (parent->task && parent->task != p->task)
			parent->task->watch.waits_look = t->findings->look;
		if (parent->run && parent->run != p->run)
			parent->run->watch.waits_look = t->findings->look;
	}
}

static bool has_child_in_task(const struct proc *parent)
{
	for (const struct proc *p = parent->task->procs; p; p = p->task_next)
		if (p->parent.pid == parent->upid.pid && p->parent.start_ns == parent->upid.start_ns && alive(p))
			return true;
	return false;
}

/* An engine without a process of its own here waits for jobs on other machines. */
static bool waits_elsewhere(const struct proc *p)
{
	return (p->flags & PROC_ENGINE) && p->task && !has_child_in_task(p);
}

/* ---- stalls ------------------------------------------------------------------------ */

struct stall {
	struct watch *watch;
	const char *subject;
	struct run *run;
	const struct task *task; /* NULL: the run as a whole */
	uint64_t idle_ns;
};

/* The youngest live process: the others wait for it.  NULL: there is none, or a guard holds. */
static const struct proc *stalled_process(const struct track *t, const struct stall *s)
{
	const struct proc *youngest = NULL, *p = s->task ? s->task->procs : s->run->procs;

	for (; p; p = s->task ? p->task_next : p->run_next) {
		if (!alive(p))
			continue;
		if (is_served(t, p) || waits_elsewhere(p))
			return NULL;
		if (!youngest || p->upid.start_ns > youngest->upid.start_ns)
			youngest = p;
	}
	return youngest;
}

static void stalled(struct track *t, const struct stall *s, bool *noted)
{
	const struct proc *p;
	char text[SENTENCE], advice[SENTENCE];

	if (!*noted) {
		note_waits(t);
		*noted = true;
	}
	if (s->watch->waits_look == t->findings->look || s->watch->hidden)
		return;
	p = stalled_process(t, s);
	if (!p || findings_again(t->findings, FINDING_STALL, s->subject))
		return;
	snprintf(text, sizeof(text),
		 "for %" PRIu64 " s no process of %s%.*s used a CPU, a file, the network or a GPU; the youngest is pid "
		 "%u (%.*s)", s->idle_ns / NS_PER_S, OF_TASK(s->task, "task ", "the run"), p->upid.pid, NAME(tool_of(p)));
	snprintf(advice, sizeof(advice),
		 "find out what it waits for (a lock, a peer, a file, a prompt): `cat /proc/%u/stack`, `gdb -p %u`; give "
		 "such a wait a limit", p->upid.pid, p->upid.pid);
	findings_open(t, &(struct finding_begin){
				 .kind = FINDING_STALL,
				 .subject = s->subject,
				 .process = p,
				 .run = s->run,
				 .task = s->task,
				 .started_ns = s->watch->idle.since_ns,
				 .time_ns = t->now_ns,
				 .value = (double)s->idle_ns / 1e9,
				 .threshold = (double)t->findings->limits.stall_ns / 1e9,
				 .evidence = text,
				 .advice = advice,
			 });
}

/* A run that one of its tasks has begun is alive: the task may wait for it. */
static bool has_inner(const struct track *t, const struct run *around)
{
	for (const struct run *run = t->runs.first; run; run = run->next)
		if (!run->ended && strcmp(run->parent, around->id) == 0)
			return true;
	return false;
}

static void look_at_stalls(struct track *t, uint64_t period_ns)
{
	const uint64_t limit_ns = t->findings->limits.stall_ns;
	struct activity sum;
	bool noted = false;

	for (struct task *task = t->tasks.first; task; task = task->next) {
		struct stall s = { &task->watch, task->id, task->run, task, 0 };

		if (task->over_ns || task->ended || !is_watched(task->run) || task->run->ended || !task->procs)
			continue;
		sum = activity_of_task(t, task);
		s.idle_ns = idle_look(&task->watch.idle, &sum, period_ns, t->now_ns);
		if (s.idle_ns >= limit_ns && !has_inner(t, task->run))
			stalled(t, &s, &noted);
	}
	/* An engine whose tasks are not known waits for jobs on other machines. */
	for (struct run *run = t->runs.first; run; run = run->next) {
		struct stall s = { &run->watch, run->id, run, NULL, 0 };

		if (run->ended || run->found || run->tasked || run->engine[0] || !run->procs)
			continue;
		sum = activity_of_run(t, run);
		s.idle_ns = idle_look(&run->watch.idle, &sum, period_ns, t->now_ns);
		if (s.idle_ns >= limit_ns)
			stalled(t, &s, &noted);
	}
}

/* ---- leftovers --------------------------------------------------------------------- */

static void subject_of_process(const struct proc *p, char ret[FINDING_SUBJECT_SIZE])
{
	snprintf(ret, FINDING_SUBJECT_SIZE, "%u-%" PRIx64, p->upid.pid, p->upid.start_ns);
}

static bool same(struct skep_str a, const struct interned *b)
{
	return b && a.len == b->len && memcmp(a.ptr, b->text, a.len) == 0;
}

static struct container_watch *watch_of(struct track *t, struct skep_str id)
{
	struct container_watch *w = t->findings->containers;

	while (w && !same(id, w->id))
		w = w->next;
	if (w || !id.len || id.len >= FINDING_SUBJECT_SIZE)
		return w;
	w = calloc(1, sizeof(*w));
	if (!w || !(w->id = intern_get(t->intern, &id))) {
		free(w);
		return NULL;
	}
	w->next = t->findings->containers;
	t->findings->containers = w;
	return w;
}

/* A live process of a run that has ended is in a container that the run started. */
static void add_to_container(struct track *t, const struct proc *p)
{
	struct skep_str id = cgroups_container_id(t->env.cgroups, p->cgroup_id, t->now_ns);
	struct container_watch *w = id.len && !same(id, p->run->contained.in[IN_CONTAINER]) ? watch_of(t, id) : NULL;

	if (!w)
		return;
	if (w->look != t->findings->look) {
		w->look = t->findings->look;
		w->sum = p->run->watch.done; /* what ended in it counts as well */
		w->first = NULL;
	}
	add_live(t, p, &w->sum);
	if (!w->first || p->upid.start_ns < w->first->upid.start_ns)
		w->first = p;
}

static void orphaned(struct track *t, const struct container_watch *w, uint64_t idle_ns)
{
	const struct proc *p = w->first;
	char text[SENTENCE], advice[SENTENCE];

	if (findings_again(t->findings, FINDING_ORPHAN, w->id->text) || is_service(t, p))
		return;
	snprintf(text, sizeof(text),
		 "the run that started this container ended %" PRIu64 " s ago, and for %" PRIu64 " s no process in it "
		 "did anything; its first is pid %u (%.*s)", less(t->now_ns, p->run->end_ns) / NS_PER_S,
		 idle_ns / NS_PER_S, p->upid.pid, NAME(tool_of(p)));
	snprintf(advice, sizeof(advice),
		 "remove the container %.12s (`podman rm -f`, `docker rm -f`): this frees its memory and its "
		 "reservations", w->id->text);
	findings_open(t, &(struct finding_begin){
				 .kind = FINDING_ORPHAN,
				 .subject = w->id->text,
				 .process = p,
				 .run = p->run,
				 .task = p->task,
				 .container = intern_str(w->id),
				 .started_ns = w->idle.since_ns,
				 .time_ns = t->now_ns,
				 .value = (double)idle_ns / 1e9,
				 .threshold = (double)t->findings->limits.orphan_container_ns / 1e9,
				 .evidence = text,
				 .advice = advice,
			 });
}

static void look_at_containers(struct track *t, uint64_t period_ns)
{
	struct findings *fs = t->findings;

	for (struct run *run = t->runs.first; run; run = run->next) {
		if (!run->ended || !run->procs || !is_watched(run))
			continue;
		for (const struct proc *p = run->procs; p; p = p->run_next)
			if (alive(p))
				add_to_container(t, p);
	}
	for (struct container_watch **at = &fs->containers, *w; (w = *at);) {
		uint64_t idle_ns;

		if (w->look != fs->look) { /* it has gone */
			*at = w->next;
			intern_unref(t->intern, w->id);
			free(w);
			continue;
		}
		idle_ns = idle_look(&w->idle, &w->sum, period_ns, t->now_ns);
		if (idle_ns >= fs->limits.orphan_container_ns)
			orphaned(t, w, idle_ns);
		at = &w->next;
	}
}

/* The parent is left over as well: one finding for both. */
static bool is_below(const struct track *t, const struct proc *p)
{
	const struct proc *parent = p->parent.pid ? proctab_find(t->table, &p->parent) : NULL;

	return parent && parent != p && alive(parent) && parent->task == p->task && parent->run == p->run;
}

static void left_over(struct track *t, struct proc *p, uint64_t since_ns)
{
	struct skep_str container;
	char subject[FINDING_SUBJECT_SIZE], id[FINDING_SUBJECT_SIZE], text[SENTENCE], advice[SENTENCE];

	if (!alive(p) || !is_watched(p->run) || is_below(t, p))
		return;
	subject_of_process(p, subject);
	container = cgroups_container_id(t->env.cgroups, p->cgroup_id, t->now_ns);
	snprintf(id, sizeof(id), "%.*s", (int)container.len, container.len ? container.ptr : "");
	if (container.len && findings_again(t->findings, FINDING_ORPHAN, id))
		return; /* its container is the finding */
	p->flags |= PROC_FOUND;
	if (findings_again(t->findings, FINDING_LEFTOVER, subject))
		return;
	if (is_one_of(p, lasting) || is_service(t, p)) {
		p->flags &= ~PROC_FOUND;
		return;
	}
	snprintf(text, sizeof(text),
		 "pid %u (%.*s) lives %" PRIu64 " s after its %s%.*s ended, with %" PRIu64 " MiB of memory",
		 p->upid.pid, NAME(tool_of(p)), less(t->now_ns, since_ns) / NS_PER_S, OF_TASK(p->task, "task ", "run"),
		 p->rss_bytes >> 20);
	snprintf(advice, sizeof(advice), "end it (`kill %u`), and let the task wait for its children", p->upid.pid);
	findings_open(t, &(struct finding_begin){
				 .kind = FINDING_LEFTOVER,
				 .subject = subject,
				 .process = p,
				 .run = p->run,
				 .task = p->task,
				 .started_ns = since_ns,
				 .time_ns = t->now_ns,
				 .value = (double)less(t->now_ns, since_ns) / 1e9,
				 .threshold = (double)t->findings->limits.leftover_process_ns / 1e9,
				 .evidence = text,
				 .advice = advice,
			 });
}

static void look_at_leftovers(struct track *t)
{
	const uint64_t limit_ns = t->findings->limits.leftover_process_ns;

	for (struct task *task = t->tasks.first; task; task = task->next) {
		if (!task->over_ns || less(t->now_ns, task->end_ns) < limit_ns)
			continue;
		for (struct proc *p = task->procs; p; p = p->task_next)
			left_over(t, p, task->end_ns);
	}
	for (struct run *run = t->runs.first; run; run = run->next) {
		if (!run->ended || !run->end_ns || less(t->now_ns, run->end_ns) < limit_ns)
			continue;
		for (struct proc *p = run->procs; p; p = p->run_next)
			if (!p->task)
				left_over(t, p, run->end_ns);
	}
}

/* ---- GPUs -------------------------------------------------------------------------- */

static void held_idle(struct track *t, struct proc *p, uint64_t idle_ns)
{
	char subject[FINDING_SUBJECT_SIZE], text[SENTENCE], advice[SENTENCE];

	subject_of_process(p, subject);
	p->flags |= PROC_FOUND;
	if (findings_again(t->findings, FINDING_GPU, subject))
		return;
	if (is_one_of(p, displays) || facet(t, p, COLUMN_ACCEPTS) > 0 || (!is_watched(p->run) && is_service(t, p)))
		return;
	snprintf(text, sizeof(text),
		 "pid %u (%.*s) has held a GPU for %" PRIu64 " s without a kernel of it running", p->upid.pid,
		 NAME(tool_of(p)), idle_ns / NS_PER_S);
	snprintf(advice, sizeof(advice),
		 "let it release the device, or end it (`kill %u`): another job can use the GPU then", p->upid.pid);
	findings_open(t, &(struct finding_begin){
				 .kind = FINDING_GPU,
				 .subject = subject,
				 .process = p,
				 .run = p->run,
				 .task = p->task,
				 .started_ns = p->gpu->since_ns,
				 .time_ns = t->now_ns,
				 .value = (double)idle_ns / 1e9,
				 .threshold = (double)t->findings->limits.gpu_held_idle_ns / 1e9,
				 .evidence = text,
				 .advice = advice,
			 });
}

static void look_at_gpus(struct track *t, uint64_t period_ns)
{
	if (t->findings->columns[COLUMN_GPU_HELD] == UINT32_MAX)
		return;
	for (struct proc *p = proctab_first(t->table); p; p = p->next) {
		struct gpu_use use;
		uint64_t idle_ns;

		if (!p->facets || !alive(p))
			continue;
		use = use_of(t, p);
		if (!p->gpu && (!use.held_ns || !(p->gpu = calloc(1, sizeof(*p->gpu)))))
			continue;
		idle_ns = gpu_idle_look(p->gpu, &use, period_ns, t->now_ns);
		if (idle_ns >= t->findings->limits.gpu_held_idle_ns)
			held_idle(t, p, idle_ns);
	}
}

/* ---- kills for memory -------------------------------------------------------------- */

void track_finding_oom(struct track *t, struct proc *p, uint64_t time_ns)
{
	const struct interned *cgroup = p->oom->cgroup;
	char subject[FINDING_SUBJECT_SIZE], text[SENTENCE], limit[64] = "";

	if (!t->findings || !t->findings->limits.oom_kill)
		return;
	subject_of_process(p, subject);
	p->flags |= PROC_FOUND;
	if (findings_again(t->findings, FINDING_OOM, subject))
		return;
	if (p->oom->limit_bytes)
		snprintf(limit, sizeof(limit), " of %" PRIu64 " MiB", p->oom->limit_bytes >> 20);
	snprintf(text, sizeof(text),
		 "the kernel killed pid %u (%.*s%s%.*s): %s%.200s has reached its limit%s, with %" PRIu64 " MiB",
		 p->upid.pid, NAME(tool_of(p)), OF_TASK(p->task, ", task ", ""),
		 cgroup ? "the memory of cgroup " : "the host's memory", cgroup ? cgroup->text : "", limit,
		 p->oom->usage_bytes >> 20);
	findings_open(t, &(struct finding_begin){
				 .kind = FINDING_OOM,
				 .subject = subject,
				 .process = p,
				 .run = p->run,
				 .task = p->task,
				 .cgroup = intern_str(cgroup),
				 .started_ns = time_ns,
				 .time_ns = time_ns,
				 .value = (double)p->oom->usage_bytes,
				 .threshold = (double)p->oom->limit_bytes,
				 .evidence = text,
				 .advice = "give it more memory, or let it use less: after a kill ask for 1.2 times "
					   "the limit, at least 100 MiB more; `skep tune` sizes it",
			 });
	findings_report(t, time_ns);
}

/* A victim that does not die holds the memory for which the kernel chose it. */
static void look_at_victims(struct track *t)
{
	for (struct finding *f = t->findings->open; f; f = f->next) {
		struct proc *p = f->kind == FINDING_OOM ? proctab_find(t->table, &f->upid) : NULL;

		if (!p || (p->flags & (PROC_EXITED | PROC_FINAL)) || p->missing_ns || !t->findings->limits.oom_kill)
			continue;
		p->flags |= PROC_FOUND;
		f->look = t->findings->look;
	}
}

/* ---- after a restart --------------------------------------------------------------- */

void track_finding_resume_task(struct track *t, struct task *task, uint64_t idle_ns, uint64_t now_ns)
{
	struct activity sum;

	t->now_ns = now_ns;
	if (!task)
		return;
	sum = activity_of_task(t, task);
	idle_resume(&task->watch.idle, &sum, idle_ns, now_ns);
}

void track_finding_resume_run(struct track *t, struct run *run, uint64_t idle_ns, uint64_t now_ns)
{
	struct activity sum;

	t->now_ns = now_ns;
	if (!run)
		return;
	sum = activity_of_run(t, run);
	idle_resume(&run->watch.idle, &sum, idle_ns, now_ns);
}

void track_finding_resume_container(struct track *t, const char *id, uint64_t idle_ns, uint64_t now_ns)
{
	struct container_watch *w = watch_of(t, text_str(id));

	t->now_ns = now_ns;
	if (!w)
		return;
	/* as look_at_containers() will add them up */
	for (struct run *run = t->runs.first; run; run = run->next)
		for (const struct proc *p = run->ended && is_watched(run) ? run->procs : NULL; p; p = p->run_next)
			if (alive(p) && same(cgroups_container_id(t->env.cgroups, p->cgroup_id, now_ns), w->id))
				add_live(t, p, &w->sum);
	idle_resume(&w->idle, &w->sum, idle_ns, now_ns);
}

void track_finding_resume_gpu(struct track *t, struct proc *p, uint64_t idle_ns, uint64_t now_ns)
{
	struct gpu_use use;

	if (!p || p->gpu || !(p->gpu = calloc(1, sizeof(*p->gpu))))
		return;
	use = use_of(t, p);
	gpu_idle_resume(p->gpu, &use, idle_ns, now_ns);
}

/* ---- looks ------------------------------------------------------------------------- */

int track_findings(struct track *t, const struct config_findings *limits)
{
	if (!t->findings)
		t->findings = calloc(1, sizeof(*t->findings));
	if (!t->findings)
		return -ENOMEM;
	t->findings->limits = *limits;
	find_columns(t);
	return 0;
}

uint64_t track_findings_period(const struct track *t)
{
	const struct config_findings *l = &t->findings->limits;
	const uint64_t limits[] = { l->stall_ns, l->leftover_process_ns, l->orphan_container_ns, l->gpu_held_idle_ns };
	uint64_t least_ns = UINT64_MAX;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (limits[i] && limits[i] < least_ns)
			least_ns = limits[i];
	return least_ns == UINT64_MAX ? 60 * NS_PER_S : least_ns / LOOKS;
}

void track_findings_look(struct track *t, uint64_t interval_ns, uint64_t now_ns)
{
	struct findings *fs = t->findings;
	uint64_t period_ns;

	/* Without new readings everything would look idle; a gap of looks is no idle time. */
	if (!fs || t->saved || t->swept_ns == 0 || t->swept_ns == fs->swept_ns)
		return;
	period_ns = track_findings_period(t);
	/* Half an interval early is nearer than half an interval late. */
	if (fs->looked_ns && now_ns + interval_ns / 2 < fs->looked_ns + period_ns)
		return;
	period_ns = period_ns > interval_ns ? period_ns : interval_ns;
	t->now_ns = now_ns;
	fs->swept_ns = t->swept_ns;
	fs->looked_ns = now_ns;
	fs->look++;
	find_columns(t);
	if (fs->limits.stall_ns)
		look_at_stalls(t, period_ns);
	if (fs->limits.orphan_container_ns)
		look_at_containers(t, period_ns);
	if (fs->limits.leftover_process_ns)
		look_at_leftovers(t);
	if (fs->limits.gpu_held_idle_ns)
		look_at_gpus(t, period_ns);
	look_at_victims(t);
	findings_close_rest(t, now_ns);
	findings_report(t, now_ns);
}

void track_finding_process_over(struct track *t, struct proc *p)
{
	if (t->findings && (p->flags & PROC_FOUND))
		findings_process_over(t, &p->upid, p->end_ns ? p->end_ns : t->now_ns);
	p->flags &= ~PROC_FOUND;
	free(p->gpu);
	p->gpu = NULL;
}

void track_finding_task_over(struct track *t, const struct task *task)
{
	if (t->findings && t->findings->n > 0)
		findings_task_over(t, task, task->end_ns);
}

const struct findings *track_findings_open(const struct track *t)
{
	return t->findings;
}
