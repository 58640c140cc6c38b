/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/collector.c - the collector's life: creates it from a configuration, opens, starts and frees it.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/delivery/batch.h"
#include "core/process/saved.h"
#include "core/collect/collector_priv.h"
#include "core/base/log.h"
#include "core/identify/container_state.h"
#include "core/identify/pods.h"
#include "core/rules/rules_file.h"

#define BATCH_AGE_NS 1000000000ull

/* ---- made and freed -------------------------------------------------------------- */

static int __attribute__((format(printf, 2, 0)))
on_libbpf(enum libbpf_print_level level, const char *fmt, va_list args)
{
	int ours = level == LIBBPF_WARN ? SKEP_LOG_INFO : SKEP_LOG_DEBUG;
	char *line = NULL;
	size_t len;

	/* Plugins report failures in their own words.  libbpf's messages are for an operator who looks closer. */
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

	if (uname(&name) < 0)
		return -errno;
	snprintf(c->host_name, sizeof(c->host_name), "%s", name.nodename);
	c->kernel = strdup(name.release);
	return c->kernel ? 0 : -ENOMEM;
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

		free(c->endings->sink);
		free(c->endings);
		c->endings = next;
	}
	collector_spool_free(c);
	c->track = track_free(c->track);
	c->rule_eval = rule_eval_free(c->rule_eval);
	for (struct skep_instance *inst = c->instances; inst; inst = inst->next)
		collector_data_let_go(inst->extra);
	for (struct skep_instance *inst = c->leaving; inst; inst = inst->next)
		collector_data_let_go(inst->extra);
	/* after the held batches above: delivery counts each batch until it is freed */
	c->delivery = delivery_free(c->delivery);
	free_list(c->instances);
	free_list(c->leaving);
	ledger_mark_free(c->ledger_first);
	ledger_mark_free(c->ledger_before);
	ledger_mark_free(c->ledger_last);
	ledger_free(c->ledger);
	facets_free(c->facets);
	pods_close(c->pods);
	container_states_free(c->container_states);
	cgroups_free(c->cgroups);
	containers_free(c->containers);
	recognizers_unref(c->recognizers);
	tools_free(c->tools);
	redact_free(c->redact);
	collector_types_free(c);
	verdict_close(&c->verdict);
	pins_close(&c->pins);
	free(c->kernel);
	c->magic = 0;
	free(c);
}

static void file_answer(void *owner, skep_process_cb cb, void *token, const struct skep_process_text *text)
{
	(void)owner;
	cb(NULL, token, text);
}

static void task_answer(struct skep_instance *inst, void *token, const struct skep_process_text *text)
{
	(void)inst;
	track_file_answer(token, text->error, &text->cmdline, clock_boot_ns());
}

static void state_answer(struct skep_instance *inst, void *token, const struct skep_process_text *text)
{
	(void)inst;
	container_states_answer(token, text->error, &text->cmdline);
}

static int read_file(void *arg, const struct engine_file *file, void *token)
{
	struct collector *c = MAGIC_OBJECT(collector, arg);

	return c->file_reader ? reader_ask_file(c->file_reader, c, file, task_answer, token) : -EPIPE;
}

static void on_late(uv_timer_t *timer)
{
	struct collector *c = MAGIC_OBJECT(collector, timer->data);

	if (c->running)
		track_late_tick(c->track, clock_boot_ns());
}

static void late_soon(void *arg, uint64_t ns)
{
	struct collector *c = MAGIC_OBJECT(collector, arg);
	uint64_t ms = ns / 1000000;

	if (uv_is_closing((uv_handle_t *)&c->late) ||
	    (uv_is_active((uv_handle_t *)&c->late) && uv_timer_get_due_in(&c->late) <= ms))
		return;
	uv_timer_start(&c->late, on_late, ms, 0);
}

static int read_state(void *arg, const struct engine_file *file, void *token)
{
	struct collector *c = MAGIC_OBJECT(collector, arg);

	return c->file_reader ? reader_ask_file(c->file_reader, c, file, state_answer, token) : -EPIPE;
}

int collector_new(uv_loop_t *loop, const struct config *config, const struct collector_options *options,
		  struct diag *diag, struct collector **ret)
{
	char why[256];
	struct collector *c = calloc(1, sizeof(*c));
	uv_timer_t *timers[5];
	int err;

	if (!c)
		return -ENOMEM;
	c->magic = MAGIC_collector;
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
	c->on_fast = collector_on_fast;
	err = clock_boot_id(c->boot_id);
	if (err == 0)
		err = host_facts(c);
	if (err < 0) {
		diag_add(diag, DIAG_ERROR, NULL, 0, 0, "cannot identify this host: %s; is /proc mounted?",
			 strerror(-err));
		goto out;
	}
	err = -EINVAL;
	c->tools = tools_new(config->tools, diag);
	c->redact = redact_new(config->redact, diag);
	c->containers = containers_new(config->containers, diag);
	c->recognizers = recognizers_new(config->recognizers, diag);
	if (c->tools && c->recognizers)
		recognizers_test(c->recognizers, c->tools, true, diag);
	if (!c->tools || !c->redact || !c->containers || !c->recognizers || diag->n_errors > 0)
		goto out;
	collector_boundaries(c);
	err = -ENOMEM;
	c->cgroups = cgroups_new(NULL);
	c->facets = facets_new();
	c->ledger = ledger_new();
	if (!c->cgroups || !c->facets || !c->ledger)
		goto out;
	cgroups_identify(c->cgroups, c->containers);
	/* Before any probe starts: with runs only every process is excluded until a run begins. */
	err = pins_open(&c->pins, c->options.pin_dir, why, sizeof(why));
	if (err == -ENOTSUP) /* as in most containers: not an error, skepd only does less */
		log_notice("%s: skepd will not record processes while it restarts", why);
	else if (err < 0)
		diag_add(diag, DIAG_WARNING, NULL, 0, 0,
			 "%s: skepd will not record processes while it restarts", why);
	verdict_open(&c->verdict, &c->pins, c->options.runs_only ? VERDICT_EXCLUDED : VERDICT_COLLECT);
	if (c->verdict.fd < 0)
		log_info("cannot create the verdict map: %s; probes report excluded processes as "
			"well", strerror(-c->verdict.error));
	if (!c->options.runs_only) {
		struct rule_eval_env env = { .verdict = &c->verdict,
					     .pins = &c->pins,
					     .tools = c->tools,
					     .cgroups = c->cgroups,
					     .kernel = config->filters.kernel,
					     .loop = loop,
					     .names = collector_names_came,
					     .arg = c };

		err = rule_eval_new(&env, &c->rule_eval);
		if (err < 0)
			goto out;
	}

	if (c->options.reader) {
		err = reader_new(loop, c->options.reader, collector_process_text, &c->reader);
		if (err < 0)
			goto out;
	}
	if (c->options.file_reader) {
		err = reader_new(loop, c->options.file_reader, file_answer, &c->file_reader);
		if (err == 0 && !(c->container_states = container_states_new(read_state, c)))
			err = -ENOMEM;
		if (err < 0)
			goto out;
	}
	if (config->pod_logs && *config->pod_logs) {
		c->pods = pods_new(loop, config->pod_logs);
		err = c->pods ? 0 : -ENOMEM;
		if (err < 0)
			goto out;
	}
	timers[0] = &c->pump;
	timers[1] = &c->tick;
	timers[2] = &c->sample;
	timers[3] = &c->late;
	timers[4] = &c->fast;
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
			if (((const struct instance_data *)inst->extra)->left_behind && !instance_stopped(inst))
				return true;
	/* A log folder whose server does not answer must not delay the stop. */
	return c->spool_left_behind || pods_listing(c->pods);
}

struct collector *collector_free(struct collector *c)
{
	if (c && !collector_left_behind(c))
		destroy(c);
	return NULL;
}

/* ---- opened ---------------------------------------------------------------------- */

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

	/* Loads every entry, to show the user all errors at once. */
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

/* Connects the instances: delivery with its streams, the spool, the tracker. */
static int connect_all(struct collector *c, struct diag *diag)
{
	struct track_env env = {
		.tools = c->tools,
		.recognizers = c->recognizers,
		.cgroups = c->cgroups,
		.pods = c->pods,
		.container_states = c->container_states,
		.runs_only = c->options.runs_only,
		.fold_forks = c->config->fold_forks,
		.start_ns = c->start_ns,
		.rule_eval = c->rule_eval,
		.run_found = collector_run_found,
		.run_changed = collector_run_changed,
		.run_over = collector_run_over,
		.read_file = c->file_reader ? read_file : NULL,
		.late_soon = late_soon,
		.arg = c,
	};
	const struct skep_stream *process = NULL, *sample = NULL;
	const struct batch_origin origin = { c->boot_id, c->host_name, c->kernel };
	int err;

	c->delivery = delivery_new(&origin, c->options.batch_age_ns, DELIVERY_MAX_BYTES, collector_wake, c);
	if (!c->delivery)
		return -ENOMEM;
	err = collector_spool_open(c);
	if (err < 0)
		return err;
	for (struct skep_instance *inst = c->instances; inst; inst = inst->next) {
		err = ((struct instance_data *)inst->extra)->probe ? collector_streams_add(c, inst, diag)
								   : collector_sink_add(c, inst);
		if (err < 0)
			return err;
	}
	err = facets_build(c->facets, FACETS_OF_IMAGE, &record_stream_process, &process);
	if (err == 0)
		err = facets_build(c->facets, FACETS_OF_SAMPLE, &record_stream_process_sample, &sample);
	if (err < 0 || !process || !sample)
		return err < 0 ? err : -EINVAL;
	c->stream_process = delivery_stream_add(c->delivery, process);
	c->stream_process_sample = delivery_stream_add(c->delivery, sample);
	c->stream_run = delivery_stream_add(c->delivery, &record_stream_run);
	c->stream_task = delivery_stream_add(c->delivery, &record_stream_task);
	c->stream_sample = delivery_stream_add(c->delivery, &record_stream_tool_sample);
	c->stream_loss = delivery_stream_add(c->delivery, &record_stream_loss);
	c->stream_ledger = delivery_stream_add(c->delivery, &record_stream_ledger);
	c->stream_audit = delivery_stream_add(c->delivery, &record_stream_audit);
	c->stream_finding = delivery_stream_add(c->delivery, &record_stream_finding);
	c->stream_findings = delivery_stream_add(c->delivery, &record_stream_findings);
	if (c->stream_finding < 0 || c->stream_findings < 0 || c->stream_ledger < 0 || c->stream_audit < 0 ||
	    c->stream_process_sample < 0 || c->stream_process < 0 || c->stream_run < 0 || c->stream_task < 0 ||
	    c->stream_sample < 0 || c->stream_loss < 0)
		return -ENOMEM;
	env.facets = c->facets;
	env.emit = delivery_emit;
	env.out = c->delivery;
	env.process_stream = c->stream_process;
	env.task_stream = c->stream_task;
	env.process_size = process->record_size;
	env.sample_stream = c->stream_process_sample;
	env.sample_size = sample->record_size;
	env.finding_stream = c->stream_finding;
	env.findings_stream = c->stream_findings;
	env.host = c->host_name;
	env.boot_id = c->boot_id;
	err = track_new(&env, &c->track);
	/* the report of `skep run` says what its run showed */
	return err < 0 || c->options.runs_only ? err : track_findings(c->track, &c->config->findings);
}

int collector_open(struct collector *c, struct diag *diag)
{
	/* Does both, to show the user the errors of both. */
	int rules = collector_first_rules(c, diag), err = load(c, diag), first = 0;

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
		if (((struct instance_data *)inst->extra)->probe != probes || inst->state != INSTANCE_OPEN)
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

int collector_start(struct collector *c, struct diag *diag)
{
	int err;

	if (!c->track)
		return -EINVAL;
	if (collector_spool_restore(c)) {
		saved_restore(c->track, clock_boot_ns());
		if (c->rule_eval && rule_eval_rules(c->rule_eval))
			/* this skepd's rules may differ from the previous one's */
			track_reevaluate(c->track, clock_boot_ns());
	}
	if (delivery_spooled(c->delivery)) {
		track_keep(c->track);
		c->whole_due = true;
	}
	/* Sinks first, so that records which probes emit at once have a queue. */
	err = start_kind(c, false, diag);
	if (err < 0)
		return err;
	/*
	 * A probe may report, as it starts, processes from the pinned state of the previous skepd: ended ones wait for
	 * the facets of other probes.
	 */
	for (struct skep_instance *inst = c->instances; inst; inst = inst->next)
		if (((const struct instance_data *)inst->extra)->facet)
			track_drained(c->track, 0, clock_boot_ns());
	err = start_kind(c, true, diag);
	if (err < 0)
		return err;
	collector_facets_drained(c);
	c->running = true;
	c->sampled_ns = clock_boot_ns();
	collector_tick_start(c);
	collector_sample_timer(c);
	return 0;
}

void collector_flush_probes(struct collector *c)
{
	for (struct skep_instance *inst = c->instances; inst; inst = inst->next)
		if (((struct instance_data *)inst->extra)->probe && inst->state == INSTANCE_RUNNING)
			instance_flush(inst);
}

void collector_flush(struct collector *c)
{
	collector_flush_probes(c);
	if (c->delivery)
		delivery_flush(c->delivery);
}

