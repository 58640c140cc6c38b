/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_answer.c - answers about the collector as a whole.
 */
#include <errno.h>
#include <skep/pidns.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/collect/collector.h"
#include "core/process/track.h"
#include "core/process/ledger.h"
#include "core/process/run.h"
#include "core/control/control_plugins.h"
#include "core/control/control_priv.h"
#include "core/control/control_record.h"
#include "core/base/log.h"
#include "core/control/reloader.h"

static int append(json_t *array, json_t *value)
{
	return array ? json_array_append_new(array, value) : (json_decref(value), -1);
}

/* ---- status ---------------------------------------------------------------------- */

json_t *control_losses(const uint64_t lost[DELIVERY_LOSSES])
{
	return json_pack("{s:o, s:o, s:o, s:o}", "kernel", control_json_number(lost[SKEP_LOSS_KERNEL]), "queue",
			 control_json_number(lost[SKEP_LOSS_QUEUE]), "spool",
			 control_json_number(lost[SKEP_LOSS_SPOOL]), "sink", control_json_number(lost[SKEP_LOSS_SINK]));
}

json_t *control_streams(const struct collector *c)
{
	size_t room = collector_stats(c, NULL, 0), n;
	struct collector_stream_stats *stats = room ? calloc(room, sizeof(*stats)) : NULL;
	json_t *array = json_array();

	n = stats ? collector_stats(c, stats, room) : 0;
	for (size_t i = 0; i < n && i < room; i++)
		if (append(array,
			   json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "stream", stats[i].stream, "sink",
				     stats[i].sink, "seen", control_json_number(stats[i].seen), "delivered",
				     control_json_number(stats[i].delivered), "filtered",
				     control_json_number(stats[i].filtered), "lost", control_losses(stats[i].lost),
				     "pending", control_json_number(stats[i].pending))) < 0)
			break;
	free(stats);
	return array;
}

static json_t *instances(const struct collector *c)
{
	json_t *array = json_array();

	for (const struct skep_instance *inst = collector_instances(c); inst; inst = inst->next)
		if (append(array, control_instance(inst)) < 0)
			break;
	for (const struct skep_instance *inst = NULL; (inst = collector_stuck_instance(c, inst));)
		if (append(array, control_instance(inst)) < 0)
			break;
	return array;
}

json_t *control_self(const struct collector *c)
{
	struct collector_self s;

	collector_self(c, &s);
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "records",
			 control_json_number(s.records), "invalid", control_json_number(s.invalid), "late",
			 control_json_number(s.late), "clamped", control_json_number(s.clamped), "processes_lost",
			 control_json_number(s.processes_lost), "facets_late", control_json_number(s.facets_late),
			 "no_memory", control_json_number(s.no_memory), "unsaved", control_json_number(s.unsaved),
			 "unrestored", control_json_number(s.unrestored), "queue_bytes",
			 control_json_number(s.queue_bytes), "left_behind", control_json_number(s.left_behind),
			 "unread", control_json_number(s.unread), "readers_replaced",
			 control_json_number(s.readers_replaced));
}

/* Resident pages; 0 where /proc does not say. */
static uint64_t rss_bytes(void)
{
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%*u %llu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

json_t *control_cost(void)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return json_pack(
		"{s:o, s:o, s:o}", "cpu_ns",
		control_json_number(((uint64_t)ru.ru_utime.tv_sec + (uint64_t)ru.ru_stime.tv_sec) * 1000000000u +
				    ((uint64_t)ru.ru_utime.tv_usec + (uint64_t)ru.ru_stime.tv_usec) * 1000u),
		"rss_bytes", control_json_number(rss_bytes()), "rss_peak_bytes",
		control_json_number((uint64_t)ru.ru_maxrss * 1024));
}

static void on_run(void *arg, const struct run *run)
{
	append(arg, json_pack("{s:o, s:o, s:o, s:o, s:b}", "id", control_json_string(run->id), "name",
			      control_json_string(run->name), "start",
			      control_json_time(run->start_ns, run->realtime_offset_ns), "processes",
			      control_json_number(run->alive), "by_session", (int)run->found));
}

static json_t *runs(const struct collector *c)
{
	json_t *array = json_array();

	if (array)
		collector_runs(c, on_run, array);
	return array;
}

json_t *control_clients(const struct control *control)
{
	return json_pack("{s:i, s:o, s:o, s:o, s:o}", "connected", (int)control->n_clients, "served",
			 control_json_number(control->served), "refused", control_json_number(control->refused),
			 "dropped", control_json_number(control->dropped), "waited",
			 control_json_number(control->waited));
}

/* null: this program finds none. */
static json_t *findings(const struct collector *c)
{
	const struct track *track = collector_track((struct collector *)(uintptr_t)c);
	const struct findings *fs = track ? track_findings_open(track) : NULL;
	json_t *list = json_array();

	if (!fs) {
		json_decref(list);
		return json_null();
	}
	for (const struct finding *f = fs->open; f && list; f = f->next)
		append(list, json_pack("{s:s, s:s, s:o, s:i, s:o, s:o, s:o, s:o}", "id", f->id, "kind",
				       finding_kind_name(f->kind), "since",
				       control_json_time(f->started_ns, clock_realtime_offset_ns()), "pid",
				       (int)f->upid.pid, "run", control_json_string(f->run ? f->run->text : ""), "task",
				       control_json_string(f->task ? f->task->text : ""), "tool",
				       control_json_string(f->tool ? f->tool->text : ""), "container",
				       control_json_string(f->container ? f->container->text : "")));
	return json_pack("{s:o, s:o}", "open", list, "dropped", control_json_number(fs->dropped));
}

/* null: this program does not reload. */
static json_t *reload(const struct control *control)
{
	return control->reloader ? reloader_json(control->reloader) : json_null();
}

static void on_ledger_line(void *arg, const struct ledger_line *line)
{
	append(arg, json_pack("{s:o, s:o, s:s, s:I}", "account", control_json_string(line->account), "item", control_json_string(line->item), "kind",
			      ledger_kind_name(line->kind), "amount", (json_int_t)line->amount));
}

/* null: no two samples yet. */
static json_t *ledger(const struct collector *c, bool whole)
{
	json_t *lines = json_array();
	uint64_t interval_ns = 0;

	if (lines)
		collector_ledger(c, whole, on_ledger_line, lines, &interval_ns);
	if (interval_ns > 0)
		return json_pack("{s:o, s:o}", "interval_ns", control_json_number(interval_ns), "lines", lines);
	json_decref(lines);
	return json_null();
}

static int put(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value);
}

json_t *control_spool(const struct collector *c)
{
	struct collector_spool s;

	collector_spool(c, &s);
	if (!s.path)
		return json_null();
	return json_pack("{s:o, s:b, s:o, s:o, s:i}", "path", control_json_string(s.path), "writable", (int)(s.open && !s.state.down),
			 "why", control_json_string(!s.open || s.state.down ? s.state.why : ""), "errors",
			 control_json_number(s.state.errors), "replaced", (int)s.state.replaced);
}

json_t *control_answer_status(const struct control *control)
{
	const struct collector *c = control->collector;
	uint64_t now_ns = clock_boot_ns(), lost[DELIVERY_LOSSES];
	json_t *o = json_pack("{s:b, s:s, s:s, s:i}", "ok", 1, "request", "status", "version", SKEP_VERSION, "pid",
			      (int)getpid());
	struct utsname name = { 0 };

	uname(&name);
	collector_lost(c, lost);
	if (!o || put(o, "host", control_json_string(name.nodename)) < 0 || put(o, "kernel", control_json_string(name.release)) < 0 ||
	    put(o, "boot_id", json_string(control->boot_id)) < 0 ||
	    put(o, "config", control_json_string(collector_config(c)->file)) < 0 ||
	    put(o, "start", control_json_time(control->start_ns, clock_realtime_offset_ns())) < 0 ||
	    put(o, "uptime_ns", control_json_number(now_ns - control->start_ns)) < 0 ||
	    put(o, "interval_ns", control_json_number(collector_interval_ns(c))) < 0 ||
	    put(o, "loglevel", json_string(control_level_name(log_level_now()))) < 0 ||
	    put(o, "own_pid_namespace", json_boolean(!skep_initial_pid_ns("/proc"))) < 0 ||
	    put(o, "engine_files", json_string(collector_engine_files(c))) < 0 ||
	    put(o, "processes", control_json_number(collector_processes(c))) < 0 || put(o, "runs", runs(c)) < 0 ||
	    put(o, "findings", findings(c)) < 0 || put(o, "instances", instances(c)) < 0 ||
	    put(o, "spool", control_spool(c)) < 0 ||
	    put(o, "streams", control_streams(c)) < 0 || put(o, "lost", control_losses(lost)) < 0 ||
	    put(o, "self", control_self(c)) < 0 || put(o, "cost", control_cost()) < 0 ||
	    put(o, "attached", control_attached(control)) < 0 || put(o, "clients", control_clients(control)) < 0 ||
	    put(o, "reload", reload(control)) < 0 || put(o, "ledger", ledger(c, false)) < 0 ||
	    put(o, "ledger_whole", ledger(c, true)) < 0) {
		json_decref(o);
		return NULL;
	}
	return o;
}

/* ---- the small ones -------------------------------------------------------------- */

json_t *control_answer_version(const struct control_client *client)
{
	const struct skep_instance *lake = control_lake(client->control->collector);

	return json_pack("{s:b, s:s, s:s, s:b, s:o, s:o}", "ok", 1, "request", "version", "version", SKEP_VERSION,
			 "member", (int)client->peer.member, "sink", control_json_string_or_null(lake ? lake->name : NULL),
			 "lake", lake ? control_location(lake) : json_null());
}

json_t *control_answer_runs(const struct control *control)
{
	return json_pack("{s:b, s:s, s:o}", "ok", 1, "request", "runs", "runs", runs(control->collector));
}

json_t *control_answer_details(const struct control *control)
{
	json_t *array = json_array();

	for (const struct skep_instance *inst = collector_instances(control->collector); array && inst;
	     inst = inst->next) {
		json_t *some = control_details(inst);

		if (!some || json_array_extend(array, some) < 0) {
			json_decref(some);
			json_decref(array);
			return NULL;
		}
		json_decref(some);
	}
	return json_pack("{s:b, s:s, s:o, s:o}", "ok", 1, "request", "details", "details", array, "attached",
			 control_attached(control));
}

json_t *control_answer_loglevel(const struct control_request *request)
{
	const char *before = control_level_name(log_level_now());

	if (request->level)
		log_level(request->level);
	return json_pack("{s:b, s:s, s:s, s:s}", "ok", 1, "request", "loglevel", "level",
			 control_level_name(log_level_now()), "before", before);
}
