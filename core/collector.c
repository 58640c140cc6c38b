/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collector.c - the collector's life: made from a configuration, opened, started,
 * kept going (samples, retries of what failed), freed.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/batch.h"
#include "core/carry.h"
#include "core/collector_priv.h"
#include "core/log.h"
#include "core/rules_file.h"

#define TICK_MS 250u
#define MS_NS 1000000u
#define RETRY_FIRST_NS 1000000000ull
#define RETRY_MOST_NS 300000000000ull
#define INTERVAL_DEFAULT_NS 5000000000ull
#define BATCH_AGE_NS 1000000000ull
#define NAMES_FIRST_NS 1000000000ull
#define NAMES_MOST_NS 60000000000ull
#define NAMES_LATE_NS 10000000000ull

/* ---- timers ------------------------------------------------------------------- */

static void on_pump(uv_timer_t *timer)
{
	struct collector *c = timer->data;
	uint64_t now_ns = clock_boot_ns(), next_ns;

	out_tick(c->out, now_ns);
	next_ns = out_next_ns(c->out);
	if (next_ns == UINT64_MAX || uv_is_closing((uv_handle_t *)timer))
		return;
	/* At least a millisecond: "at once" was just now, and what is still due waits for the sink's answer. */
	uv_timer_start(timer, on_pump, next_ns > now_ns ? (next_ns - now_ns) / MS_NS + 1 : 1, 0);
}

/* Something changed on the way out: offer it from the loop, never from inside a probe's callback. */
static void on_wake(void *arg)
{
	struct collector *c = arg;
	uint64_t now_ns = clock_boot_ns(), next_ns = out_next_ns(c->out);

	if (next_ns != UINT64_MAX && !uv_is_closing((uv_handle_t *)&c->pump))
		uv_timer_start(&c->pump, on_pump, next_ns > now_ns ? (next_ns - now_ns) / MS_NS + 1 : 0, 0);
}

static void schedule_retry(struct part *part)
{
	uint64_t wait = RETRY_FIRST_NS;

	for (unsigned i = 0; i < part->retries && wait < RETRY_MOST_NS; i++)
		wait *= 2;
	part->retry_ns = clock_boot_ns() + (wait < RETRY_MOST_NS ? wait : RETRY_MOST_NS);
	part->retries++;
}

static void retry(struct collector *c, struct part *part)
{
	int err = instance_retry(part->inst);

	if (err == -EBUSY)
		return; /* the next tick asks again */
	if (err < 0) {
		schedule_retry(part);
		log_because(SKEP_LOG_WARNING, part->inst->name, part->inst->reason, "still fails: %s",
			    part->inst->reason ? part->inst->reason : strerror(-err));
		return;
	}
	part->retries = 0;
	log_at(SKEP_LOG_NOTICE, part->inst->name, "runs again");
	if (part->sink)
		out_sink_kick(part->sink);
	collector_facets_drained(c);
}

/* How late the loop is: the next tick comes TICK_MS after this one was due to begin. */
static void measure_lag(struct collector *c, uint64_t now_ns)
{
	uint64_t due_ns = c->ticked_ns + (uint64_t)TICK_MS * MS_NS;

	if (c->ticked_ns)
		c->lag_ns = now_ns > due_ns ? now_ns - due_ns : 0;
	if (c->lag_ns > c->lag_worst_ns)
		c->lag_worst_ns = c->lag_ns;
	c->ticked_ns = now_ns;
}

static void sample_kind(struct collector *c, bool lifecycle)
{
	for (struct skep_instance *inst = c->instances; inst; inst = inst->next) {
		const struct part *part = inst->extra;

		if (part->probe && part->lifecycle == lifecycle && inst->state == INSTANCE_RUNNING)
			instance_sample(inst);
	}
}

bool collector_sweeping(const struct collector *c)
{
	for (const struct skep_instance *inst = c->instances; inst; inst = inst->next)
		if (((const struct part *)inst->extra)->sweeping)
			return true;
	return false;
}

void collector_sweep(struct collector *c)
{
	sample_kind(c, true);
}

/* Those that forked while the rules changed, and a sweep over what had been excluded. */
static void rejudge_rest(struct collector *c)
{
	if (collector_sweeping(c)) /* it began before: it may have passed some by */
		return;
	judge_forget_old(c->judge);
	c->rejudging = false;
	collector_sweep(c);
}

/* Names of users have come that rules had asked for in vain: the same rules once more, as at a reload. */
static void rejudge_names(struct collector *c, uint64_t now_ns)
{
	struct ruleset *rules = judge_rules(c->judge);

	if (!c->names_due || now_ns < c->names_next_ns || c->reload)
		return;
	/* A directory that brings one name each second must not have all judged each second. */
	if (now_ns - c->names_next_ns > NAMES_MOST_NS)
		c->names_wait_ns = 0;
	c->names_wait_ns = c->names_wait_ns ? 2 * c->names_wait_ns : NAMES_FIRST_NS;
	if (c->names_wait_ns > NAMES_MOST_NS)
		c->names_wait_ns = NAMES_MOST_NS;
	c->names_next_ns = now_ns + c->names_wait_ns;
	c->names_due = rules && collector_rules(c, rules) < 0;
}

static void look_at_names(struct collector *c)
{
	uint64_t late_ns = judge_names_late_ns(c->judge);

	if (late_ns >= NAMES_LATE_NS && !c->names_late)
		log_warning("names of users and groups: a look-up has not returned for %llu s: a directory server in nsswitch.conf may "
			    "not answer; rules with user or group do not hold for ids without a name",
			    (unsigned long long)(late_ns / 1000000000u));
	else if (late_ns < NAMES_LATE_NS && c->names_late)
		log_notice("names of users and groups: the look-ups return again");
	c->names_late = late_ns >= NAMES_LATE_NS;
}

static void on_tick(uv_timer_t *timer)
{
	struct collector *c = timer->data;
	uint64_t now_ns = clock_boot_ns();

	measure_lag(c, now_ns);
	if (c->running && !c->reload) /* which may be about to replace what has failed */
		for (struct skep_instance *inst = c->instances; inst; inst = inst->next) {
			struct part *part = inst->extra;

			if (inst->state == INSTANCE_FAILED && part->retry_ns == 0)
				schedule_retry(part); /* failed while it ran */
			else if (inst->state == INSTANCE_FAILED && now_ns >= part->retry_ns)
				retry(c, part);
			if (inst->state == INSTANCE_RUNNING)
				part->retry_ns = 0;
			else
				part->sweeping = false;
		}
	for (struct skep_instance *inst = c->instances; inst; inst = inst->next)
		instance_look_at_work(inst);
	for (struct skep_instance *inst = c->leaving; inst; inst = inst->next)
		instance_look_at_work(inst);
	if (c->leaving && !c->reload)
		collector_leaving(c);
	collector_facets_drained(c);
	collector_details_tick(c, clock_boot_ns());
	cgroups_tick(c->cgroups, now_ns);
	if (c->judge) {
		look_at_names(c);
		rejudge_names(c, now_ns);
	}
	if (c->rejudging)
		rejudge_rest(c);
	track_tick(c->track, clock_boot_ns());
}

void collector_swept(struct collector *c)
{
	/* The ledger's references are read when the sum of processes is known: on a busy host a sweep takes a while. */
	sample_kind(c, false);
	collector_sample_out(c);
}

void collector_sample_now(struct collector *c)
{
	if (c->sample_due) /* a sweep that never ended must not stop the samples */
		collector_swept(c);
	/* Figures of live processes come with the sweep; it may take several turns of the loop. */
	c->sample_due = true;
	collector_sweep(c);
	if (!collector_sweeping(c) && c->sample_due)
		collector_swept(c);
}

static void on_sample(uv_timer_t *timer)
{
	collector_sample_now(timer->data);
}

/* ---- made and freed -------------------------------------------------------------- */

static int __attribute__((format(printf, 2, 0)))
on_libbpf(enum libbpf_print_level level, const char *fmt, va_list args)
{
	int ours = level == LIBBPF_WARN ? SKEP_LOG_INFO : SKEP_LOG_DEBUG;
	char *line = NULL;
	size_t len;

	/* Plugins say what failed in their own words; libbpf's are for those who look into it. */
	if (vasprintf(&line, fmt, args) < 0)
		return 0;
	len = strlen(line);
	if (len > 0 && line[len - 1] == '\n')
		line[len - 1] = '\0';
	log_at(ours, "libbpf", "%s", line);
	free(line);
	return 0;
}

static int host_facts(struct collector *c)
{
	struct utsname name;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (uname(&name) < 0)
		return -errno;
	c->host_name = strdup(name.nodename);
	c->kernel = strdup(name.release);
	c->cpus = cpus > 0 ? (uint64_t)cpus : 1;
	return c->host_name && c->kernel ? 0 : -ENOMEM;
}

static void let_go(struct part *part)
{
	for (size_t i = 0; i < part->n_held; i++)
		batch_unref(part->held[i]);
	free(part->held);
	part->held = NULL;
	part->n_held = 0;
}

void collector_instance_free(struct skep_instance *inst)
{
	struct part *part = inst ? inst->extra : NULL;

	if (part) {
		let_go(part);
		free(part->streams);
		free(part->lost);
		free(part->told);
		free(part);
	}
	instance_free(inst);
}

static void free_list(struct skep_instance *inst)
{
	while (inst) {
		struct skep_instance *next = inst->next;

		collector_instance_free(inst);
		inst = next;
	}
}

static void destroy(struct collector *c)
{
	while (c->endings) {
		struct ending *next = c->endings->next;

		free(c->endings);
		c->endings = next;
	}
	collector_spool_free(c);
	c->track = track_free(c->track);
	c->judge = judge_free(c->judge);
	for (struct skep_instance *inst = c->instances; inst; inst = inst->next)
		let_go(inst->extra);
	for (struct skep_instance *inst = c->leaving; inst; inst = inst->next)
		let_go(inst->extra);
	c->out = out_free(c->out); /* whose books batches are in until they go */
	free_list(c->instances);
	free_list(c->leaving);
	ledger_mark_free(c->ledger_first);
	ledger_mark_free(c->ledger_before);
	ledger_mark_free(c->ledger_last);
	ledger_free(c->ledger);
	facets_free(c->facets);
	cgroups_free(c->cgroups);
	containers_free(c->containers);
	tools_free(c->tools);
	redact_free(c->redact);
	verdict_close(&c->verdict);
	pins_close(&c->pins);
	free(c->host_name);
	free(c->kernel);
	free(c);
}

static void on_names(void *arg)
{
	struct collector *c = arg;

	c->names_due = true;
}

int collector_new(uv_loop_t *loop, const struct config *config, const struct collector_options *options, struct diag *diag,
		  struct collector **ret)
{
	char why[256];
	struct collector *c = calloc(1, sizeof(*c));
	uv_timer_t *timers[4];
	int err;

	if (!c)
		return -ENOMEM;
	libbpf_set_print(on_libbpf);
	c->loop = loop;
	c->config = config;
	c->options = *options;
	if (c->options.batch_age_ns == 0)
		c->options.batch_age_ns = BATCH_AGE_NS;
	c->interval_ns = collector_interval(config);
	c->start_ns = clock_boot_ns();
	c->sampled_ns = c->start_ns;
	c->verdict.fd = -1;
	err = clock_boot_id(c->boot_id);
	if (err == 0)
		err = host_facts(c);
	if (err < 0) {
		diag_add(diag, DIAG_ERROR, NULL, 0, 0, "cannot read what this host is (/proc mounted?): %s", strerror(-err));
		goto out;
	}
	err = -EINVAL;
	c->tools = tools_new((const char *const *)config->tools, diag);
	c->redact = redact_new((const char *const *)config->redact, diag);
	c->containers = containers_new((const char *const *)config->containers, diag);
	if (!c->tools || !c->redact || !c->containers)
		goto out;
	err = -ENOMEM;
	c->cgroups = cgroups_new(NULL);
	c->facets = facets_new();
	c->ledger = ledger_new();
	if (!c->cgroups || !c->facets || !c->ledger)
		goto out;
	cgroups_identify(c->cgroups, c->containers);
	/* Before any probe starts: with runs only nobody is let in until a run begins. */
	err = pins_open(&c->pins, c->options.pin_dir, why, sizeof(why));
	if (err == -ENOTSUP) /* as in most containers: nothing is wrong, there is less */
		log_notice("%s: what happens while skepd is restarted will not be collected", why);
	else if (err < 0)
		diag_add(diag, DIAG_WARNING, NULL, 0, 0, "%s: what happens while skepd is restarted will not be collected", why);
	verdict_open(&c->verdict, &c->pins, c->options.runs_only ? VERDICT_EXCLUDED : VERDICT_COLLECT);
	if (c->verdict.fd < 0)
		log_info("no verdict map (%s): probes see every process", strerror(-c->verdict.error));
	if (!c->options.runs_only) {
		struct judge_env env = { .verdict = &c->verdict, .pins = &c->pins, .tools = c->tools, .cgroups = c->cgroups, .kernel = !config->filters.no_kernel,
					 .loop = loop, .names = on_names, .arg = c };

		err = judge_new(&env, &c->judge);
		if (err < 0)
			goto out;
	}

	if (c->options.reader) {
		err = reader_new(loop, c->options.reader, collector_process_text, &c->reader);
		if (err < 0)
			goto out;
	}
	timers[0] = &c->pump;
	timers[1] = &c->tick;
	timers[2] = &c->sample;
	timers[3] = &c->fast;
	for (size_t i = 0; i < sizeof(timers) / sizeof(timers[0]); i++) {
		uv_timer_init(loop, timers[i]); /* cannot fail */
		timers[i]->data = c;
		c->handles++;
	}
	*ret = c;
	return 0;
out:
	destroy(c);
	return err;
}

bool collector_left_behind(const struct collector *c)
{
	const struct skep_instance *lists[] = { c->instances, c->leaving };

	for (size_t i = 0; i < 2; i++)
		for (const struct skep_instance *inst = lists[i]; inst; inst = inst->next)
			if (((const struct part *)inst->extra)->left_behind && !instance_stopped(inst))
				return true;
	return c->spool_left_behind;
}

struct collector *collector_free(struct collector *c)
{
	if (c && !collector_left_behind(c))
		destroy(c);
	return NULL;
}

/* ---- opened ---------------------------------------------------------------------- */

static bool is_lifecycle(uint32_t role)
{
	return (role >= SKEP_ROLE_PROC_FORK && role <= SKEP_ROLE_PROC_OOM) || role == SKEP_ROLE_PROC_EXCLUDED;
}

static int part_new(struct collector *c, struct skep_instance *inst)
{
	const struct skep_plugin *desc = inst->plugin->desc;
	struct part *part = calloc(1, sizeof(*part));

	if (!part)
		return -ENOMEM;
	inst->extra = part;
	part->inst = inst;
	part->serial = ++c->parts;
	part->probe = desc->kind == SKEP_KIND_PROBE;
	part->streams = calloc(desc->n_streams + 1u, sizeof(*part->streams));
	part->lost = calloc(desc->n_streams + 1u, sizeof(*part->lost));
	part->told = calloc(desc->n_streams + 1u, sizeof(*part->told));
	if (!part->streams || !part->lost || !part->told)
		return -ENOMEM;
	for (uint32_t i = 0; i < desc->n_streams; i++) {
		part->streams[i] = -1;
		part->facet |= desc->streams[i]->role == SKEP_ROLE_FACET;
		part->lifecycle |= is_lifecycle(desc->streams[i]->role);
	}
	return 0;
}

uint64_t collector_interval(const struct config *config)
{
	return config->interval_ns ? config->interval_ns : INTERVAL_DEFAULT_NS;
}

int collector_instance_new(struct collector *c, const struct config *config, const struct config_plugin *entry, uint32_t kind,
			   struct diag *diag, struct skep_instance **ret)
{
	const struct judge_fds fds = c->judge ? judge_fds(c->judge) : (struct judge_fds){ -1, -1, -1 };
	const struct skep_host proto = {
		.size = sizeof(proto),
		.abi_minor = SKEP_ABI_MINOR,
		.boot_id = c->boot_id,
		.interval_ns = collector_interval(config),
		.verdict_fd = c->verdict.fd,
		.verdict_pids = c->verdict.pids,
		.live_wants_details = 1,
		.pin_for_s = (uint32_t)(config->pin_for_ns / 1000000000u),
		.rules_fd = fds.rules,
		.rules_programs_fd = fds.programs,
		.rules_values_fd = fds.values,
	};
	size_t n_before = diag->n;
	struct skep_instance *inst;
	struct plugin *plugin;
	int err, line, column;

	err = plugin_load((const char *const *)config->plugin_dirs, entry->plugin, kind, diag, &plugin);
	if (err < 0) {
		config_option_position(config, entry, "plugin", &line, &column);
		diag_place(diag, n_before, config->file, line, column);
		return err;
	}
	err = instance_new(c->loop, plugin, config, entry, &proto, &collector_ops, c, diag, &inst);
	if (err < 0)
		return err;
	err = part_new(c, inst);
	if (err < 0) {
		collector_instance_free(inst);
		diag_add(diag, DIAG_ERROR, config->file, entry->line, 0, "%s: out of memory", entry->name);
		return err;
	}
	err = pins_instance(&c->pins, inst->name, &inst->pin_dir);
	if (err < 0)
		log_warning("%s: no folder for its pins: %s", inst->name, strerror(-err)); /* then it does without */
	inst->host.pin_dir = inst->pin_dir;
	inst->host.pin_adopts = !c->running;
	inst->host.settles = c->out && out_spooled(c->out); /* with the first ones it is known before they start */
	*ret = inst;
	return 0;
}

static int load_entry(struct collector *c, const struct config_plugin *entry, uint32_t kind, struct diag *diag,
		      struct skep_instance ***end)
{
	int err = collector_instance_new(c, c->config, entry, kind, diag, *end);

	if (err == 0)
		*end = &(**end)->next;
	return err;
}

static int load(struct collector *c, struct diag *diag)
{
	struct skep_instance **end = &c->instances;
	int first = 0, err;

	/* Every entry, so that every error is told at once. */
	for (size_t i = 0; i < c->config->n_probes; i++) {
		err = load_entry(c, &c->config->probes[i], SKEP_KIND_PROBE, diag, &end);
		if (err < 0 && first == 0)
			first = err;
	}
	for (size_t i = 0; i < c->config->n_sinks; i++) {
		err = load_entry(c, &c->config->sinks[i], SKEP_KIND_SINK, diag, &end);
		if (err < 0 && first == 0)
			first = err;
	}
	return first;
}

int collector_streams_add(struct collector *c, struct skep_instance *inst, struct diag *diag)
{
	const struct skep_plugin *desc = inst->plugin->desc;
	struct part *part = inst->extra;
	int err = 0;

	for (uint32_t i = 0; i < desc->n_streams && err >= 0; i++) {
		const struct skep_stream *s = desc->streams[i];

		if (s->role == SKEP_ROLE_FACET) {
			err = facets_add(c->facets, s);
			if (err == -EEXIST) {
				diag_add(diag, DIAG_WARNING, NULL, 0, 0,
					 "%s: another plugin has a stream \"%s\" already; this one's figures are left out", inst->name, s->name);
				err = 0;
			}
		} else if (s->role == SKEP_ROLE_NONE || s->role == SKEP_ROLE_CGROUP || s->role == SKEP_ROLE_DETAIL) {
			err = out_stream_add(c->out, s);
			part->streams[i] = err;
		}
	}
	return err < 0 ? err : 0;
}

int collector_sink_add(struct collector *c, struct skep_instance *inst)
{
	const struct skep_sink_ops *ops = inst->plugin->desc->sink;
	struct part *part = inst->extra;

	int err = out_sink_add(c->out, inst->name, ops ? ops->max_in_flight : 1, collector_submit, inst, &part->sink);

	if (err == 0)
		out_sink_terms(part->sink, &inst->terms);
	return err;
}

/* What lies between the instances: the way out, its streams, the tracker. */
static int connect_all(struct collector *c, struct diag *diag)
{
	struct track_env env = {
		.tools = c->tools,
		.cgroups = c->cgroups,
		.runs_only = c->options.runs_only,
		.start_ns = c->start_ns,
		.judge = c->judge,
		.run_found = collector_run_found,
		.run_over = collector_run_over,
		.arg = c,
	};
	const struct skep_stream *process = NULL, *sample = NULL;
	const struct batch_origin origin = { c->boot_id, c->host_name, c->kernel };
	int err;

	c->out = out_new(&origin, c->options.batch_age_ns, OUT_MAX_BYTES, on_wake, c);
	if (!c->out)
		return -ENOMEM;
	err = collector_spool_open(c);
	if (err < 0)
		return err;
	for (struct skep_instance *inst = c->instances; inst; inst = inst->next) {
		err = ((struct part *)inst->extra)->probe ? collector_streams_add(c, inst, diag) : collector_sink_add(c, inst);
		if (err < 0)
			return err;
	}
	err = facets_build(c->facets, FACETS_OF_IMAGE, &out_stream_process, &process);
	if (err == 0)
		err = facets_build(c->facets, FACETS_OF_SAMPLE, &out_stream_process_sample, &sample);
	if (err < 0 || !process || !sample)
		return err < 0 ? err : -EINVAL;
	c->stream_process = out_stream_add(c->out, process);
	c->stream_process_sample = out_stream_add(c->out, sample);
	c->stream_run = out_stream_add(c->out, &out_stream_run);
	c->stream_task = out_stream_add(c->out, &out_stream_task);
	c->stream_sample = out_stream_add(c->out, &out_stream_tool_sample);
	c->stream_loss = out_stream_add(c->out, &out_stream_loss);
	c->stream_ledger = out_stream_add(c->out, &out_stream_ledger);
	if (c->stream_ledger < 0 || c->stream_process_sample < 0 || c->stream_process < 0 || c->stream_run < 0 || c->stream_task < 0 || c->stream_sample < 0 || c->stream_loss < 0)
		return -ENOMEM;
	env.facets = c->facets;
	env.out = c->out;
	env.process_stream = c->stream_process;
	env.task_stream = c->stream_task;
	env.process_size = process->record_size;
	env.sample_stream = c->stream_process_sample;
	env.sample_size = sample->record_size;
	err = track_new(&env, &c->track);
	if (err == 0 && c->judge)
		judge_table(c->judge, c->track->table);
	return err;
}

static bool must_run(const struct collector *c, const struct skep_instance *inst)
{
	/* Without its life cycle a run's report would be empty, and look like a quiet run. */
	return inst->required || (c->options.runs_only && ((struct part *)inst->extra)->lifecycle);
}

int collector_failed(struct collector *c, struct skep_instance *inst, const char *doing, int err, struct diag *diag)
{
	struct part *part = inst->extra;
	bool fatal = must_run(c, inst);

	diag_add(diag, fatal ? DIAG_ERROR : DIAG_WARNING, NULL, 0, 0, "%s %s does not %s: %s%s", part->probe ? "probe" : "sink", inst->name,
		 doing, inst->reason ? inst->reason : strerror(-err), fatal ? "" : "; going on without it, trying again later");
	schedule_retry(part);
	return fatal ? err : 0;
}

static int first_rules(struct collector *c, struct diag *diag)
{
	struct ruleset *rules = NULL;
	int err;

	if (!c->judge)
		return 0;
	err = rules_load(c->config, diag, &rules);
	if (err == 0)
		err = collector_rules(c, rules);
	ruleset_unref(rules);
	if (err == 0 && judge_rules(c->judge) && judge_kernel(c->judge))
		log_info("rules are decided in user space only: %s", judge_kernel(c->judge));
	return err;
}

int collector_open(struct collector *c, struct diag *diag)
{
	/* Both, so that the errors of both are told. */
	int rules = first_rules(c, diag), err = load(c, diag), first = 0;

	if (err == 0)
		err = rules;
	if (err < 0)
		return err;
	err = connect_all(c, diag);
	if (err < 0) {
		diag_add(diag, DIAG_ERROR, NULL, 0, 0, "cannot set up the collector: %s", strerror(-err));
		return err;
	}
	for (struct skep_instance *inst = c->instances; inst; inst = inst->next) {
		err = instance_open(inst);
		if (err < 0)
			err = collector_failed(c, inst, "open", err, diag);
		if (err < 0 && first == 0)
			first = err;
	}
	return first;
}

/* ---- started --------------------------------------------------------------------- */

static int start_kind(struct collector *c, bool probes, struct diag *diag)
{
	int err, first = 0;

	for (struct skep_instance *inst = c->instances; inst; inst = inst->next) {
		if (((struct part *)inst->extra)->probe != probes || inst->state != INSTANCE_OPEN)
			continue;
		collector_spool_mark(c, inst);
		err = instance_start(inst);
		if (err < 0)
			err = collector_failed(c, inst, "start", err, diag);
		if (err < 0 && first == 0)
			first = err;
	}
	return first;
}

void collector_sample_timer(struct collector *c)
{
	uint64_t interval_ms = c->interval_ns / MS_NS ? c->interval_ns / MS_NS : 1;

	uv_timer_start(&c->sample, on_sample, interval_ms, interval_ms);
}

int collector_start(struct collector *c, struct diag *diag)
{
	bool restored;
	int err;

	if (!c->track)
		return -EINVAL;
	restored = collector_spool_restore(c);
	if (restored && c->options.carry_file)
		unlink(c->options.carry_file); /* one that lies there is older */
	if (!restored && c->options.carry_file) {
		err = carry_load(c->track, c->options.carry_file, c->boot_id, &c->track->carry);
		if (err < 0) {
			c->track->stats.unrestored++;
			diag_add(diag, DIAG_WARNING, NULL, 0, 0, "%s: %s; processes and runs begin anew", c->options.carry_file, strerror(-err));
		}
		restored = c->track->carry != NULL;
	}
	if (restored) {
		carry_restore(c->track);
		if (c->judge && judge_rules(c->judge))
			track_rejudge(c->track, clock_boot_ns()); /* which may be others than those before */
	}
	if (out_spooled(c->out)) {
		track_keep(c->track, false);
		c->whole_due = true;
	}
	/* Sinks first: what probes emit at once has somewhere to go. */
	err = start_kind(c, false, diag);
	if (err < 0)
		return err;
	/* What a skepd before has left in the kernel may be told by a probe as it starts: the dead wait for what others know of them. */
	for (struct skep_instance *inst = c->instances; inst; inst = inst->next)
		if (((const struct part *)inst->extra)->facet)
			track_drained(c->track, 0, clock_boot_ns());
	err = start_kind(c, true, diag);
	if (err < 0)
		return err;
	collector_facets_drained(c);
	c->running = true;
	c->sampled_ns = clock_boot_ns();
	uv_timer_start(&c->tick, on_tick, TICK_MS, TICK_MS);
	collector_sample_timer(c);
	return 0;
}

void collector_flush(struct collector *c)
{
	for (struct skep_instance *inst = c->instances; inst; inst = inst->next)
		if (((struct part *)inst->extra)->probe && inst->state == INSTANCE_RUNNING)
			instance_flush(inst);
	if (c->out)
		out_flush(c->out);
}

int collector_rules(struct collector *c, struct ruleset *set)
{
	int err;

	if (!c->judge)
		return -ENOTSUP;
	err = judge_use(c->judge, set);
	if (err < 0 || !c->running)
		return err;
	track_rejudge(c->track, clock_boot_ns());
	c->rejudging = true;
	return 0;
}

struct judge *collector_judge(struct collector *c)
{
	return c->judge;
}
