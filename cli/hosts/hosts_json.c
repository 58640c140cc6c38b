/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/hosts/hosts_json.c - prints what hosts used as JSON.
 */
#include "cli/base/json_stream.h"
#include "cli/hosts/hosts_print.h"

#include <string.h>

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

/* The hours of one item, as columns: a fleet's week has 168 of each host. */
static void put_hours(struct json_stream *j, const struct lake_hour *h, size_t n)
{
	json_stream_columns_open(j, "hours");
	for (size_t i = 0; i < n; i++) {
		json_stream_open(j, NULL, '{');
		json_stream_time(j, "start", h[i].start_ns);
		json_stream_real(j, "known_s", seconds(h[i].known_ns));
		json_stream_real(j, "capacity_s", seconds(h[i].capacity_ns));
		json_stream_real(j, "busy_s", seconds(h[i].busy_ns));
		json_stream_real(j, "idle_s", seconds(h[i].idle_ns));
		json_stream_real(j, "runs_s", seconds(h[i].runs_ns));
		json_stream_real(j, "daemons_s", seconds(h[i].daemons_ns));
		json_stream_number(j, "memory_bytes", h[i].memory_bytes);
		json_stream_number(j, "memory_limit_bytes", h[i].memory_limit_bytes);
		json_stream_number(j, "rx_bytes", h[i].rx_bytes);
		json_stream_number(j, "tx_bytes", h[i].tx_bytes);
		json_stream_number(j, "read_bytes", h[i].read_bytes);
		json_stream_number(j, "write_bytes", h[i].write_bytes);
		json_stream_close(j, '}');
	}
	json_stream_columns_close(j);
}

static void put_host(struct json_stream *j, const struct hosts_look *look, const struct lake_host *host)
{
	const struct lake_usage *u = look->usage;
	const struct lake_hour *h = u->hours + host->hours;

	json_stream_open(j, NULL, '{');
	json_stream_string(j, "host", host->name);
	json_stream_number(j, "boots", host->boots);
	json_stream_real(j, "cpus", host->cpus);
	json_stream_number(j, "memory_bytes", host->memory_bytes);
	json_stream_time(j, "first", host->first_ns);
	json_stream_time(j, "last", host->last_ns);
	json_stream_number(j, "runs", host->n_runs);
	json_stream_number(j, "live_runs", host->live_runs);
	json_stream_string(j, "last_run", host->last_run == SIZE_MAX ? NULL : u->runs[host->last_run].id);
	json_stream_open(j, "items", '[');
	for (size_t i = 0, end; i < host->n_hours; i = end) {
		for (end = i + 1; end < host->n_hours && strcmp(h[i].item, h[end].item) == 0; end++)
			;
		json_stream_open(j, NULL, '{');
		json_stream_string(j, "item", h[i].item);
		put_hours(j, h + i, end - i);
		json_stream_close(j, '}');
	}
	json_stream_close(j, ']');
	json_stream_close(j, '}');
}

int hosts_json(const struct hosts_look *look, FILE *out)
{
	struct json_stream j = { .out = out };

	json_stream_open(&j, NULL, '{');
	json_stream_time(&j, "since", look->since_ns);
	json_stream_time(&j, "until", look->until_ns);
	json_stream_open(&j, "hosts", '[');
	for (size_t i = 0; i < look->usage->n_hosts; i++)
		put_host(&j, look, &look->usage->hosts[i]);
	json_stream_close(&j, ']');
	json_stream_close(&j, '}');
	return json_stream_end(&j);
}
