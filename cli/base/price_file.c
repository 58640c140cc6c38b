/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/price_file.c - reads a file of prices.
 */
#include "cli/base/price_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/lakepath.h"
#include "cli/base/moment.h"
#include "cli/base/skep.h"
#include "core/config/config.h"
#include "core/config/datafile.h"

#define LABELS_MOST 32

/* ---- values ------------------------------------------------------------------------ */

/* A price in units of the currency. false after an error. */
static bool money(const struct datanode *node, int64_t *ret)
{
	const double value = json_number_value(node->json);

	if (!json_is_number(node->json) || !(value >= 0 && value <= 1e6)) {
		datanode_error(node, "is no price: give a number from 0 to 1000000, such as 0.25");
		return false;
	}
	*ret = llround(value * (double)PRICE_NANO);
	return true;
}

/* "2026-07-01" (UTC) or "2026-07-01T00:00:00+02:00". false after an error. */
static bool date(const struct datanode *node, int64_t *ret)
{
	const char *text = datanode_string(node), *end;
	struct tm tm = { 0 };
	uint64_t ns = 0;

	if (!text)
		return false;
	end = strptime(text, "%Y-%m-%d", &tm);
	if (!end || (*end && moment(text, &ns) != 0) || tm.tm_year < 70 || tm.tm_year > 300) {
		datanode_error(node, "is no date: give one such as \"2026-07-01\" (midnight UTC) or "
				     "\"2026-07-01T00:00:00+02:00\", from 1970 to 2200");
		return false;
	}
	*ret = *end ? (int64_t)ns : (int64_t)timegm(&tm) * 1000000000;
	return true;
}

/* "256GiB" to KiB. */
static void memory(const struct datanode *node, uint64_t *ret)
{
	const char *text = datanode_string(node);
	uint64_t bytes;

	if (text && (config_size(text, &bytes) != 0 || bytes < 1024))
		datanode_error(node, "is no size of a memory: give one such as \"256GiB\"");
	else if (text)
		*ret = bytes / 1024;
}

static void count(const struct datanode *node, uint64_t *ret)
{
	long n = 0;

	if (datanode_number(node, 1, 1000000, &n))
		*ret = (uint64_t)n;
}

static int text_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void labels_free(char **labels)
{
	for (size_t i = 0; labels && labels[i]; i++)
		free(labels[i]);
	free(labels);
}

/* { "site": "hpc-a" } to a sorted list of "site=hpc-a", which the caller frees. 0 or -ENOMEM. */
static int labels(const struct datanode *node, char ***ret)
{
	const char *key;
	json_t *value;
	size_t n = 0;
	char **list;

	if (!json_is_object(node->json) || json_object_size(node->json) > LABELS_MOST) {
		datanode_error(node, "is no object of at most %d texts: give labels as { \"site\": \"hpc-a\" }", LABELS_MOST);
		return 0;
	}
	list = calloc(json_object_size(node->json) + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	json_object_foreach(node->json, key, value) {
		struct datanode at;
		const char *text = datanode_key(node, key, &at) ? datanode_string(&at) : NULL;

		if (text && asprintf(&list[n], "%s=%s", key, text) < 0) {
			list[n] = NULL;
			labels_free(list);
			return -ENOMEM;
		}
		n += text != NULL;
	}
	qsort(list, n, sizeof(*list), text_order);
	*ret = list;
	return 0;
}

/* ---- a price ------------------------------------------------------------------------ */

static int match_read(const struct datanode *entry, struct price *p, char ***ret_labels)
{
	static const char *const known[] = { "host", "instance_type", "labels", NULL };
	struct datanode match, node;

	if (!datanode_key(entry, "match", &match) || !datanode_object(&match, known))
		return 0;
	if (datanode_key(&match, "host", &node))
		p->host = datanode_glob(&node);
	if (datanode_key(&match, "instance_type", &node))
		p->instance_type = datanode_glob(&node);
	return datanode_key(&match, "labels", &node) ? labels(&node, ret_labels) : 0;
}

static void split_read(const struct datanode *entry, struct price *p)
{
	static const char *const known[] = { "cpu", "memory", "gpu", NULL };
	struct datanode split, node;
	long sum = 0;

	if (!datanode_key(entry, "split", &split)) {
		if (p->by_machine)
			datanode_error(entry, "has machine_hour but no split: say how a machine's price splits into its parts, in "
					      "percent, such as \"split\": { \"cpu\": 70, \"memory\": 30 }");
		return;
	}
	if (!p->by_machine)
		datanode_error(&split, "is only for machine_hour: prices of cores, GiB and GPUs need none; remove it");
	if (!datanode_object(&split, known))
		return;
	for (int r = 0; r < PRICE_RESOURCES; r++) {
		long percent = 0;

		if (datanode_key(&split, known[r], &node) && !datanode_number(&node, 0, 100, &percent))
			return;
		p->split[r] = (unsigned)percent;
		sum += percent;
	}
	if (sum != 100)
		datanode_error(&split, "adds up to %ld percent: make it 100", sum);
}

static void hours_read(const struct datanode *entry, struct price *p)
{
	static const char *const units[] = { "core_hour", "gib_hour", "gpu_hour" };
	struct datanode node;
	bool any = false;

	if (datanode_key(entry, "machine_hour", &node))
		p->by_machine = money(&node, &p->hour[PRICE_CPU]);
	for (int r = 0; r < PRICE_RESOURCES; r++) {
		if (!datanode_key(entry, units[r], &node))
			continue;
		any = true;
		if (p->by_machine)
			datanode_error(&node, "beside machine_hour: give the price of the machine, or those of its parts");
		else
			money(&node, &p->hour[r]);
	}
	if (!any && !p->by_machine && !datanode_key(entry, "machine_hour", &node))
		datanode_error(entry, "has no price: give machine_hour and split, or core_hour, gib_hour and gpu_hour");
}

static void extras_read(const struct datanode *entry, struct price *p)
{
	struct datanode node;
	double percent;

	if (datanode_key(entry, "cores", &node))
		count(&node, &p->has.cores);
	if (datanode_key(entry, "memory", &node))
		memory(&node, &p->has.memory_kib);
	if (datanode_key(entry, "gpus", &node))
		count(&node, &p->has.gpus);
	if (p->by_machine && p->split[PRICE_GPU] && !p->has.gpus)
		datanode_error(entry, "splits a part of its price off for GPUs but has no `gpus`: give the number of GPUs of such a "
				      "machine");
	if (datanode_key(entry, "energy_kwh", &node))
		p->has_energy = money(&node, &p->kwh);
	if (!datanode_key(entry, "overhead_percent", &node))
		return;
	percent = json_number_value(node.json);
	if (!json_is_number(node.json) || !(percent >= 0 && percent <= 1000))
		datanode_error(&node, "is no share of a price: give a number of percent from 0 to 1000, such as 12.5");
	else
		p->overhead_ppm = (uint32_t)lround(percent * 10000);
}

static int price_read(const struct datanode *entry, struct price_table *t)
{
	static const char *const known[] = { "name",  "match",  "from", "until",      "machine_hour",     "split", "core_hour",
					     "gib_hour", "gpu_hour", "cores", "memory", "gpus", "overhead_percent", "energy_kwh",
					     NULL };
	struct price p = { .until_ns = PRICE_ALWAYS };
	struct datanode node;
	char **list = NULL;
	int err;

	if (!datanode_object(entry, known))
		return 0;
	err = match_read(entry, &p, &list);
	p.labels = (const char *const *)list;
	if (datanode_key(entry, "from", &node))
		date(&node, &p.from_ns);
	if (datanode_key(entry, "until", &node))
		date(&node, &p.until_ns);
	hours_read(entry, &p);
	split_read(entry, &p);
	extras_read(entry, &p);
	p.name = datanode_key(entry, "name", &node) ? datanode_string(&node) : NULL;
	if (!p.name)
		p.name = p.host ? p.host : p.instance_type ? p.instance_type : list && *list ? *list : "default";
	if (!err)
		err = price_table_add(t, &p);
	labels_free(list);
	return err;
}

static int host_read(const struct datanode *entry, struct price_table *t)
{
	static const char *const known[] = { "host", "instance_type", "labels", NULL };
	struct price_host h = { 0 };
	struct datanode node;
	char **list = NULL;
	int err = 0;

	if (!datanode_object(entry, known))
		return 0;
	if (datanode_key(entry, "host", &node))
		h.host = datanode_glob(&node);
	else
		datanode_error(entry, "has no `host`: give the pattern of its hosts' names, such as \"gpu*\"");
	if (datanode_key(entry, "instance_type", &node))
		h.instance_type = datanode_string(&node);
	if (datanode_key(entry, "labels", &node))
		err = labels(&node, &list);
	h.labels = (const char *const *)list;
	if (!err)
		err = price_table_add_host(t, &h);
	labels_free(list);
	return err;
}

/* ---- the file ------------------------------------------------------------------------- */

struct reading {
	struct price_table *table;
	const struct datanode *prices;
};

static const char *day(int64_t ns, char buf[32])
{
	const time_t t = (time_t)(ns / 1000000000);
	struct tm tm;

	strftime(buf, 32, ns % 86400000000000 ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%d", gmtime_r(&t, &tm));
	return buf;
}

/* The date of a price's key, as a text; `without` if the price lacks the key. */
static const char *bound(const struct datanode *entry, const char *key, const char *without, char buf[32])
{
	struct datanode node;
	int64_t ns;

	return datanode_key(entry, key, &node) && date(&node, &ns) ? day(ns, buf) : without;
}

static void say_problem(void *arg, enum price_problem problem, size_t at, size_t other)
{
	struct reading *in = arg;
	struct datanode entry, before, node;
	char from[32], until[32];
	int line;

	datanode_at(in->prices, at, &entry);
	datanode_at(in->prices, other, &before);
	line = before.pos ? before.pos->line : 0;
	switch (problem) {
	case PRICE_EMPTY:
		datanode_error(datanode_key(&entry, "until", &node) ? &node : &entry,
			       "the price ends at %s, not after it begins at %s: exchange or correct the dates",
			       bound(&entry, "until", "no time", until), bound(&entry, "from", "the beginning of time", from));
		break;
	case PRICE_OVERLAP:
		datanode_error(&entry,
			       "overlaps prices[%zu] of line %d, which is for the same machines and holds until %s: end that one "
			       "with \"until\": \"%s\"",
			       other, line, bound(&before, "until", "ever", until), bound(&entry, "from", "a date", from));
		break;
	case PRICE_GAP:
		datanode_error(&entry,
			       "no price holds for these machines from %s, where prices[%zu] of line %d ends, to %s: write "
			       "\"from\": \"%s\", or add a price for the time between",
			       bound(&before, "until", "", until), other, line, bound(&entry, "from", "", from), until);
		break;
	case PRICE_HIDDEN:
		datanode_error(&entry, "never holds: prices[%zu] of line %d is for all machines and comes first; move it to the end",
			       other, line);
		break;
	}
}

static int entries(const struct datanode *list, struct price_table *t,
		   int (*read)(const struct datanode *, struct price_table *))
{
	int err = 0;

	if (!datanode_array(list))
		return 0;
	for (size_t i = 0; i < json_array_size(list->json) && !err; i++) {
		struct datanode entry;

		datanode_at(list, i, &entry);
		err = read(&entry, t);
	}
	return err;
}

static int table_read(const struct datanode *root, void *arg)
{
	static const char *const known[] = { "currency", "hosts", "prices", NULL };
	struct price_table **ret = arg;
	const size_t errors = root->diag->n_errors;
	struct datanode node, prices;
	const char *currency = NULL;
	int err = 0;

	if (!datanode_object(root, known))
		return 0;
	if (!datanode_key(root, "currency", &node))
		datanode_error(root, "has no `currency`: give one such as \"EUR\"");
	else if ((currency = datanode_string(&node)) && strlen(currency) > 8)
		datanode_error(&node, "is longer than 8 letters: give a code such as \"EUR\"");
	*ret = price_table_new(currency ? currency : "");
	if (!*ret)
		return -ENOMEM;
	if (datanode_key(root, "hosts", &node))
		err = entries(&node, *ret, host_read);
	if (!datanode_key(root, "prices", &prices)) {
		datanode_error(root, "has no `prices`: give a list of them");
		return err;
	}
	if (!err)
		err = entries(&prices, *ret, price_read);
	if (!err && json_is_array(prices.json) && !json_array_size(prices.json))
		datanode_error(&prices, "has no price in it: add one");
	if (!err && root->diag->n_errors == errors) /* else the numbers of the table are not those of the list */
		err = price_table_check(*ret, say_problem, &(struct reading){ *ret, &prices });
	return err;
}

int price_file_read(const char *text, size_t len, const char *name, struct price_table **ret, struct diag *diag)
{
	struct price_table *table = NULL;
	const char *const files[] = { text ? NULL : name, NULL };
	int err = datafile_read(text, len, name, files, table_read, &table, diag);

	if (!err && !table) /* an empty folder */
		diag_add(diag, DIAG_ERROR, name, 0, 0, "is no file of prices: give the path of one");
	if (err || !table) {
		price_table_free(table);
		return err ? err : -EINVAL;
	}
	*ret = table;
	return 0;
}

int price_file_open(const char *command, const char *file, struct price_table **ret)
{
	char *configured = NULL, why[1024] = "";
	struct diag diag;
	int err, status = SKEP_EXIT_OK;

	*ret = NULL;
	if (!file && prices_configured(&configured, why, sizeof(why)) != 0)
		return skep_fail(command, SKEP_EXIT_CONFIG, "%s", why);
	file = file ? file : configured;
	if (!file)
		return SKEP_EXIT_OK;
	diag_init(&diag);
	err = price_file_read(NULL, 0, file, ret, &diag);
	if (err) {
		fflush(stdout);
		diag_print(&diag, stderr);
		status = skep_fail(command, SKEP_EXIT_CONFIG, "cannot use the prices of %s: %s", file,
				   err == -ENOMEM ? "out of memory" : "correct the errors above");
	}
	diag_clear(&diag);
	free(configured);
	return status;
}

/* ---- amounts as text ---------------------------------------------------------------------- */

const char *price_text(int64_t nano, unsigned decimals, char buf[PRICE_TEXT_SIZE])
{
	uint64_t unit = 1, value = nano < 0 ? -(uint64_t)nano : (uint64_t)nano, whole = (uint64_t)PRICE_NANO;

	for (unsigned i = decimals; i < 9; i++)
		unit *= 10;
	value = (value + unit / 2) / unit;
	whole /= unit;
	if (decimals)
		snprintf(buf, PRICE_TEXT_SIZE, "%s%llu.%0*llu", nano < 0 && value ? "-" : "", (unsigned long long)(value / whole),
			 (int)decimals, (unsigned long long)(value % whole));
	else
		snprintf(buf, PRICE_TEXT_SIZE, "%s%llu", nano < 0 && value ? "-" : "", (unsigned long long)value);
	return buf;
}

unsigned price_decimals(int64_t nano)
{
	return nano >= 10 * PRICE_NANO ? 2 : nano >= PRICE_NANO / 10 ? 4 : 6;
}
