/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/collector_detail.c - details: measurements that an operator attaches to the host, a run, a cgroup or a
 * process, and that end by themselves.
 *
 * BPF code identifies a run by a number (1 to 63) in the verdict map's byte of each of its processes.  A run has a
 * number only while a detail is attached to it.  Children inherit the byte in the fork hook.  A process that joins the
 * run otherwise gets it at the next sample.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/collect/collector_priv.h"
#include "core/base/log.h"

#define GROUP_FIRST 1u
#define GROUP_LAST SKEP_VERDICT_GROUPS

struct attachment {
	struct attachment *next;
	struct skep_instance *inst;
	const char *detail;      /* the plugin's */
	char *words;             /* the scope in words */
	struct run *run;         /* a reference; SKEP_SCOPE_GROUP */
	struct skep_detail_scope scope;
	uint64_t until_ns;       /* 0: no end */
	char *over;              /* why it has ended by itself; NULL: it has not */
	bool attached;           /* attach() has returned */
	struct detail_spec spec; /* callbacks */
};

__attribute__((format(printf, 3, 4))) static int refuse(char **ret_why, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (vasprintf(ret_why, fmt, args) < 0)
		*ret_why = NULL;
	va_end(args);
	return err;
}

/* ---- which detail, of what ------------------------------------------------------- */

static struct skep_instance *find_detail(const struct collector *c, const char *name, unsigned *ret_index)
{
	const char *colon = strchr(name, ':');
	const char *bare = colon ? colon + 1 : name;

	for (struct skep_instance *inst = c->instances; inst; inst = inst->next) {
		const struct skep_detail *d;

		if (colon && (strlen(inst->name) != (size_t)(colon - name) ||
			      strncmp(inst->name, name, (size_t)(colon - name)) != 0))
			continue;
		for (unsigned i = 0; (d = instance_detail(inst, i)); i++)
			if (strcmp(d->name, bare) == 0) {
				*ret_index = i;
				return inst;
			}
	}
	return NULL;
}

/* "runqlat, oncpu"; the caller frees it.  NULL: none, or no memory. */
static char *all_names(const struct collector *c)
{
	char *names = NULL;

	for (const struct skep_instance *inst = c->instances; inst; inst = inst->next) {
		const struct skep_detail *d;

		for (unsigned i = 0; (d = instance_detail(inst, i)); i++) {
			char *more;

			if (asprintf(&more, "%s%s%s", names ? names : "", names ? ", " : "", d->name) < 0)
				more = NULL;
			free(names);
			names = more;
			if (!names)
				return NULL;
		}
	}
	return names;
}

static struct run *find_run(const struct collector *c, const char *name)
{
	struct run *run = run_find(track_runs(c->track), name), *found = NULL;

	if (run && !run->ended)
		return run;
	for (run = track_runs(c->track)->first; run; run = run->next)
		if (!run->ended && strcmp(run->name, name) == 0)
			found = run;
	return found;
}

static uint8_t group_take(struct collector *c)
{
	for (unsigned group = GROUP_FIRST; group <= GROUP_LAST; group++)
		if (!(c->groups & 1ull << group)) {
			c->groups |= 1ull << group;
			/*
			 * A fork that ran beside the last clearing may have copied the byte to a pid that it had
			 * passed.
			 */
			verdict_clear_group(&c->verdict, (uint8_t)group);
			return (uint8_t)group;
		}
	return 0;
}

static void mark_members(struct collector *c, const struct run *run)
{
	for (const struct proc *p = run->procs; p; p = p->run_next)
		if (!(p->flags & (PROC_EXITED | PROC_FINAL | PROC_MUTED)))
			verdict_set_group(&c->verdict, (pid_t)p->upid.pid, run->group);
	if (run->root_pid > 0 && !run->ended && run->root.pid == 0) /* no record of it yet */
		verdict_set_group(&c->verdict, run->root_pid, run->group);
}

void collector_flush_lifecycle(struct collector *c)
{
	for (struct skep_instance *inst = c->instances; inst; inst = inst->next)
		if (((struct instance_data *)inst->extra)->lifecycle && inst->state == INSTANCE_RUNNING)
			instance_flush(inst);
}

static int scope_run(struct collector *c, struct attachment *a, const char *name, char **ret_why)
{
	struct run *run = name ? find_run(c, name) : NULL;

	if (!run)
		return refuse(ret_why, -ENOENT, "no live run \"%s\"; `skep status` lists the live runs",
			      name ? name : "");
	if (!c->verdict.bytes)
		return refuse(ret_why, -ENOTSUP, "no detail can be limited to a run without the verdict map: %s",
			      strerror(-c->verdict.error));
	if (!run->group) {
		run->group = group_take(c);
		if (!run->group)
			return refuse(ret_why, -EBUSY, "details are attached to %u runs, the limit; detach one",
				      GROUP_LAST);
	}
	run->group_users++;
	a->run = run_ref(run);
	a->scope.value = run->group;
	mark_members(c, run);
	/* The rings may hold forks of unmarked parents: drains them now, and the second pass marks the children. */
	collector_flush_lifecycle(c);
	mark_members(c, run);
	return asprintf(&a->words, "run %s", run->id) < 0 ? -ENOMEM : 0;
}

static void leave_run(struct collector *c, struct attachment *a)
{
	struct run *run = a->run;

	if (!run)
		return;
	a->run = NULL;
	if (--run->group_users == 0) {
		/*
		 * Clears all pids, not only the members: the kernel has marked children that no record has reported
		 * yet.
		 */
		verdict_clear_group(&c->verdict, run->group);
		c->groups &= ~(1ull << run->group);
		run->group = 0;
	}
	run_unref(run);
}

static int scope_cgroup(struct collector *c, struct attachment *a, const char *cgroup, char **ret_why)
{
	char *end = NULL;
	uint64_t id = cgroup ? strtoull(cgroup, &end, 10) : 0;

	if (cgroup && *cgroup == '/')
		id = cgroups_id(c->cgroups, cgroup, clock_boot_ns());
	else if (!cgroup || end == cgroup || *end)
		id = 0;
	if (id == 0)
		return refuse(
			ret_why, -ENOENT,
			"no cgroup \"%s\"; give its path below the hierarchy's root, as in /proc/PID/cgroup, or its id",
			cgroup ? cgroup : "");
	a->scope.value = id;
	return asprintf(&a->words, "cgroup %s", cgroup) < 0 ? -ENOMEM : 0;
}

static int scope_pid(struct collector *c, struct attachment *a, uint32_t pid, char **ret_why)
{
	/* "CMD & skep attach X --pid $!": the fork's record may still be in the rings */
	if (!proctab_holder(track_table(c->track), pid))
		collector_flush_lifecycle(c);
	if (!proctab_holder(track_table(c->track), pid))
		return refuse(ret_why, -ESRCH, "no process %u, or a rule excludes it", pid);
	a->scope.value = pid;
	return asprintf(&a->words, "pid %u", pid) < 0 ? -ENOMEM : 0;
}

static int set_scope(struct collector *c, struct attachment *a, const struct detail_spec *spec, char **ret_why)
{
	switch (spec->scope) {
	case SKEP_SCOPE_HOST:
		a->words = strdup("host");
		return a->words ? 0 : -ENOMEM;
	case SKEP_SCOPE_GROUP:
		return scope_run(c, a, spec->run, ret_why);
	case SKEP_SCOPE_CGROUP:
		return scope_cgroup(c, a, spec->cgroup, ret_why);
	case SKEP_SCOPE_PID:
		return scope_pid(c, a, spec->pid, ret_why);
	}
	return -EINVAL;
}

/* ---- attached and detached ------------------------------------------------------- */

static void attachment_free(struct collector *c, struct attachment *a)
{
	leave_run(c, a);
	free(a->words);
	free(a->over);
	free(a);
}

static int refuse_unknown(const struct collector *c, const char *name, char **ret_why)
{
	/* a plugin with nothing but details: an operator may have left it out */
	static const char *const of_files[] = { "filelat", "opens" };
	const char *colon = strchr(name, ':'), *bare = colon ? colon + 1 : name;
	unsigned index;
	char *names;
	int err;

	for (size_t i = 0; i < sizeof(of_files) / sizeof(of_files[0]); i++)
		if (strcmp(bare, of_files[i]) == 0 && !find_detail(c, bare, &index))
			return refuse(
				ret_why, -ENOENT,
				"detail %s: plugin files is not loaded; add { \"plugin\": \"files\" } to probes in skepd.conf",
				bare);
	names = all_names(c);
	err = refuse(ret_why, -ENOENT, "no probe has a detail \"%s\"; %s%s", name,
		     names ? "there are " : "no probe has any", names ? names : "");
	free(names);
	return err;
}

int collector_attach(struct collector *c, const struct detail_spec *spec, uint64_t *ret_id, char **ret_why)
{
	static const char *const scopes[] = { "the host", "a run", "a cgroup", "a process" };
	const struct skep_detail *detail;
	struct skep_instance *inst;
	struct attachment *a = NULL;
	unsigned index = 0;
	int err;

	*ret_why = NULL;
	if (!c->track || (unsigned)spec->scope > SKEP_SCOPE_PID)
		return -EINVAL;
	inst = spec->detail ? find_detail(c, spec->detail, &index) : NULL;
	if (!inst)
		return refuse_unknown(c, spec->detail ? spec->detail : "", ret_why);
	detail = instance_detail(inst, index);
	if (inst->state != INSTANCE_RUNNING)
		return refuse(ret_why, -ESHUTDOWN, "%s does not run%s%s", inst->name, inst->reason ? ": " : "",
			      inst->reason ? inst->reason : "");
	if (!(detail->scopes & 1u << spec->scope))
		return refuse(ret_why, -ENOTSUP, "%s cannot be limited to %s", detail->name, scopes[spec->scope]);
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->inst = inst;
	a->detail = detail->name;
	a->spec = *spec;
	a->scope = (struct skep_detail_scope) { .size = sizeof(a->scope),
						.kind = spec->scope,
						.id = ++c->last_attachment };
	err = set_scope(c, a, spec, ret_why);
	if (err < 0)
		goto out;
	/* In the list before the call, so that records which attach() emits at once find the detail. */
	a->next = c->attachments;
	c->attachments = a;
	err = instance_attach(inst, index, &a->scope, ret_why);
	if (err < 0) {
		c->attachments = a->next;
		goto out;
	}
	a->attached = true;
	((struct instance_data *)inst->extra)->attachments++;
	a->until_ns = spec->for_ns ? clock_boot_ns() + spec->for_ns : 0;
	*ret_id = a->scope.id;
	log_at(SKEP_LOG_NOTICE, inst->name, "%s attached to %s%s", detail->name, a->words,
	       spec->for_ns ? "" : ", without a time limit");
	return 0;
out:
	attachment_free(c, a);
	return err;
}

static void end(struct collector *c, struct attachment *a, const char *why)
{
	struct attachment **at = &c->attachments;

	/* Still in the list, because detach() emits the last records. */
	instance_detach(a->inst, a->scope.id);
	((struct instance_data *)a->inst->extra)->attachments--;
	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	log_at(SKEP_LOG_NOTICE, a->inst->name, "%s detached from %s: %s", a->detail, a->words, why);
	if (a->spec.on_over)
		a->spec.on_over(a->spec.arg, a->scope.id, why);
	attachment_free(c, a);
}

static struct attachment *find(const struct collector *c, uint64_t id)
{
	struct attachment *a = c->attachments;

	while (a && a->scope.id != id)
		a = a->next;
	return a;
}

int collector_detach(struct collector *c, uint64_t id)
{
	struct attachment *a = find(c, id);

	if (!a || !a->attached)
		return -ENOENT;
	end(c, a, "detached");
	return 0;
}

/* Runs inside a callback of the plugin, so only notes the reason; the next tick ends the detail. */
void collector_detail_over(struct collector *c, uint64_t id, const char *why)
{
	struct attachment *a = find(c, id);

	if (a && !a->over)
		a->over = strdup(why ? why : "the probe ended it");
}

void collector_details_tick(struct collector *c, uint64_t now_ns)
{
	struct attachment *a = c->attachments;

	while (a) {
		const char *why = a->inst->state != INSTANCE_RUNNING        ? "its probe has stopped"
				  : a->over                                 ? a->over
				  : a->run && a->run->ended                 ? "its run has ended"
				  : a->until_ns && now_ns >= a->until_ns    ? "its time is over"
									    : NULL;

		if (!why) {
			a = a->next;
			continue;
		}
		end(c, a, why);
		a = c->attachments; /* on_over may have begun or ended others */
	}
}

void collector_details_members(struct collector *c)
{
	for (const struct run *run = track_runs(c->track)->first; run; run = run->next)
		if (run->group)
			mark_members(c, run);
}

void collector_details_end(struct collector *c, const struct run *run, const char *why)
{
	struct attachment *a = c->attachments;

	while (a) {
		if (run && a->run != run) {
			a = a->next;
			continue;
		}
		end(c, a, why);
		a = c->attachments;
	}
}

void collector_details_end_of(struct collector *c, const struct skep_instance *inst, const char *why)
{
	struct attachment *a = c->attachments;

	while (a) {
		if (a->inst != inst) {
			a = a->next;
			continue;
		}
		end(c, a, why);
		a = c->attachments;
	}
}

/* ---- records ----------------------------------------------------------------------- */

void collector_detail_record(struct collector *c, struct skep_instance *inst, const struct skep_stream *stream,
			     int out_stream, const struct skep_upid *who, uint64_t time_ns, const void *rec)
{
	struct skep_context context = { .size = sizeof(context) };
	struct skep_record record = {
		.size = sizeof(record), .stream = stream, .time_ns = time_ns, .data = rec, .context = &context,
	};
	const struct attachment *a;
	struct skep_upid holder;
	uint64_t id;

	memcpy(&id, rec, sizeof(id));
	a = find(c, id);
	if (!a || a->inst != inst) {
		log_at(SKEP_LOG_WARNING, inst->name,
		       "emitted a record of detail %llu, which is not attached: a bug in the plugin",
		       (unsigned long long)id);
		return;
	}
	if (!who && a->scope.kind == SKEP_SCOPE_PID) {
		const struct proc *p = proctab_holder(track_table(c->track), (uint32_t)a->scope.value);

		if (p) {
			holder = p->upid;
			who = &holder;
		}
	}
	if (who)
		track_context(c->track, who, &context);
	else if (a->scope.kind == SKEP_SCOPE_CGROUP)
		track_cgroup_context(c->track, a->scope.value, &context);
	else if (a->run)
		run_context(a->run, &context);
	if (who)
		record.upid = *who;
	delivery_emit(c->delivery, out_stream, who, time_ns, rec, &context);
	if (a->spec.on_record)
		a->spec.on_record(a->spec.arg, id, &record);
}

/* ---- what there is ------------------------------------------------------------------- */

void collector_attached(const struct collector *c,
			void (*cb)(void *arg, uint64_t id, const char *detail, const char *instance, const char *scope,
				   uint64_t left_ns),
			void *arg)
{
	uint64_t now_ns = clock_boot_ns();

	for (const struct attachment *a = c->attachments; a; a = a->next)
		cb(arg, a->scope.id, a->detail, a->inst->name, a->words,
		   a->until_ns > now_ns ? a->until_ns - now_ns
		   : a->until_ns        ? 1
					: 0);
}

void collector_runs_named(const struct collector *c, uint32_t owner, struct collector_named *ret)
{
	*ret = (struct collector_named){ 0 };
	for (const struct run *run = c->track ? track_runs(c->track)->first : NULL; run; run = run->next) {
		if (run->found || run->ended)
			continue;
		ret->all++;
		ret->own += run->owner == owner;
		ret->strangers += run->stranger;
	}
}

void collector_runs(const struct collector *c, void (*cb)(void *arg, const struct run *), void *arg)
{
	if (!c->track)
		return;
	for (const struct run *run = track_runs(c->track)->first; run; run = run->next)
		if (!run->ended)
			cb(arg, run);
}
