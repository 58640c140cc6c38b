/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/hosts/hosts_text.c - prints what hosts used as a table, with a bar for each hour or group of hours.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/human.h"
#include "cli/base/table.h"
#include "cli/base/text.h"
#include "cli/hosts/hosts_print.h"

#define BARS_MOST 42
#define BAR_BYTES 3 /* of a block in UTF-8 */

struct use {
	double busy_ns, capacity_ns, runs_ns;
	uint64_t memory_bytes, memory_limit_bytes;
};

/* A GPU is one device, however many processes hold it; a container can use all CPUs of its host. */
static double capacity_of(const struct lake_host *host, const struct lake_hour *h)
{
	if (!*h->item)
		return (double)h->capacity_ns;
	return (double)h->known_ns * (strncmp(h->item, "gpu/", 4) == 0 ? 1 : host->cpus);
}

static void add(struct use *to, const struct lake_host *host, const struct lake_hour *h)
{
	to->busy_ns += (double)h->busy_ns;
	to->capacity_ns += capacity_of(host, h);
	to->runs_ns += (double)h->runs_ns;
	to->memory_bytes = h->memory_bytes > to->memory_bytes ? h->memory_bytes : to->memory_bytes;
	to->memory_limit_bytes =
		h->memory_limit_bytes > to->memory_limit_bytes ? h->memory_limit_bytes : to->memory_limit_bytes;
}

/* The share of the capacity in use; below 0: not known. */
static double share_of(const struct use *u)
{
	return u->capacity_ns > 0 ? u->busy_ns / u->capacity_ns : -1;
}

/* The hours of the host itself: its first ones. */
static struct use use_of(const struct lake_usage *u, const struct lake_host *host)
{
	struct use sum = { 0 };

	for (size_t i = 0; i < host->n_hours && !*u->hours[host->hours + i].item; i++)
		add(&sum, host, &u->hours[host->hours + i]);
	return sum;
}

static int busiest_first(const void *a, const void *b, void *arg)
{
	const struct lake_host *x = *(const struct lake_host *const *)a, *y = *(const struct lake_host *const *)b;
	const struct use of_x = use_of(arg, x), of_y = use_of(arg, y);
	const double share_x = share_of(&of_x), share_y = share_of(&of_y);

	if (share_x < share_y || share_x > share_y)
		return share_x > share_y ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* ---- bars --------------------------------------------------------------------------- */

/* The hours that one bar stands for, so that the bars leave room for the names. */
static uint64_t hours_a_bar(const struct paint *p, const struct hosts_look *look)
{
	const uint64_t hours = (look->until_ns - look->since_ns + LAKE_HOUR_NS - 1) / LAKE_HOUR_NS;
	const uint64_t bars = p->width >= 130 ? BARS_MOST : p->width >= 105 ? 24 : 14;

	return (hours + bars - 1) / bars;
}

static const char *bar(const struct paint *p, double share)
{
	static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const ascii[] = { "_", ".", ":", "-", "=", "+", "*", "#" };
	const size_t level = share >= 1 ? 7 : share > 0 ? (size_t)(share * 8) : 0;

	if (share < 0)
		return paint_glyph(p, "·", " ");
	return p->unicode ? blocks[level] : ascii[level];
}

static void bars_of(const struct paint *p, const struct hosts_look *look, const struct lake_host *host,
		    const struct lake_hour *h, size_t n, char buf[BARS_MOST * BAR_BYTES + 1])
{
	const uint64_t step = hours_a_bar(p, look) * LAKE_HOUR_NS, first = look->since_ns / LAKE_HOUR_NS * LAKE_HOUR_NS;
	size_t i = 0, used = 0;

	for (uint64_t from = first; from < look->until_ns && used + BAR_BYTES <= BARS_MOST * BAR_BYTES; from += step) {
		struct use u = { 0 };
		const char *text;

		for (; i < n && h[i].start_ns < from + step; i++)
			add(&u, host, &h[i]);
		text = bar(p, share_of(&u));
		memcpy(buf + used, text, strlen(text) + 1);
		used += strlen(text);
	}
}

/* ---- the table ------------------------------------------------------------------------ */

static int add_row(struct table *t, const struct paint *p, const struct hosts_look *look, const struct lake_host *host,
		   const struct lake_hour *h, size_t n)
{
	const bool item = n && *h->item;
	const unsigned units = paint_units(p) | HUMAN_SHORT;
	char *name = text_safe(item ? h->item : *host->name ? host->name : "a host without a name", p->unicode);
	char bars[BARS_MOST * BAR_BYTES + 1] = "", a[HUMAN_SIZE], b[HUMAN_SIZE];
	struct use u = { 0 };

	if (!name)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		add(&u, host, &h[i]);
	bars_of(p, look, host, h, n, bars);
	table_cell(t, item ? INK_NONE : INK_BOLD, "%s%s", item ? "  " : "", name);
	free(name);
	table_cell(t, INK_NONE, "%s", item || host->cpus <= 0 ? "" : human_cores(host->cpus, a));
	table_cell(t, INK_NONE, "%s", share_of(&u) < 0 ? "-" : human_percent(share_of(&u), a));
	/* the kernel counts a host's busy time and a process's CPU time by different clocks, some percent apart */
	table_cell(t, INK_NONE, "%s",
		   item || u.busy_ns <= 0 ? "" : human_percent(fmin(1, u.runs_ns / u.busy_ns), a));
	if (u.memory_limit_bytes && u.memory_bytes)
		table_cell(t, INK_NONE, "%s of %s", human_bytes(u.memory_bytes, units, a),
			   human_bytes(u.memory_limit_bytes, units, b));
	else
		table_cell(t, INK_NONE, "%s", u.memory_bytes ? human_bytes(u.memory_bytes, units, a) : "-");
	table_cell(t, INK_NONE, "%s", item ? "" : human_count(host->n_runs, a));
	table_cell(t, INK_NONE, "%s", item || !host->live_runs ? "" : human_count(host->live_runs, a));
	table_cell(t, INK_DIM, "%s", item ? "" : human_date(host->last_ns, HUMAN_DATE | HUMAN_CLOCK, a));
	table_cell(t, INK_CYAN, "%s", bars);
	return 0;
}

static int add_host(struct table *t, const struct paint *p, const struct hosts_look *look,
		    const struct lake_host *host)
{
	const struct lake_hour *h = look->usage->hours + host->hours;
	int rc = 0;

	if (!host->n_hours || *h->item) /* it has runs, and no records of its use */
		rc = add_row(t, p, look, host, h, 0);
	for (size_t i = 0, end; i < host->n_hours && rc == 0; i = end) {
		for (end = i + 1; end < host->n_hours && strcmp(h[i].item, h[end].item) == 0; end++)
			;
		rc = add_row(t, p, look, host, h + i, end - i);
	}
	return rc;
}

static int print_table(const struct paint *p, const struct hosts_look *look, const struct lake_host **hosts,
		       size_t n, size_t limit)
{
	const uint64_t hours = hours_a_bar(p, look);
	char title[32];
	const struct table_column columns[] = {
		{ .title = "host", .left = true, .flex = true },
		{ .title = "CPUs" },
		{ .title = "busy" },
		{ .title = "by runs" },
		{ .title = "memory" },
		{ .title = "runs" },
		{ .title = "now" },
		{ .title = "last record" },
		{ .title = title, .left = true },
	};
	struct table *t = table_new(columns, sizeof(columns) / sizeof(columns[0]));
	int rc = t ? 0 : -ENOMEM;

	snprintf(title, sizeof(title), hours == 1 ? "by hour" : "by %llu hours", (unsigned long long)hours);
	for (size_t i = 0; i < n && (!limit || i < limit) && rc == 0; i++)
		rc = add_host(t, p, look, hosts[i]);
	if (rc == 0)
		rc = table_print(t, p, 0, 2);
	table_free(t);
	return rc;
}

int hosts_text(const struct hosts_look *look, size_t limit, FILE *out, const struct paint_style *style)
{
	const struct lake_usage *u = look->usage;
	const struct lake_host **hosts = calloc(u->n_hosts + 1, sizeof(const struct lake_host *));
	char a[HUMAN_SIZE], b[HUMAN_SIZE], n[HUMAN_SIZE];
	struct paint p;
	int rc;

	if (!hosts)
		return -ENOMEM;
	for (size_t i = 0; i < u->n_hosts; i++)
		hosts[i] = &u->hosts[i];
	qsort_r(hosts, u->n_hosts, sizeof(*hosts), busiest_first, look->usage);
	paint_init(&p, out, style);
	rc = paint_taken(&p, INK_DIM, "", 0,
			 text_format("%s host%s, %s to %s", human_count(u->n_hosts, n), u->n_hosts == 1 ? "" : "s",
				     human_date(look->since_ns, HUMAN_DATE | HUMAN_CLOCK, a),
				     human_date(look->until_ns, HUMAN_DATE | HUMAN_CLOCK, b)));
	if (rc == 0)
		rc = print_table(&p, look, hosts, u->n_hosts, limit);
	if (rc == 0 && limit && u->n_hosts > limit)
		rc = paint_taken(&p, INK_DIM, "", 0,
				 text_format("%s more are less busy; --limit 0 prints all of them",
					     human_count(u->n_hosts - limit, n)));
	free(hosts);
	if (rc == 0 && (fflush(out) != 0 || ferror(out)))
		rc = errno ? -errno : -EIO;
	return rc;
}
