/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/stats_prometheus.c - prints self-metrics in the text format that Prometheus scrapes:
 * a family's samples together, base units (seconds, bytes), counters end in _total.
 */
#include <errno.h>
#include <string.h>

#include "cli/base/answer.h"
#include "cli/stats.h"

static void family(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Prints a label: escapes backslash, quote and newline in its value, and drops other control characters. */
static void label(FILE *out, const char *between, const char *name, const char *value)
{
	fprintf(out, "%s%s=\"", between, name);
	for (const char *c = value; *c; c++) {
		if (*c == '\\' || *c == '"')
			fprintf(out, "\\%c", *c);
		else if (*c == '\n')
			fputs("\\n", out);
		else if ((unsigned char)*c >= 0x20 && *c != 0x7f)
			fputc(*c, out);
	}
	fputc('"', out);
}

static void number(FILE *out, uint64_t n)
{
	fprintf(out, " %llu\n", (unsigned long long)n);
}

static void seconds(FILE *out, uint64_t ns)
{
	fprintf(out, " %llu.%09llu\n", (unsigned long long)(ns / 1000000000u), (unsigned long long)(ns % 1000000000u));
}

static void single(FILE *out, const char *name, const char *type, const char *help, uint64_t n)
{
	family(out, name, type, help);
	fputs(name, out);
	number(out, n);
}

static void single_seconds(FILE *out, const char *name, const char *type, const char *help, uint64_t ns)
{
	family(out, name, type, help);
	fputs(name, out);
	seconds(out, ns);
}

static void labels_of(FILE *out, const char *name, const json_t *instance)
{
	fputs(name, out);
	label(out, "{", "instance_name", answer_text(instance, "name"));
	label(out, ",", "plugin", answer_text(instance, "plugin"));
	label(out, ",", "kind", answer_text(instance, "kind"));
}

static void instances(const json_t *list, FILE *out)
{
	static const struct {
		const char *name, *type, *help, *key;
		bool is_time;
	} figures[] = {
		{ "skep_plugin_up", "gauge", "1 while the plugin runs", "up", false },
		{ "skep_plugin_busy_seconds_total", "counter", "Time spent in the plugin's callbacks", "busy_ns",
		  true },
		{ "skep_plugin_callback_worst_seconds", "gauge", "The longest callback that has a budget", "worst_ns",
		  true },
		{ "skep_plugin_overruns_total", "counter", "Callbacks that took longer than their budget", "overruns",
		  false },
		{ "skep_plugin_work_stuck_seconds", "gauge", "For how long its work has not returned, from 35 s on",
		  "stuck_ns", true },
		{ "skep_plugin_retries", "gauge", "Attempts to start it again since it failed", "retries", false },
	};
	const json_t *one;
	size_t i;

	for (size_t f = 0; f < sizeof(figures) / sizeof(figures[0]); f++) {
		family(out, figures[f].name, figures[f].type, figures[f].help);
		json_array_foreach(list, i, one) {
			labels_of(out, figures[f].name, one);
			fputc('}', out);
			if (figures[f].is_time)
				seconds(out, answer_u64(one, figures[f].key));
			else if (strcmp(figures[f].key, "up") == 0)
				number(out, answer_true(one, "up"));
			else
				number(out, answer_u64(one, figures[f].key));
		}
	}
}

static void counters(const json_t *list, FILE *out)
{
	const json_t *one;
	size_t i;

	family(out, "skep_plugin_counter", "untyped",
	       "A plugin's own counters; skep plugins NAME explains each");
	json_array_foreach(list, i, one) {
		const char *key;
		json_t *counter;

		json_object_foreach(json_object_get(one, "counters"), key, counter) {
			labels_of(out, "skep_plugin_counter", one);
			label(out, ",", "counter", key);
			fputc('}', out);
			number(out, answer_u64(counter, "value"));
		}
	}
}

static void queues(const json_t *list, FILE *out)
{
	static const struct {
		const char *name, *type, *help, *key;
	} figures[] = {
		{ "skep_sink_queue_batches", "gauge", "Batches that wait for the sink", "batches" },
		{ "skep_sink_queue_bytes", "gauge", "Memory of the batches that wait for the sink", "bytes" },
		{ "skep_sink_lag_records", "gauge",
		  "Records that the sink has not acknowledged, including records in the spool", "lag_records" },
		{ "skep_sink_lag_bytes", "gauge", "The same, in bytes of the spool", "lag_bytes" },
		{ "skep_sink_sent_bytes_total", "counter", "Bytes that the sink has sent, as far as it reports them",
		  "sent_bytes" },
		{ "skep_sink_in_flight_batches", "gauge", "Batches that the sink has not answered for",
		  "in_flight" },
		{ "skep_sink_put_off_total", "counter", "Offers of a batch that the sink has put off", "retries" },
	};
	const json_t *one;
	size_t i;

	for (size_t f = 0; f < sizeof(figures) / sizeof(figures[0]); f++) {
		family(out, figures[f].name, figures[f].type, figures[f].help);
		json_array_foreach(list, i, one) {
			if (!json_is_object(json_object_get(one, "queue")))
				continue;
			fputs(figures[f].name, out);
			label(out, "{", "sink", answer_text(one, "name"));
			fputc('}', out);
			number(out, answer_u64(json_object_get(one, "queue"), figures[f].key));
		}
	}
}

static void spool(const json_t *o, FILE *out)
{
	if (!json_is_object(o))
		return;
	single(out, "skep_spool_writable", "gauge", "1 while records and state can be written to the spool",
	       answer_true(o, "writable"));
	single(out, "skep_spool_write_errors_total", "counter", "Commits to the spool that failed",
	       answer_u64(o, "errors"));
	single(out, "skep_spool_replaced_total", "counter", "Damaged spool files that skepd renamed and replaced",
	       answer_u64(o, "replaced"));
}

static void by_where(const json_t *lost, const char *name, const json_t *stream, FILE *out)
{
	const char *where;
	json_t *n;

	json_object_foreach((json_t *)(uintptr_t)lost, where, n) {
		fputs(name, out);
		label(out, "{", "where", where);
		if (stream) {
			label(out, ",", "stream", answer_text(stream, "stream"));
			label(out, ",", "sink", answer_text(stream, "sink"));
		}
		fputc('}', out);
		number(out, answer_u64(lost, where));
	}
}

static void streams(const json_t *list, FILE *out)
{
	static const struct {
		const char *name, *type, *help, *key;
	} figures[] = {
		{ "skep_records_seen_total", "counter",
		  "Records of a stream that were for a sink; seen = delivered + filtered + lost + pending", "seen" },
		{ "skep_records_delivered_total", "counter", "Records that the sink has accepted", "delivered" },
		{ "skep_records_filtered_total", "counter", "Records that rules kept from the sink", "filtered" },
		{ "skep_records_pending", "gauge", "Records on their way to the sink", "pending" },
	};
	const json_t *one;
	size_t i;

	for (size_t f = 0; f < sizeof(figures) / sizeof(figures[0]); f++) {
		family(out, figures[f].name, figures[f].type, figures[f].help);
		json_array_foreach(list, i, one) {
			fputs(figures[f].name, out);
			label(out, "{", "stream", answer_text(one, "stream"));
			label(out, ",", "sink", answer_text(one, "sink"));
			fputc('}', out);
			number(out, answer_u64(one, figures[f].key));
		}
	}
	family(out, "skep_records_lost_total", "counter", "Records lost on the way to a sink, by where");
	json_array_foreach(list, i, one)
		by_where(json_object_get(one, "lost"), "skep_records_lost_total", one, out);
}

static void reloads(const json_t *o, FILE *out)
{
	static const char *const results[] = { "ok", "failed" };

	if (!json_is_object(o))
		return;
	family(out, "skep_reloads_total", "counter", "Reloads of the configuration");
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
		fputs("skep_reloads_total", out);
		label(out, "{", "result", results[i]);
		fputc('}', out);
		number(out, answer_u64(o, results[i]));
	}
	if (json_is_object(json_object_get(o, "last")))
		single(out, "skep_reload_last_ok", "gauge", "1 when the last reload succeeded",
		       answer_true(json_object_get(o, "last"), "ok"));
}

static void rule_hits(const json_t *figures, const char *id, FILE *out)
{
	static const struct {
		const char *key, *by;
	} by[] = { { "hits_kernel", "kernel" }, { "hits_user", "user" } };

	for (size_t i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
		fputs("skep_rule_hits_total", out);
		label(out, "{", "rule", id);
		label(out, ",", "by", by[i].by);
		fputc('}', out);
		number(out, answer_u64(figures, by[i].key));
	}
}

static void rules(const json_t *o, FILE *out)
{
	const json_t *list = json_object_get(o, "rules"), *judged = json_object_get(o, "judged"), *one;
	size_t i;

	if (!json_is_object(o))
		return;
	single(out, "skep_rules_generation", "gauge", "Number of the set of rules in use", answer_u64(o, "generation"));
	single(out, "skep_rules", "gauge", "Rules in use", json_array_size(list));
	family(out, "skep_rule_hits_total", "counter", "Verdicts by a rule, or by the default (rule \"\")");
	json_array_foreach(list, i, one)
		rule_hits(one, answer_text(one, "id"), out);
	rule_hits(json_object_get(o, "otherwise"), "", out);
	family(out, "skep_rule_ended_total", "counter", "Processes that a rule excluded and that have ended");
	json_array_foreach(list, i, one) {
		fputs("skep_rule_ended_total", out);
		label(out, "{", "rule", answer_text(one, "id"));
		fputc('}', out);
		number(out, answer_u64(one, "ended"));
	}
	single_seconds(out, "skep_rules_busy_seconds_total", "counter", "Time that skepd spent evaluating rules",
		       answer_u64(judged, "busy_ns"));
	single(out, "skep_rules_asked_total", "counter", "Questions about rules that the kernel sent to skepd",
	       answer_u64(judged, "asked"));
	single(out, "skep_rules_answers_failed_total", "counter", "Answers about rules that skepd could not give the kernel",
	       answer_u64(judged, "answers_failed"));
	single(out, "skep_rules_spent_total", "counter", "Processes recorded because the rules took longer than 20 ms",
	       answer_u64(judged, "spent"));
}

int stats_prometheus(const json_t *o, FILE *out, const struct paint_style *style)
{
	static const struct {
		const char *name, *key, *help;
	} self[] = {
		{ "skep_process_records_total", "records", "Life-cycle records received" },
		{ "skep_process_records_invalid_total", "invalid", "Life-cycle records about no process" },
		{ "skep_process_records_late_total", "late",
		  "Records about a closed process, or reported twice" },
		{ "skep_process_clamped_total", "clamped", "Figures that would have gone backwards" },
		{ "skep_process_lost_total", "processes_lost", "Processes that ended without final figures" },
		{ "skep_process_facets_late_total", "facets_late",
		  "Processes closed without waiting longer for a facet" },
		{ "skep_left_behind_total", "left_behind", "Plugins that skepd abandoned because their work did not return" },
		{ "skep_no_memory_total", "no_memory", "Records dropped: out of memory" },
		{ "skep_state_unsaved_total", "unsaved",
		  "Failures to save the state of a process, run, task or probe" },
		{ "skep_state_unrestored_total", "unrestored", "Pieces of saved state that this skepd could not use" },
		{ "skep_processes_unread_total", "unread",
		  "Processes recorded without arguments, as reading them would have blocked" },
		{ "skep_readers_replaced_total", "readers_replaced",
		  "Processes of skepd that read others' arguments and were stuck or ended" },
	};
	const json_t *cost = json_object_get(o, "cost"), *loop = json_object_get(o, "loop"),
		     *clients = json_object_get(o, "clients");

	(void)style;
	family(out, "skep_build_info", "gauge", "1; the version is a label");
	fputs("skep_build_info", out);
	label(out, "{", "version", answer_text(o, "version"));
	fputs("} 1\n", out);
	single_seconds(out, "skep_uptime_seconds", "gauge", "Time since skepd began to collect", answer_u64(o, "uptime_ns"));
	single_seconds(out, "skep_cpu_seconds_total", "counter", "CPU time of skepd", answer_u64(cost, "cpu_ns"));
	single(out, "skep_resident_memory_bytes", "gauge", "Memory of skepd", answer_u64(cost, "rss_bytes"));
	single(out, "skep_resident_memory_peak_bytes", "gauge", "Peak memory of skepd",
	       answer_u64(cost, "rss_peak_bytes"));
	single(out, "skep_open_fds", "gauge", "Open file descriptors of skepd", answer_u64(o, "fds"));
	single_seconds(out, "skep_loop_lag_seconds", "gauge", "Delay of the event loop's last tick",
		       answer_u64(loop, "lag_ns"));
	single_seconds(out, "skep_loop_lag_worst_seconds", "gauge", "Longest delay of a tick of the event loop",
		       answer_u64(loop, "lag_worst_ns"));
	single(out, "skep_processes", "gauge", "Processes in the table", answer_u64(o, "processes"));
	for (size_t i = 0; i < sizeof(self) / sizeof(self[0]); i++)
		single(out, self[i].name, "counter", self[i].help, answer_u64(json_object_get(o, "self"), self[i].key));
	single(out, "skep_queue_bytes", "gauge", "Memory of all records that wait for sinks",
	       answer_u64(json_object_get(o, "self"), "queue_bytes"));
	spool(json_object_get(o, "spool"), out);
	instances(json_object_get(o, "instances"), out);
	queues(json_object_get(o, "instances"), out);
	streams(json_object_get(o, "streams"), out);
	family(out, "skep_lost_total", "counter",
	       "Records lost, all plugins and sinks, removed ones included");
	by_where(json_object_get(o, "lost"), "skep_lost_total", NULL, out);
	reloads(json_object_get(o, "reload"), out);
	rules(json_object_get(o, "rules"), out);
	single(out, "skep_control_clients", "gauge", "Clients of the control socket", answer_u64(clients, "connected"));
	single(out, "skep_control_served_total", "counter", "Clients served", answer_u64(clients, "served"));
	single(out, "skep_control_refused_total", "counter", "Clients refused", answer_u64(clients, "refused"));
	single(out, "skep_control_waited_total", "counter",
	       "Times that a client waited because its user asked for more than a tenth of skepd's time",
	       answer_u64(clients, "waited"));
	single(out, "skep_control_dropped_total", "counter", "Clients disconnected because they did not read",
	       answer_u64(clients, "dropped"));
	counters(json_object_get(o, "instances"), out);
	return fflush(out) != 0 || ferror(out) ? (errno ? -errno : -EIO) : 0;
}
