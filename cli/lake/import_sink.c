/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/import_sink.c - writes a run as records through the sink "lake", as skepd does: so the sink alone knows the
 * lake's files.  A run is one batch, and the sink writes a batch in one transaction.
 */
#include <errno.h>
#include <jansson.h>
#include <skep/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/skep.h"
#include "cli/lake/import.h"
#include "core/config/config.h"
#include "core/plugin/plugin.h"
#include "core/process/records.h"

#define FACETS_MOST 1024 /* names of facets: each takes 8 bytes of each record */

struct import_sink {
	uv_loop_t loop;
	bool has_loop;
	struct config *config;
	struct skep_instance *instance;
	bool answered;
	struct skep_batch_answer answer;
	char why[512];
	/*
	 * The stream of processes, with the facets so far. The sink keeps a stream's address: none is freed before the
	 * sink.
	 */
	struct stream {
		struct skep_stream stream;
		struct skep_field *fields;
		struct stream *before;
	} *processes;
	char *facets[FACETS_MOST];
	size_t n_facets;
};

/* ---- the sink ----------------------------------------------------------------------- */

static void answered(struct skep_instance *inst, const struct skep_batch *batch,
		     const struct skep_batch_answer *answer)
{
	struct import_sink *s = inst->owner;

	(void)batch;
	s->answer = *answer;
	snprintf(s->why, sizeof(s->why), "%s", answer->why ? answer->why : "no reason given");
	s->answered = true;
}

static const struct instance_ops ops = { .batch_answer = answered };

/* The import removes nothing from the lake: no bound holds.  A skepd that writes to the lake applies skepd.conf's. */
static struct config *config_of(const char *folder, struct diag *diag)
{
	json_t *root = json_pack("{s:[{s:s, s:s, s:s, s:i, s:s, s:s}]}", "sinks", "plugin", "lake", "path", folder,
				 "max_bytes", "0", "max_share", 0, "min_free", "0", "max_age", "0s");
	char *text = root ? json_dumps(root, 0) : NULL;
	struct config *config = text ? config_parse(text, strlen(text), "skep lake import", diag) : NULL;

	if (!text)
		diag_add(diag, DIAG_ERROR, NULL, 0, 0, "--lake %s: not a path in UTF-8", folder);
	json_decref(root);
	free(text);
	return config;
}

int import_sink_new(const char *folder, struct import_sink **ret)
{
	static const struct skep_host proto = {
		.size = sizeof(proto),
		.abi_minor = SKEP_ABI_MINOR,
		.boot_id = "",
		.interval_ns = 1000000000,
		.verdict_fd = -1,
		.rules_fd = -1,
		.rules_programs_fd = -1,
		.rules_values_fd = -1,
	};
	struct import_sink *s = calloc(1, sizeof(*s));
	struct plugin *plugin = NULL;
	struct diag diag;
	int err = s ? 0 : -ENOMEM;

	diag_init(&diag);
	if (!err)
		err = uv_loop_init(&s->loop);
	if (!err) {
		s->has_loop = true;
		s->config = config_of(folder, &diag);
		err = s->config ? 0 : -EINVAL;
	}
	if (!err)
		err = plugin_load(s->config->plugin_dirs, "lake", SKEP_KIND_SINK, &diag, &plugin);
	if (!err)
		err = instance_new(&s->loop, plugin, s->config, &s->config->sinks[0], &proto, &ops, s, &diag,
				   &s->instance);
	if (!err)
		err = instance_open(s->instance);
	if (!err)
		err = instance_start(s->instance);
	if (err && !diag.n)
		diag_add(&diag, DIAG_ERROR, NULL, 0, 0, "%s: %s", folder,
			 s && s->instance && s->instance->reason ? s->instance->reason : strerror(-err));
	diag_print(&diag, stderr);
	diag_clear(&diag);
	if (err) {
		import_sink_free(s);
		return SKEP_EXIT_RUNTIME;
	}
	*ret = s;
	return SKEP_EXIT_OK;
}

struct import_sink *import_sink_free(struct import_sink *s)
{
	struct stream *before;

	if (!s)
		return NULL;
	if (s->instance) {
		instance_stop(s->instance);
		while (!instance_stopped(s->instance) && s->instance->state != INSTANCE_FAILED)
			uv_run(&s->loop, UV_RUN_ONCE);
		instance_free(s->instance);
	}
	if (s->has_loop) {
		uv_run(&s->loop, UV_RUN_DEFAULT);
		uv_loop_close(&s->loop);
	}
	config_free(s->config);
	for (; s->processes; s->processes = before) {
		before = s->processes->before;
		free(s->processes->fields);
		free(s->processes);
	}
	for (size_t i = 0; i < s->n_facets; i++)
		free(s->facets[i]);
	free(s);
	return NULL;
}

/* ---- records -------------------------------------------------------------------------- */

/* A run on its way. */
struct sending {
	struct import_sink *s;
	struct import_run *run;
	int64_t offset; /* realtime minus boot time */
	const struct skep_record **records;
	uint32_t n;
};

static struct skep_str str(const char *text)
{
	const uint32_t n = text ? (uint32_t)strlen(text) : 0;

	return (struct skep_str){ .ptr = text ? text : "", .len = n, .total = n };
}

static struct skep_upid upid_of(const char *text)
{
	struct skep_upid upid = { 0 };

	if (text)
		(void)import_upid(text, &upid); /* import_row() has read it, or it is empty */
	return upid;
}

static uint64_t boot_time(const struct sending *x, uint64_t realtime_ns)
{
	return realtime_ns ? (uint64_t)((int64_t)realtime_ns - x->offset) : 0;
}

/* "a\0b\0". total: larger if the probe cut it. */
static int list_of(struct sending *x, const char *const *list, bool cut, struct skep_str *ret)
{
	size_t n = 0;
	char *all, *at;

	for (size_t i = 0; list && list[i]; i++)
		n += strlen(list[i]) + 1;
	if (n > UINT32_MAX - 1)
		return -E2BIG;
	all = at = arena_alloc(&x->run->arena, n + 1);
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; list && list[i]; i++)
		at = stpcpy(at, list[i]) + 1;
	*ret = (struct skep_str){ .ptr = all, .len = (uint32_t)n, .total = (uint32_t)n + cut };
	return 0;
}

static int add(struct sending *x, const struct skep_stream *stream, struct skep_upid upid, uint64_t time_ns,
	       const void *data)
{
	struct skep_record *r = arena_alloc(&x->run->arena, sizeof(*r));

	if (!r)
		return -ENOMEM;
	*r = (struct skep_record){ .size = sizeof(*r), .stream = stream, .upid = upid, .time_ns = time_ns,
				   .data = data };
	x->records[x->n++] = r;
	return 0;
}

#define CONTAINED(to, in)                                             \
	do {                                                          \
		(to)->container = str((in)->container);               \
		(to)->container_name = str((in)->container_name);     \
		(to)->container_image = str((in)->container_image);   \
		(to)->pod = str((in)->pod);                           \
		(to)->name_space = str((in)->name_space);             \
		(to)->unit = str((in)->unit);                         \
	} while (0)

static int add_run(struct sending *x)
{
	const struct lake_run *from = &x->run->report.run;
	struct record_run *r = arena_alloc(&x->run->arena, sizeof(*r));

	if (!r)
		return -ENOMEM;
	*r = (struct record_run){
		.run = str(from->id),
		.name = str(from->name),
		.pipeline = str(from->pipeline),
		.host = str(from->host),
		.boot_id = str(from->boot_id),
		.kernel = str(from->kernel),
		.version = str(from->version),
		.state = str(from->state),
		.cwd = str(from->cwd),
		.root_upid = upid_of(from->root_upid),
		.uid = from->uid,
		.start_ns = boot_time(x, from->start_ns),
		.end_ns = boot_time(x, from->end_ns),
		.exit_code = from->exit_code,
		.signal = from->signal,
		.cpus = from->cpus,
		.interval_ns = from->interval_ns,
		.memory_peak_bytes = from->memory_peak_bytes,
		.memory_source = str(from->memory_source),
		.processes_seen = from->processes_seen,
		.rusage_cpu_ns = from->rusage_cpu_ns,
		.lost_kernel = from->lost_kernel,
		.lost_queue = from->lost_queue,
		.lost_spool = from->lost_spool,
		.lost_sink = from->lost_sink,
		.origin = str(from->origin),
		.engine = str(from->engine),
		.parent_run = str(from->parent_run),
		.job = str(from->job),
	};
	CONTAINED(r, &from->in);
	if (list_of(x, from->argv, false, &r->argv) != 0)
		return -ENOMEM;
	return add(x, &record_stream_run, r->root_upid, r->end_ns ? r->end_ns : r->start_ns, r);
}

/* A task without a record of its own has no state: the lake makes it again, of its processes. */
static int add_task(struct sending *x, const struct lake_task *from)
{
	struct record_task *r = arena_alloc(&x->run->arena, sizeof(*r));

	if (!from->state || !*from->state)
		return 0;
	if (!r)
		return -ENOMEM;
	*r = (struct record_task){
		.task = str(from->task),
		.task_id = str(from->task_id),
		.run = str(x->run->report.run.id),
		.pipeline = str(x->run->report.run.pipeline),
		.state = str(from->state),
		.traceparent = str(from->traceparent),
		.start_ns = boot_time(x, from->start_ns),
		.end_ns = boot_time(x, from->end_ns),
		.exit_code = from->exit_code,
		.signal = from->signal,
		.processes = from->totals.processes,
		.cpu_ns = from->totals.cpu_ns,
		.run_delay_ns = from->totals.run_delay_ns,
		.rss_peak_bytes = from->totals.rss_peak_bytes,
		.read_bytes = from->totals.read_bytes,
		.write_bytes = from->totals.write_bytes,
		.engine = str(from->engine),
		.scopes = str(from->scopes),
		.sample = str(from->sample),
		.job = str(from->job),
		.attempt = from->attempt,
		.name_source = str(from->name_source),
		.requested_cpus = from->requested_cpus,
		.requested_memory_bytes = from->requested_memory_bytes,
		.requested_walltime_ns = from->requested_walltime_ns,
		.requested_gpus = from->requested_gpus,
		.requested_source = str(from->requested_source),
		.granted_cpus = from->granted_cpus,
		.granted_memory_bytes = from->granted_memory_bytes,
		.granted_gpus = from->granted_gpus,
		.granted_source = str(from->granted_source),
		.inner_runs = from->inner_runs,
	};
	CONTAINED(r, &from->in);
	return add(x, &record_stream_task, r->root_upid, r->end_ns, r);
}

static int add_process(struct sending *x, const struct lake_process *from)
{
	const struct skep_stream *stream = &x->s->processes->stream;
	struct record_process *r = arena_alloc(&x->run->arena, stream->record_size);
	double *facets;

	if (!r)
		return -ENOMEM;
	*r = (struct record_process){
		.upid = upid_of(from->upid),
		.parent_upid = upid_of(from->parent_upid),
		.image = from->image,
		.pid = from->pid,
		.ppid = from->ppid,
		.run = str(x->run->report.run.id),
		.pipeline = str(x->run->report.run.pipeline),
		.task = str(from->task),
		.task_id = str(from->kind->task_id),
		.step = str(from->kind->step),
		.scopes = str(from->kind->scopes),
		.tool = str(from->kind->tool),
		.wrapper = from->kind->wrapper,
		.execed = from->kind->execed,
		.last = from->kind->last,
		.core_dumped = from->kind->core_dumped,
		.oom_killed = from->kind->oom_killed,
		.state = str(from->kind->state),
		.comm = str(from->kind->comm),
		.exe = str(from->kind->exe),
		.filename = str(from->kind->filename),
		.cwd = str(from->kind->cwd),
		.cgroup = str(from->kind->cgroup),
		.container = str(from->kind->container),
		.container_name = str(from->in->container_name),
		.container_image = str(from->in->container_image),
		.pod = str(from->in->pod),
		.name_space = str(from->in->name_space),
		.unit = str(from->kind->unit),
		.uid = from->kind->uid,
		.gid = from->kind->gid,
		.session = from->kind->session,
		.start_ns = boot_time(x, from->start_ns),
		.end_ns = boot_time(x, from->end_ns),
		.exit_code = from->kind->exit_code,
		.signal = from->kind->signal,
		.approx = from->kind->approx,
		.oom_cgroup = str(from->kind->oom_cgroup),
		.oom_limit_bytes = from->kind->oom_limit_bytes,
		.oom_usage_bytes = from->kind->oom_usage_bytes,
		.oom_peak_bytes = from->kind->oom_peak_bytes,
		.cpu_ns = from->totals.cpu_ns,
		.user_ns = from->totals.user_ns,
		.system_ns = from->totals.system_ns,
		.run_delay_ns = from->totals.run_delay_ns,
		.run_count = from->run_count,
		.voluntary_switches = from->totals.voluntary_switches,
		.involuntary_switches = from->totals.involuntary_switches,
		.minor_faults = from->totals.minor_faults,
		.major_faults = from->totals.major_faults,
		.rss_peak_bytes = from->totals.rss_peak_bytes,
		.maxrss_bytes = from->maxrss_bytes,
		.exe_size_bytes = from->kind->exe_size_bytes,
		.exe_modified_ns = from->kind->exe_modified_ns,
		.rchar_bytes = from->totals.rchar_bytes,
		.wchar_bytes = from->totals.wchar_bytes,
		.read_calls = from->read_calls,
		.write_calls = from->write_calls,
		.read_bytes = from->totals.read_bytes,
		.write_bytes = from->totals.write_bytes,
		.cancelled_write_bytes = from->totals.cancelled_write_bytes,
		.threads_peak = from->totals.threads,
	};
	if (list_of(x, from->argv, from->argv_cut, &r->argv) != 0 ||
	    list_of(x, from->in->labels, false, &r->labels) != 0)
		return -ENOMEM;
	facets = (double *)(void *)(r + 1);
	for (size_t i = 0; i < from->n_facets; i++)
		for (size_t k = 0; k < x->s->n_facets; k++)
			if (strcmp(x->s->facets[k], from->facets[i].name) == 0)
				facets[k] = from->facets[i].value;
	return add(x, stream, r->upid, r->end_ns ? r->end_ns : r->start_ns, r);
}

static int add_sample(struct sending *x, const struct lake_sample *from)
{
	struct record_tool_sample *r = arena_alloc(&x->run->arena, sizeof(*r));

	if (!r)
		return -ENOMEM;
	*r = (struct record_tool_sample){
		.run = str(x->run->report.run.id),
		.tool = str(from->tool),
		.start_ns = boot_time(x, from->start_ns),
		.interval_ns = from->interval_ns,
		.cpu_ns = from->cpu_ns,
		.run_delay_ns = from->run_delay_ns,
		.read_bytes = from->read_bytes,
		.write_bytes = from->write_bytes,
		.rss_bytes = from->rss_bytes,
		.processes = from->processes,
		.started = from->started,
	};
	return add(x, &record_stream_tool_sample, (struct skep_upid){ 0 }, r->start_ns + r->interval_ns, r);
}

static int add_ledger(struct sending *x, const struct lake_ledger *from)
{
	const struct lake_run *run = &x->run->report.run;
	struct record_ledger *r = arena_alloc(&x->run->arena, sizeof(*r));

	if (!r)
		return -ENOMEM;
	*r = (struct record_ledger){
		.run = str(run->id),
		.account = str(from->account),
		.item = str(from->item),
		.kind = str(from->kind),
		.start_ns = boot_time(x, run->start_ns),
		.interval_ns = from->interval_ns,
		.amount = from->amount,
	};
	return add(x, &record_stream_ledger, (struct skep_upid){ 0 },
		    boot_time(x, run->end_ns ? run->end_ns : run->start_ns), r);
}

/* ---- a run ------------------------------------------------------------------------------ */

/* Makes a stream of processes that has the facets of this run too. */
static int know_facets(struct import_sink *s, const struct lake_report *r)
{
	const struct skep_stream *base = &record_stream_process;
	size_t before = s->n_facets;
	struct stream *next;

	for (size_t i = 0; i < r->n_processes; i++) {
		for (size_t k = 0, at; k < r->processes[i].n_facets; k++) {
			const char *name = r->processes[i].facets[k].name;

			for (at = 0; at < s->n_facets && strcmp(s->facets[at], name) != 0; at++)
				;
			if (at < s->n_facets)
				continue;
			if (at == FACETS_MOST)
				return -E2BIG;
			s->facets[at] = strdup(name);
			if (!s->facets[at])
				return -ENOMEM;
			s->n_facets++;
		}
	}
	if (s->processes && before == s->n_facets)
		return 0;
	next = calloc(1, sizeof(*next));
	if (next)
		next->fields = calloc(base->n_fields + s->n_facets, sizeof(*next->fields));
	if (!next || !next->fields) {
		free(next);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < base->n_fields; i++)
		next->fields[i] = *skep_stream_field(base, i);
	for (size_t i = 0; i < s->n_facets; i++)
		next->fields[base->n_fields + i] = (struct skep_field){
			.name = s->facets[i],
			.unit = "",
			.type = SKEP_T_F64,
			.semantics = SKEP_S_GAUGE,
			.offset = (uint32_t)(sizeof(struct record_process) + i * sizeof(double)),
			.help = "",
		};
	next->stream = *base;
	next->stream.field_size = sizeof(struct skep_field);
	next->stream.fields = next->fields;
	next->stream.n_fields = base->n_fields + (uint32_t)s->n_facets;
	next->stream.record_size = (uint32_t)(sizeof(struct record_process) + s->n_facets * sizeof(double));
	next->before = s->processes;
	s->processes = next;
	return 0;
}

static void earliest(uint64_t *least, uint64_t ns)
{
	if (ns && ns < *least)
		*least = ns;
}

/*
 * Realtime minus boot time, as the run's host had it, nearly: the sink then stores small differences.  Every time of
 * the run is later; where the clock was set, so that one is not, the boot's times begin with 1970.
 */
static int64_t offset_of(const struct lake_report *r)
{
	const struct skep_upid root = upid_of(r->run.root_upid);
	const struct skep_upid first = r->n_processes ? upid_of(r->processes[0].upid) : root;
	uint64_t start = r->run.start_ns, since = root.start_ns, least = UINT64_MAX;

	if (!root.pid && r->n_processes) {
		start = r->processes[0].start_ns;
		since = first.start_ns;
	}
	earliest(&least, r->run.start_ns);
	earliest(&least, r->run.end_ns);
	for (size_t i = 0; i < r->n_tasks; i++) {
		earliest(&least, r->tasks[i].start_ns);
		earliest(&least, r->tasks[i].end_ns);
	}
	for (size_t i = 0; i < r->n_processes; i++) {
		earliest(&least, r->processes[i].start_ns);
		earliest(&least, r->processes[i].end_ns);
	}
	for (size_t i = 0; i < r->n_samples; i++)
		earliest(&least, r->samples[i].start_ns);
	return start > since && start - since < least ? (int64_t)(start - since) : 0;
}

static int records_of(struct sending *x)
{
	const struct lake_report *r = &x->run->report;
	int err = add_run(x);

	for (size_t i = 0; i < r->n_tasks && !err; i++)
		err = add_task(x, &r->tasks[i]);
	for (size_t i = 0; i < r->n_processes && !err; i++)
		err = add_process(x, &r->processes[i]);
	for (size_t i = 0; i < r->n_samples && !err; i++)
		err = add_sample(x, &r->samples[i]);
	for (size_t i = 0; i < r->n_ledger && !err; i++)
		err = add_ledger(x, &r->ledger[i]);
	return err;
}

/* The sink stores one boot id for a batch. NULL: the run's processes are of several. */
static const char *boot_of(const struct lake_report *r, char ret[9])
{
	const char *boot = r->run.boot_id && *r->run.boot_id ? r->run.boot_id : NULL;

	for (size_t i = 0; i < r->n_processes; i++) {
		const size_t n = strcspn(r->processes[i].upid, "-");

		if (!boot) {
			snprintf(ret, 9, "%.*s", (int)n, r->processes[i].upid);
			boot = ret;
		}
		if (strncmp(boot, r->processes[i].upid, n) != 0 || (n < 8 && boot[n]))
			return NULL;
	}
	return boot ? boot : "";
}

int import_sink_write(struct import_sink *s, struct import_run *run, char *why, size_t size)
{
	const struct lake_report *r = &run->report;
	struct sending x = { .s = s, .run = run, .offset = offset_of(r) };
	char boot[9], *key = NULL;
	struct skep_batch batch = { .size = sizeof(batch), .id = 1, .realtime_offset_ns = x.offset,
				    .boot_id = boot_of(r, boot), .host_name = r->run.host ? r->run.host : "",
				    .kernel = r->run.kernel ? r->run.kernel : "" };
	int err = know_facets(s, r);

	snprintf(why, size, "out of memory");
	if (err == -E2BIG)
		snprintf(why, size, "its processes have facets of more than %d names; is the file a skep's?", FACETS_MOST);
	if (!batch.boot_id) {
		snprintf(why, size, "its processes are of several boots; a run of a lake has one");
		err = -EINVAL;
	}
	x.records = calloc(1 + r->n_tasks + r->n_processes + r->n_samples + r->n_ledger,
			   sizeof(const struct skep_record *));
	if (!err && (!x.records || asprintf(&key, "import/%s/%s", batch.boot_id, r->run.id) < 0)) {
		key = NULL;
		err = -ENOMEM;
	}
	if (!err)
		err = records_of(&x);
	if (err)
		goto out;
	batch.n = x.n;
	batch.key = key;
	batch.records = x.records;
	s->answered = false;
	err = instance_submit(s->instance, &batch);
	if (err) {
		snprintf(why, size, "%s", s->instance->reason ? s->instance->reason : strerror(-err));
		goto out;
	}
	while (!s->answered)
		uv_run(&s->loop, UV_RUN_ONCE);
	if (s->answer.result != SKEP_BATCH_ACK || s->answer.rejected) {
		snprintf(why, size, "%s", s->why);
		err = -EIO;
	}
out:
	free(key);
	free(x.records);
	return err;
}
