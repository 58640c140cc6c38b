/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/cost/cost_text.c - prints a bill as text.
 */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/human.h"
#include "cli/base/price_file.h"
#include "cli/base/table.h"
#include "cli/base/text.h"
#include "cli/cost/cost_print.h"

#define KWH_MJ   3.6e9
#define HOUR_NS  3.6e12
#define DAY_SIZE 40

const char *const cost_by_names[] = { "pipeline", "run", "task", "tool", "user", "host", "label", NULL };

/* ---- names and problems ------------------------------------------------------------- */

char *cost_row_name(const struct cost_row *row, enum cost_by by)
{
	static const char *const none[] = {
		"(no pipeline)", "(no run)", "(outside of tasks)", "(no tool)", "", "(no host)", "(no label)"
	};
	struct passwd entry, *user = NULL;
	char text[4096];

	if (row->others)
		return text_format("(other runs)");
	if (by == COST_USER)
		return getpwuid_r((uid_t)row->uid, &entry, text, sizeof(text), &user) == 0 && user
			       ? text_format("%s", user->pw_name)
			       : text_format("uid %llu", (unsigned long long)row->uid);
	if (*row->title)
		return text_format("%s  %s", row->name, row->title);
	return text_format("%s", *row->name ? row->name : none[by]);
}

/* "2026-11-21T03:48:15Z" */
static const char *moment_text(uint64_t ns, char buf[DAY_SIZE])
{
	const time_t t = (time_t)(ns / 1000000000);
	struct tm tm;

	strftime(buf, DAY_SIZE, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
	return buf;
}

char *cost_problem_text(const struct cost_problem *p)
{
	static const char *const resources[] = { "cores", "memory", "GPUs" };
	const char *host = *p->host ? p->host : "a host without a name", *resource = resources[p->resource];
	char from[DAY_SIZE], until[DAY_SIZE], lacking[HUMAN_SIZE], time[2 * DAY_SIZE + 40];

	snprintf(time, sizeof(time), "from %s to %s%s", moment_text(p->from_ns, from), moment_text(p->until_ns, until),
		 p->n > 1 ? " (not all of it)" : "");
	human_time(p->lacking_ns, HUMAN_ASCII, lacking);
	switch (p->kind) {
	case COST_NO_PRICE:
		return text_format("%s: no price holds %s: no figure for this time; add a price to the file", host, time);
	case COST_NO_CAPACITY:
		return text_format("%s: its price needs its %s, of which the records have no figure %s: no figure for this time; "
				   "give `%s` in its price, or run the probe identity", host, resource, time, resource);
	case COST_NO_RECORDS:
		return text_format("%s: %s without records %s: no figure for it; the machine was off, or skepd did not run", host,
				   lacking, time);
	case COST_NO_GPUS:
		return text_format("%s: runs had GPUs %s and its price has gpu_hour, but how many GPUs it has is not known: no figure "
				   "of them; give `gpus` in its price", host, time);
	case COST_TWO_HOSTS:
		return text_format("%s: two machines with this name ran at once: no figure for them; give each a name of its own",
				   host);
	case COST_TOO_LARGE:
		return text_format("%s: an amount %s is larger than 9 billion: no figure for this time; check its price", host, time);
	case COST_NO_ENERGY:
		return text_format("%s: its energy has a price but was not counted %s: no figure of it; RAPL or NVML and the probe host "
				   "or gpu count it", host, time);
	case COST_PART_ENERGY:
		return text_format("%s: energy was not counted in %s %s: the figure of energy is of the rest", host, lacking, time);
	case COST_NO_SYSTEM:
		return text_format("%s: its use outside of runs is not known %s: idle includes it; the probe host counts it",
				   host, time);
	case COST_CLAIMS_SCALED:
		return text_format("%s: runs claimed %.2f times its %s %s: skep scales the claims down to its capacity", host,
				   p->ratio, resource, time);
	}
	return NULL;
}

/* ---- the table ------------------------------------------------------------------------ */

struct printing {
	const struct paint *p;
	struct table *table;
	const struct cost *cost;
	unsigned decimals;
};

/* A line of amounts; negative: an empty cell. */
static void amounts(const struct printing *in, enum ink ink, uint64_t core_ns, int64_t used, int64_t reserved,
		    int64_t sum)
{
	char buf[PRICE_TEXT_SIZE], human[HUMAN_SIZE];
	const double bill = (double)in->cost->bill;

	table_cell(in->table, ink, "%s", core_ns ? human_time(core_ns, paint_units(in->p), human) : "");
	table_cell(in->table, ink, "%s", used < 0 ? "" : price_text(used, in->decimals, buf));
	table_cell(in->table, ink, "%s", reserved < 0 ? "" : price_text(reserved, in->decimals, buf));
	table_cell(in->table, ink == INK_NONE ? INK_BOLD : ink, "%s", price_text(sum, in->decimals, buf));
	table_cell(in->table, INK_DIM, "%s", bill > 0 ? human_percent((double)sum / bill, human) : "");
}

static void line(const struct printing *in, enum ink ink, const char *name, int64_t sum)
{
	table_cell(in->table, ink, "%s", name);
	amounts(in, ink, 0, -1, -1, sum);
}

static int rows(const struct printing *in, const struct cost_query *q, size_t limit)
{
	struct cost_row rest = { .name = "", .title = "" };
	size_t n_rest = 0;

	for (size_t i = 0; i < in->cost->n_rows; i++) {
		const struct cost_row *row = &in->cost->rows[i];
		char *name, *safe;

		if (limit && i >= limit && !row->others) {
			rest.used += row->used;
			rest.reserved += row->reserved;
			rest.core_ns += row->core_ns;
			n_rest++;
			continue;
		}
		name = cost_row_name(row, q->by);
		safe = name ? text_safe(name, in->p->unicode) : NULL;
		free(name);
		if (!safe)
			return -ENOMEM;
		table_cell(in->table, row->others ? INK_DIM : INK_NONE, "%s", safe);
		free(safe);
		amounts(in, row->others ? INK_DIM : INK_NONE, row->core_ns, row->used, row->reserved,
			row->used + row->reserved);
	}
	if (n_rest) {
		table_cell(in->table, INK_DIM, "(%zu more)", n_rest);
		amounts(in, INK_DIM, rest.core_ns, rest.used, rest.reserved, rest.used + rest.reserved);
	}
	return 0;
}

static int table(const struct paint *p, const struct cost *c, const struct cost_query *q, size_t limit)
{
	const struct table_column columns[] = {
		{ .title = cost_by_names[q->by], .left = true, .flex = true },
		{ .title = "CPU" },
		{ .title = "used" },
		{ .title = "reserved, unused" },
		{ .title = "cost" },
		{ .title = "" },
	};
	struct printing in = { p, table_new(columns, sizeof(columns) / sizeof(columns[0])), c,
			       price_decimals(c->bill) };
	int rc = in.table ? rows(&in, q, limit) : -ENOMEM;

	if (rc == 0) {
		line(&in, INK_NONE, c->system_known ? "idle" : "idle, and outside of runs", c->idle);
		if (c->system_known)
			line(&in, INK_NONE, "overhead: outside of runs", c->system);
		if (c->added)
			line(&in, INK_NONE, "overhead: added by the price", c->added);
		table_cell(in.table, INK_BOLD, "bill, %s", c->currency);
		amounts(&in, INK_BOLD, 0, c->used, c->reserved, c->bill);
		rc = table_print(in.table, p, 0, 2);
	}
	table_free(in.table);
	return rc;
}

/* ---- all of it -------------------------------------------------------------------------- */

static int energy(const struct paint *p, const struct cost *c)
{
	const double kwh = (double)(c->energy_mj + c->gpu_energy_mj) / KWH_MJ;
	char buf[PRICE_TEXT_SIZE];

	if (!c->energy_mj && !c->gpu_energy_mj)
		return 0;
	return paint_taken(p, INK_NONE, "", 0,
			   c->energy_priced
				   ? text_format("energy, beside the bill: %.4g kWh, %s %s (%s)", kwh,
						 price_text(c->energy, price_decimals(c->energy), buf), c->currency,
						 !c->energy_mj       ? "GPUs only"
						 : !c->gpu_energy_mj ? "processors and memory"
								     : "processors, memory, GPUs")
				   : text_format("energy: %.4g kWh, in the price of the machines", kwh));
}

static int notes(const struct paint *p, const struct cost *c)
{
	int rc = 0;

	if (c->n_spread)
		rc = paint_taken(p, INK_DIM, "", 0,
				 text_format("%zu run%s only in part in a time of one price: %s use is spread evenly over %s time",
					     c->n_spread, c->n_spread == 1 ? " is" : "s are", c->n_spread == 1 ? "its" : "their",
					     c->n_spread == 1 ? "its" : "their"));
	if (rc == 0 && c->n_running)
		rc = paint_taken(p, INK_DIM, "", 0,
				 text_format("%zu run%s no end in the records: counted as running until now", c->n_running,
					     c->n_running == 1 ? " has" : "s have"));
	for (size_t i = 0; i < c->n_problems && rc == 0; i++)
		rc = paint_taken(p, cost_is_gap(c->problems[i].kind) ? INK_YELLOW : INK_DIM, paint_glyph(p, "▲ ", "! "), 2,
				 cost_problem_text(&c->problems[i]));
	return rc;
}

int cost_text(struct cost *c, const struct cost_query *q, size_t limit, FILE *out, const struct paint_style *style)
{
	static const int64_t units[] = { [2] = PRICE_NANO / 100, [4] = PRICE_NANO / 10000, [6] = PRICE_NANO / 1000000 };
	char from[HUMAN_SIZE], until[HUMAN_SIZE];
	struct paint p;
	int rc = cost_round(c, units[price_decimals(c->bill)]);

	paint_init(&p, out, style);
	if (rc == 0)
		rc = paint_taken(&p, INK_BOLD, "", 0,
				 text_format("%s to %s: %zu host%s, %.4g machine-hours",
					     human_date(q->since_ns, HUMAN_DATE | HUMAN_CLOCK, from),
					     human_date(q->until_ns, HUMAN_DATE | HUMAN_CLOCK | HUMAN_ZONE, until),
					     (size_t)c->n_hosts, c->n_hosts == 1 ? "" : "s", (double)c->machine_ns / HOUR_NS));
	if (rc == 0 && c->machine_ns)
		rc = table(&p, c, q, limit);
	if (rc == 0)
		rc = energy(&p, c);
	if (rc == 0)
		rc = notes(&p, c);
	if (rc == 0 && (fflush(out) != 0 || ferror(out)))
		rc = errno ? -errno : -EIO;
	return rc;
}
