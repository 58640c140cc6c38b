/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/track_fixture.c - see the header.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/delivery/batch.h"
#include "core/delivery/delivery.h"
#include "core/process/saved.h"
#include "core/process/track_priv.h"
#include "tests/unit/track_fixture.h"

/* cmocka's assertions need its setjmp. A benchmark uses the fixture too, so the fixture has its own assertion. */
#define MUST(x)                                                                                  \
	do {                                                                                     \
		if (!(x)) {                                                                      \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #x);          \
			abort();                                                                 \
		}                                                                                \
	} while (0)

static const struct skep_field facet_fields[] = {
	SKEP_FIELD(struct fixture_facet, widgets, "widgets", SKEP_T_U64, SKEP_S_DELTA, "1", "things made"),
	SKEP_FIELD(struct fixture_facet, heat, "heat", SKEP_T_F64, SKEP_S_GAUGE, "Cel", "largest temperature"),
};
const struct skep_stream fixture_facet = {
	.size = sizeof(struct skep_stream),
	.field_size = sizeof(struct skep_field),
	.name = "work",
	.help = "",
	.role = SKEP_ROLE_FACET,
	.record_size = sizeof(struct fixture_facet),
	.n_fields = 2,
	.fields = facet_fields,
};

static const struct skep_field gpu_fields[] = {
	SKEP_FIELD(struct fixture_gpu, busy_ns, "busy_ns", SKEP_T_U64, SKEP_S_DELTA, "ns", "kernels ran"),
	SKEP_FIELD(struct fixture_gpu, held_ns, "held_ns", SKEP_T_U64, SKEP_S_DELTA, "ns", "a context"),
	SKEP_FIELD(struct fixture_gpu, known_ns, "known_ns", SKEP_T_U64, SKEP_S_DELTA, "ns", "use known"),
};
const struct skep_stream fixture_gpu = {
	.size = sizeof(struct skep_stream),
	.field_size = sizeof(struct skep_field),
	.name = "gpu",
	.help = "",
	.role = SKEP_ROLE_FACET,
	.flags = SKEP_STREAM_SAMPLE,
	.record_size = sizeof(struct fixture_gpu),
	.n_fields = 3,
	.fields = gpu_fields,
};

static void copy(char *to, size_t room, struct skep_str s)
{
	snprintf(to, room, "%.*s", (int)s.len, s.len ? s.ptr : "");
}

static void see_process(struct fixture *f, const struct skep_record *rec)
{
	const struct record_process *r = rec->data;
	struct seen_process *p;

	if (f->n_processes == f->room) {
		f->room = f->room ? f->room * 2 : 64;
		f->processes = realloc(f->processes, f->room * sizeof(*f->processes));
		MUST(f->processes);
	}
	p = &f->processes[f->n_processes++];
	memset(p, 0, sizeof(*p));
	p->r = *r;
	copy(p->state, sizeof(p->state), r->state);
	copy(p->tool, sizeof(p->tool), r->tool);
	copy(p->run, sizeof(p->run), r->run);
	copy(p->comm, sizeof(p->comm), r->comm);
	copy(p->step, sizeof(p->step), r->step);
	copy(p->scopes, sizeof(p->scopes), r->scopes);
	copy(p->exe, sizeof(p->exe), r->exe);
	copy(p->cwd, sizeof(p->cwd), r->cwd);
	copy(p->cgroup, sizeof(p->cgroup), r->cgroup);
	copy(p->oom_cgroup, sizeof(p->oom_cgroup), r->oom_cgroup);
	copy(p->container, sizeof(p->container), r->container);
	copy(p->argv0, sizeof(p->argv0), r->argv);
	copy(p->task, sizeof(p->task), r->task);
	copy(p->task_id, sizeof(p->task_id), r->task_id);
	copy(p->traceparent, sizeof(p->traceparent), r->traceparent);
	copy(p->environ, sizeof(p->environ), r->environ);
	memcpy(&p->widgets, (const char *)rec->data + sizeof(struct record_process), 8);
	memcpy(&p->heat, (const char *)rec->data + sizeof(struct record_process) + 8, 8);
	MUST(rec->upid.pid == r->upid.pid && rec->upid.start_ns == r->upid.start_ns);
	MUST(rec->context && rec->context->run.len == r->run.len);
}

static void see_sample(struct fixture *f, const struct record_tool_sample *r)
{
	struct seen_sample *s;

	if (f->n_samples == f->samples_room) {
		f->samples_room = f->samples_room ? f->samples_room * 2 : 64;
		f->samples = realloc(f->samples, f->samples_room * sizeof(*f->samples));
		MUST(f->samples);
	}
	s = &f->samples[f->n_samples++];
	s->r = *r;
	copy(s->run, sizeof(s->run), r->run);
	copy(s->tool, sizeof(s->tool), r->tool);
}

static size_t part_hash(const struct skep_upid *upid)
{
	return (size_t)(upid->start_ns * 31 + upid->pid) % 1024;
}

const struct seen_part *fixture_part(const struct fixture *f, const struct skep_upid *upid, uint64_t image)
{
	for (size_t i = f->parts_by_hash[part_hash(upid)]; i > 0; i = f->parts[i - 1].next) {
		const struct seen_part *p = &f->parts[i - 1];

		if (p->upid.pid == upid->pid && p->upid.start_ns == upid->start_ns && p->image == image)
			return p;
	}
	return NULL;
}

static void see_part(struct fixture *f, const struct skep_record *rec)
{
	const struct record_process_sample *r = rec->data;
	struct seen_part *p = (struct seen_part *)fixture_part(f, &r->upid, r->image);
	uint64_t widgets;

	if (!p) {
		if (f->n_parts == f->parts_room) {
			f->parts_room = f->parts_room ? f->parts_room * 2 : 64;
			f->parts = realloc(f->parts, f->parts_room * sizeof(*f->parts));
			MUST(f->parts);
		}
		p = &f->parts[f->n_parts++];
		*p = (struct seen_part){ .upid = r->upid, .image = r->image };
		p->until_ns = r->start_ns - r->quiet_ns;
		p->next = f->parts_by_hash[part_hash(&r->upid)];
		f->parts_by_hash[part_hash(&r->upid)] = f->n_parts;
	}
	MUST(p->last == 0); /* nothing after the last one */
	MUST(r->start_ns - r->quiet_ns == p->until_ns); /* intervals join */
	p->until_ns = r->start_ns + r->interval_ns;
	p->interval_ns = r->interval_ns;
	p->quiet_ns = r->quiet_ns;
	p->n++;
	p->last += r->last;
	p->sum.cpu_ns += r->cpu_ns;
	p->sum.run_delay_ns += r->run_delay_ns;
	p->sum.run_count += r->run_count;
	p->sum.voluntary_switches += r->voluntary_switches;
	p->sum.involuntary_switches += r->involuntary_switches;
	p->sum.minor_faults += r->minor_faults;
	p->sum.major_faults += r->major_faults;
	p->sum.rchar_bytes += r->rchar_bytes;
	p->sum.wchar_bytes += r->wchar_bytes;
	p->sum.read_calls += r->read_calls;
	p->sum.write_calls += r->write_calls;
	p->sum.read_bytes += r->read_bytes;
	p->sum.write_bytes += r->write_bytes;
	p->sum.cancelled_write_bytes += r->cancelled_write_bytes;
	memcpy(&widgets, (const char *)rec->data + sizeof(*r), 8);
	p->widgets += widgets;
}

static void see_task(struct fixture *f, const struct record_task *r)
{
	size_t n = f->n_tasks++;
	struct seen_task *task;

	if (n >= sizeof(f->tasks) / sizeof(f->tasks[0]))
		return;
	task = &f->tasks[n];
	task->r = *r;
	copy(task->task, sizeof(task->task), r->task);
	copy(task->id, sizeof(task->id), r->task_id);
	copy(task->run, sizeof(task->run), r->run);
	copy(task->state, sizeof(task->state), r->state);
	copy(task->traceparent, sizeof(task->traceparent), r->traceparent);
	copy(task->engine, sizeof(task->engine), r->engine);
	copy(task->job, sizeof(task->job), r->job);
	copy(task->sample, sizeof(task->sample), r->sample);
	copy(task->source, sizeof(task->source), r->name_source);
	copy(task->requested_source, sizeof(task->requested_source), r->requested_source);
	copy(task->scopes, sizeof(task->scopes), r->scopes);
	copy(task->granted_source, sizeof(task->granted_source), r->granted_source);
	copy(task->container, sizeof(task->container), r->container);
	copy(task->unit, sizeof(task->unit), r->unit);
}

static void see_finding(struct fixture *f, const struct skep_record *rec)
{
	const struct record_finding *r = rec->data;
	size_t n = f->n_findings++;
	struct seen_finding *s;

	if (n >= sizeof(f->findings) / sizeof(f->findings[0]))
		return;
	s = &f->findings[n];
	s->r = *r;
	s->time_ns = rec->time_ns;
	copy(s->id, sizeof(s->id), r->id);
	copy(s->kind, sizeof(s->kind), r->kind);
	copy(s->state, sizeof(s->state), r->state);
	copy(s->severity, sizeof(s->severity), r->severity);
	copy(s->run, sizeof(s->run), r->run);
	copy(s->task, sizeof(s->task), r->task);
	copy(s->tool, sizeof(s->tool), r->tool);
	copy(s->container, sizeof(s->container), r->container);
	copy(s->cgroup, sizeof(s->cgroup), r->cgroup);
	copy(s->unit, sizeof(s->unit), r->unit);
	copy(s->evidence, sizeof(s->evidence), r->evidence);
	copy(s->advice, sizeof(s->advice), r->advice);
	MUST(rec->context && rec->context->run.len == r->run.len && rec->upid.pid == r->upid.pid);
}

static void see_open(struct fixture *f, const struct record_findings *r)
{
	char kind[24];

	copy(kind, sizeof(kind), r->kind);
	MUST(finding_kind_of(kind) >= 0);
	f->open[finding_kind_of(kind)] = r->open;
}

static int submit(void *arg, const struct skep_batch *b)
{
	struct skep_batch_answer answer = { .size = sizeof(answer), .result = SKEP_BATCH_ACK };
	struct fixture *f = arg;

	f->n_records += b->n;
	for (uint32_t i = 0; i < b->n && !f->discard; i++) {
		const struct skep_record *rec = b->records[i];

		if (strcmp(rec->stream->name, "process.exit") == 0) {
			see_process(f, rec);
		} else if (strcmp(rec->stream->name, "process.sample") == 0) {
			see_part(f, rec);
		} else if (strcmp(rec->stream->name, "task") == 0) {
			see_task(f, rec->data);
		} else if (strcmp(rec->stream->name, "finding") == 0) {
			see_finding(f, rec);
		} else if (strcmp(rec->stream->name, "findings") == 0) {
			see_open(f, rec->data);
		} else {
			see_sample(f, rec->data);
		}
	}
	MUST(delivery_done(f->out, f->sink, b, &answer, f->now_ns) == 0);
	return 0;
}

static void wake(void *arg)
{
	(void)arg;
}

static struct seen_run *run_slot(struct fixture *f, const struct run *run)
{
	for (size_t i = 0; i < f->n_runs; i++)
		if (strcmp(f->runs[i].id, run->id) == 0)
			return &f->runs[i];
	MUST(f->n_runs < sizeof(f->runs) / sizeof(f->runs[0]));
	return &f->runs[f->n_runs++];
}

/* Each record of a run replaces the one before. */
static struct seen_run *note_run(struct fixture *f, const struct run *run)
{
	struct seen_run *r = run_slot(f, run);

	r->records++;
	snprintf(r->id, sizeof(r->id), "%s", run->id);
	snprintf(r->name, sizeof(r->name), "%s", run->name);
	snprintf(r->engine, sizeof(r->engine), "%s", run->engine);
	snprintf(r->pipeline, sizeof(r->pipeline), "%s", run->pipeline);
	snprintf(r->parent, sizeof(r->parent), "%s", run->parent);
	snprintf(r->job, sizeof(r->job), "%s", run->job);
	snprintf(r->account, sizeof(r->account), "%s", run->account);
	r->seen = run->seen;
	return r;
}

static void run_found(void *arg, struct run *run)
{
	const struct fixture *f = arg;

	if (!f->discard)
		note_run(arg, run);
}

static void run_over(void *arg, struct run *run)
{
	const struct fixture *f = arg;
	struct seen_run *r;

	run->ended = true;
	if (f->discard)
		return;
	r = note_run(arg, run);
	r->over = true;
	r->status = run->status;
	r->end_ns = run->end_ns;
}

const char *fixture_mountinfo = "/nonexistent";

void fixture_open(struct fixture *f, bool runs_only, uint64_t start_ns)
{
	struct track_env env = {
		.runs_only = runs_only, .start_ns = start_ns,
		.run_found = run_found, .run_changed = run_found, .run_over = run_over, .arg = f
	};
	const struct skep_stream *process, *part;
	struct diag diag;

	memset(f, 0, sizeof(*f));
	diag_init(&diag);
	f->start_ns = f->now_ns = start_ns;
	f->tools = tools_new(NULL, &diag);
	f->recognizers = recognizers_new(NULL, &diag);
	f->facets = facets_new();
	f->cgroups = cgroups_new(fixture_mountinfo);
	f->out = delivery_new(&(struct batch_origin){ "boot", "node1", "6.1.0" }, SECOND, 64u << 20, wake, f);
	MUST(f->tools && f->recognizers && f->facets && f->cgroups && f->out);
	MUST(delivery_sink_add(f->out, "seen", 4, submit, f, &f->sink) == 0);
	MUST(facets_add(f->facets, &fixture_facet) == 0);
	MUST(facets_add(f->facets, &fixture_gpu) == 0);
	MUST(facets_build(f->facets, FACETS_OF_IMAGE, &record_stream_process, &process) == 0);
	MUST(facets_build(f->facets, FACETS_OF_SAMPLE, &record_stream_process_sample, &part) == 0);
	env.process_stream = delivery_stream_add(f->out, process);
	env.sample_stream = delivery_stream_add(f->out, part);
	env.task_stream = delivery_stream_add(f->out, &record_stream_task);
	env.finding_stream = delivery_stream_add(f->out, &record_stream_finding);
	env.findings_stream = delivery_stream_add(f->out, &record_stream_findings);
	env.host = "node1";
	env.boot_id = "boot";
	env.sample_size = part->record_size;
	f->sample_stream = delivery_stream_add(f->out, &record_stream_tool_sample);
	MUST(env.process_stream >= 0 && f->sample_stream >= 0);
	env.process_size = process->record_size;
	env.tools = f->tools;
	env.recognizers = f->recognizers;
	env.facets = f->facets;
	env.cgroups = f->cgroups;
	env.emit = delivery_emit;
	env.out = f->out;
	MUST(track_new(&env, &f->track) == 0);
	diag_clear(&diag);
}

void fixture_close(struct fixture *f)
{
	track_free(f->track);
	delivery_free(f->out);
	facets_free(f->facets);
	cgroups_free(f->cgroups);
	tools_free(f->tools);
	recognizers_unref(f->recognizers);
	free(f->processes);
	free(f->samples);
	free(f->parts);
}

void fixture_settle(struct fixture *f)
{
	struct delivery_count counts[8];
	size_t n;

	delivery_flush(f->out);
	delivery_tick(f->out, f->now_ns);
	n = delivery_counts(f->out, counts, 8);
	for (size_t i = 0; i < n; i++) {
		uint64_t lost = 0;

		for (int where = 0; where < DELIVERY_LOSSES; where++)
			lost += counts[i].lost[where];
		MUST(counts[i].pending == 0);
		MUST(counts[i].seen == counts[i].delivered + counts[i].filtered + lost + counts[i].pending);
	}
}

static void cell_out(const struct cell *cell, void *arg)
{
	struct fixture *f = arg;
	struct record_tool_sample rec = {
		.run = str(cell->run ? cell->run->id : ""),
		.tool = intern_str(cell->tool),
		.cpu_ns = cell->cpu_ns,
		.run_delay_ns = cell->run_delay_ns,
		.read_bytes = cell->read_bytes,
		.write_bytes = cell->write_bytes,
		.rss_bytes = cell->rss_bytes,
		.processes = cell->alive,
		.started = cell->started,
	};

	delivery_emit(f->out, f->sample_stream, NULL, f->now_ns, &rec, NULL);
}

void fixture_sample(struct fixture *f)
{
	sampler_take(f->track->sampler, true, NULL, cell_out, f);
	runs_reap(&f->track->runs);
	fixture_settle(f);
}

size_t fixture_images(const struct fixture *f, uint32_t pid)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n_processes; i++)
		n += f->processes[i].r.upid.pid == pid;
	return n;
}

const struct seen_process *fixture_image(struct fixture *f, uint32_t pid, uint64_t image)
{
	const struct seen_process *found = NULL;

	fixture_settle(f);
	for (size_t i = 0; i < f->n_processes; i++)
		if (f->processes[i].r.upid.pid == pid && f->processes[i].r.image == image) {
			if (found)
				fprintf(stderr, "pid %u image %llu came twice\n", pid, (unsigned long long)image);
			MUST(!found);
			found = &f->processes[i];
		}
	if (!found)
		fprintf(stderr, "pid %u image %llu did not come\n", pid, (unsigned long long)image);
	MUST(found);
	return found;
}

struct skep_str str(const char *text)
{
	return (struct skep_str){ text, (uint32_t)strlen(text), (uint32_t)strlen(text) };
}

void tell(struct fixture *f, enum skep_role role, uint64_t t, uint32_t pid, uint64_t start, const void *rec)
{
	struct skep_upid who = { .pid = pid, .start_ns = start };

	if (t > f->now_ns)
		f->now_ns = t;
	track_record(f->track, role, &who, t, rec, f->now_ns);
}

void tell_fork(struct fixture *f, uint64_t t, uint32_t pid, uint64_t start, uint32_t ppid, uint64_t pstart)
{
	struct skep_process_fork rec = {
		.parent = { .pid = ppid, .start_ns = pstart }, .uid = 1000, .gid = 100, .payer = 1000,
		.comm = str("forked")
	};

	tell(f, SKEP_ROLE_PROC_FORK, t, pid, start, &rec);
}

void tell_exec(struct fixture *f, uint64_t t, uint32_t pid, uint64_t start, const char *exe, uint64_t cpu_ns,
	       uint64_t maxrss)
{
	struct skep_process_exec rec = {
		.counters = { .cpu_ns = cpu_ns, .utime_ns = cpu_ns / 4, .stime_ns = cpu_ns / 4 },
		.maxrss_bytes = maxrss,
		.uid = 1000,
		.gid = 100,
		.payer = 1000,
		.comm = str("execed"),
		.exe = str(exe),
		.filename = str(exe),
		.argv = { exe, (uint32_t)strlen(exe) + 1, (uint32_t)strlen(exe) + 1 },
		.cwd = str("/work dir"),
	};

	tell(f, SKEP_ROLE_PROC_EXEC, t, pid, start, &rec);
}

void tell_exit(struct fixture *f, uint64_t t, uint32_t pid, uint64_t start, uint32_t status)
{
	struct skep_process_exit rec = { .status = status, .threads_peak = 1 };

	tell(f, SKEP_ROLE_PROC_EXIT, t, pid, start, &rec);
}

void tell_final(struct fixture *f, uint64_t t, uint32_t pid, uint64_t start, uint32_t status, uint64_t cpu_ns,
		uint64_t maxrss)
{
	struct skep_process_final rec = {
		.counters = { .cpu_ns = cpu_ns, .utime_ns = cpu_ns / 4, .stime_ns = cpu_ns / 4 },
		.maxrss_bytes = maxrss,
		.status = status,
	};

	tell(f, SKEP_ROLE_PROC_FINAL, t, pid, start, &rec);
}

void tell_live(struct fixture *f, uint64_t t, uint32_t pid, uint64_t start, uint32_t ppid, uint64_t pstart,
	       uint64_t cpu_ns, uint32_t flags)
{
	struct skep_process_live rec = {
		.parent = { .pid = ppid, .start_ns = pstart },
		.counters = { .cpu_ns = cpu_ns, .utime_ns = cpu_ns / 4, .stime_ns = cpu_ns / 4 },
		.rss_bytes = 1u << 20,
		.rss_peak_bytes = 2u << 20,
		.threads = 3,
		.flags = flags,
		.comm = str("alive"),
	};

	tell(f, SKEP_ROLE_PROC_LIVE, t, pid, start, &rec);
}

char *fixture_save(struct track *t, size_t *ret_size)
{
	struct saved_chunk chunk;
	char *copy;

	track_keep(t);
	saved_chunk(t, "boot", true, true, &chunk);
	copy = chunk.size ? malloc(chunk.size) : NULL;
	MUST(copy);
	memcpy(copy, chunk.bytes, chunk.size);
	saved_stored(t, true);
	*ret_size = chunk.size;
	return copy;
}

void fixture_load(struct track *t, char *chunk, size_t size)
{
	char why[128];

	MUST(saved_of_boot(chunk, size, "boot"));
	MUST(saved_read(t, chunk, size, why, sizeof(why)) == 0);
	MUST(saved_read_end(t) == 0);
	free(chunk);
}
