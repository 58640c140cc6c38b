/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/cost/cost_json.c - prints a bill as JSON: amounts are whole billionths of the currency.
 */
#include <errno.h>
#include <stdlib.h>

#include "cli/base/json_out.h"
#include "cli/cost/cost_print.h"

static const char *const kinds[] = {
	[COST_NO_PRICE] = "no_price",         [COST_NO_CAPACITY] = "no_capacity", [COST_NO_RECORDS] = "no_records",
	[COST_NO_GPUS] = "no_gpus",           [COST_TWO_HOSTS] = "two_hosts",     [COST_TOO_LARGE] = "too_large",
	[COST_NO_ENERGY] = "no_energy",       [COST_PART_ENERGY] = "part_energy", [COST_NO_SYSTEM] = "no_system",
	[COST_CLAIMS_SCALED] = "claims_scaled",
};

static json_t *row_json(const struct cost_row *row, enum cost_by by)
{
	const json_int_t cost = row->used + row->reserved;
	char *name = cost_row_name(row, by);
	json_t *one = name ? json_pack("{s:o, s:b, s:I, s:I, s:I, s:I}", cost_by_names[by],
				       by == COST_USER ? json_out_string(name)
				       : *row->name    ? json_out_string(row->name)
						       : json_null(),
				       "others", row->others, "cpu_ns", (json_int_t)row->core_ns, "used_nano",
				       (json_int_t)row->used, "reserved_nano", (json_int_t)row->reserved, "cost_nano",
				       cost)
			    : NULL;
	int rc = 0;

	free(name);
	if (one && by == COST_USER && row->others)
		rc = json_object_set_new(one, "user", json_null());
	else if (one && by == COST_USER)
		rc = json_object_set_new(one, "uid", json_integer((json_int_t)row->uid));
	if (one && by == COST_RUN && rc == 0)
		rc = json_object_set_new(one, "name", json_out_string(row->title));
	if (rc == 0)
		return one;
	json_decref(one);
	return NULL;
}

static json_t *problem_json(const struct cost_problem *p)
{
	char *text = cost_problem_text(p);
	json_t *one = text ? json_pack("{s:s, s:o, s:o, s:o, s:I, s:o, s:b}", "kind", kinds[p->kind], "host",
				       json_out_string(p->host), "from", json_out_time(p->from_ns), "until",
				       json_out_time(p->until_ns), "lacking_ns", (json_int_t)p->lacking_ns, "message",
				       json_out_string(text), "missing", cost_is_gap(p->kind))
			   : NULL;

	free(text);
	return one;
}

int cost_json(const struct cost *c, const struct cost_query *q, FILE *out)
{
	const bool any = c->machine_ns > 0;
	json_t *rows = json_array(), *problems = json_array();
	bool complete = any, energy = c->energy_priced;
	int rc = rows && problems ? 0 : -ENOMEM;

	for (size_t i = 0; i < c->n_rows && rc == 0; i++)
		rc = json_array_append_new(rows, row_json(&c->rows[i], q->by)) == 0 ? 0 : -ENOMEM;
	for (size_t i = 0; i < c->n_problems && rc == 0; i++) {
		complete &= !cost_is_gap(c->problems[i].kind);
		energy &= c->problems[i].kind != COST_NO_ENERGY;
		rc = json_array_append_new(problems, problem_json(&c->problems[i])) == 0 ? 0 : -ENOMEM;
	}
	if (rc) {
		json_decref(rows);
		json_decref(problems);
		return rc;
	}
#define NANO(value_) json_integer((json_int_t)(value_))
	return json_out_write(
		json_pack("{s:o, s:s, s:o, s:o, s:I, s:I, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:{s:I, s:I, s:o}, s:I, s:I, "
			  "s:o}",
			  "currency", json_out_string(c->currency), "by", cost_by_names[q->by], "since", json_out_time(q->since_ns),
			  "until", json_out_time(q->until_ns), "hosts", (json_int_t)c->n_hosts, "machine_ns",
			  (json_int_t)c->machine_ns, "complete", complete, "rows", rows, "used_nano",
			  any ? NANO(c->used) : json_null(), "reserved_nano", any ? NANO(c->reserved) : json_null(), "idle_nano",
			  any ? NANO(c->idle) : json_null(), "overhead_nano",
			  any ? NANO(c->system + c->added) : json_null(), "overhead_system_nano",
			  any && c->system_known ? NANO(c->system) : json_null(), "overhead_added_nano",
			  any ? NANO(c->added) : json_null(), "bill_nano", any ? NANO(c->bill) : json_null(), "energy", "mj",
			  (json_int_t)c->energy_mj, "gpu_mj", (json_int_t)c->gpu_energy_mj, "cost_nano",
			  energy ? NANO(c->energy) : json_null(), "running", (json_int_t)c->n_running, "spread",
			  (json_int_t)c->n_spread, "problems", problems),
		out);
#undef NANO
}
