/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/price.c - a table of prices, and the value of machine time.
 */
#include "analysis/price.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "filters/glob.h"

#define HOUR_NS      UINT64_C(3600000000000)
#define KIB_IN_GIB   (UINT64_C(1) << 20)
#define KWH_MJ       UINT64_C(3600000000) /* millijoules */
#define PPM          UINT64_C(1000000)

/* No 64 bits hold a year of a large machine at a price in billionths. */
typedef unsigned __int128 wide;

struct price_table {
	char *currency;
	struct price *prices;
	size_t n, room;
	struct price_host *hosts;
	size_t n_hosts, hosts_room;
};

/* ---- the table ------------------------------------------------------------------ */

struct price_table *price_table_new(const char *currency)
{
	struct price_table *t = calloc(1, sizeof(*t));

	if (t && !(t->currency = strdup(currency)))
		return price_table_free(t);
	return t;
}

static void labels_free(const char *const *labels)
{
	for (size_t i = 0; labels && labels[i]; i++)
		free((char *)labels[i]);
	free((void *)labels);
}

static void price_free(struct price *p)
{
	free((char *)p->name);
	free((char *)p->host);
	free((char *)p->instance_type);
	labels_free(p->labels);
}

static void host_free(struct price_host *h)
{
	free((char *)h->host);
	free((char *)h->instance_type);
	labels_free(h->labels);
}

struct price_table *price_table_free(struct price_table *t)
{
	if (!t)
		return NULL;
	for (size_t i = 0; i < t->n; i++)
		price_free(&t->prices[i]);
	for (size_t i = 0; i < t->n_hosts; i++)
		host_free(&t->hosts[i]);
	free(t->prices);
	free(t->hosts);
	free(t->currency);
	free(t);
	return NULL;
}

const char *price_currency(const struct price_table *t)
{
	return t->currency;
}

/* Replaces a borrowed text by a copy. false: no memory. */
static bool keep(const char **text)
{
	if (*text)
		*text = strdup(*text);
	return *text;
}

/* The same for a list; on failure *ret is NULL, or has the texts that were copied. */
static bool keep_list(const char *const **list)
{
	const char *const *from = *list;
	const char **copy;
	size_t n = 0;

	while (from[n])
		n++;
	copy = calloc(n + 1, sizeof(*copy));
	*list = copy;
	for (size_t i = 0; copy && i < n; i++) {
		copy[i] = from[i];
		if (!keep(&copy[i]))
			return false;
	}
	return copy;
}

/* Copies the texts that are there; the others are NULL, so that the object can be freed on failure. */
static bool keep_machines(const char **host, const char **type, const char *const **labels)
{
	const bool has_host = *host, has_type = *type, has_labels = *labels;
	const char *const *list = *labels;
	bool ok = true;

	*labels = NULL;
	ok &= !has_host || keep(host);
	ok &= !has_type || keep(type);
	if (has_labels) {
		*labels = list;
		ok &= keep_list(labels);
	}
	return ok;
}

/* Makes room for one more. NULL: no memory. */
static void *grown(void *list, size_t n, size_t *room, size_t size)
{
	const size_t more = *room ? 2 * *room : 8;
	void *larger = n < *room ? list : reallocarray(list, more, size);

	if (larger && n == *room)
		*room = more;
	return larger;
}

int price_table_add(struct price_table *t, const struct price *price)
{
	struct price p = *price, *list = grown(t->prices, t->n, &t->room, sizeof(*list));
	bool ok;

	if (!list)
		return -ENOMEM;
	t->prices = list;
	ok = keep(&p.name);
	ok &= keep_machines(&p.host, &p.instance_type, &p.labels);
	if (!ok) {
		price_free(&p);
		return -ENOMEM;
	}
	t->prices[t->n++] = p;
	return 0;
}

int price_table_add_host(struct price_table *t, const struct price_host *host)
{
	struct price_host h = *host, *list = grown(t->hosts, t->n_hosts, &t->hosts_room, sizeof(*list));

	if (!list)
		return -ENOMEM;
	t->hosts = list;
	if (!keep_machines(&h.host, &h.instance_type, &h.labels)) {
		host_free(&h);
		return -ENOMEM;
	}
	t->hosts[t->n_hosts++] = h;
	return 0;
}

/* ---- which price holds ------------------------------------------------------------ */

static bool glob_holds(const char *pattern, const char *text)
{
	return !pattern || glob_match(pattern, text, strlen(text));
}

static bool has_label(const struct price_table *t, const char *host, const char *label)
{
	for (size_t i = 0; i < t->n_hosts; i++) {
		if (!glob_holds(t->hosts[i].host, host))
			continue;
		for (const char *const *l = t->hosts[i].labels; l && *l; l++)
			if (strcmp(*l, label) == 0)
				return true;
	}
	return false;
}

/* The type that the records show; else the first that a user gave. */
static const char *type_of(const struct price_table *t, const struct price_machine *m)
{
	if (m->instance_type && *m->instance_type)
		return m->instance_type;
	for (size_t i = 0; i < t->n_hosts; i++)
		if (t->hosts[i].instance_type && glob_holds(t->hosts[i].host, m->host))
			return t->hosts[i].instance_type;
	return "";
}

static bool matches(const struct price_table *t, const struct price *p, const struct price_machine *m)
{
	if (!glob_holds(p->host, m->host) || !glob_holds(p->instance_type, type_of(t, m)))
		return false;
	for (const char *const *l = p->labels; l && *l; l++)
		if (!has_label(t, m->host, *l))
			return false;
	return true;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_machines(const struct price *a, const struct price *b)
{
	const char *const *x = a->labels, *const *y = b->labels;

	for (; x && y && *x && *y; x++, y++)
		if (strcmp(*x, *y) != 0)
			return false;
	return !(x && *x) && !(y && *y) && same_text(a->host, b->host) && same_text(a->instance_type, b->instance_type);
}

const struct price *price_find(const struct price_table *t, const struct price_machine *m, int64_t at_ns)
{
	const struct price *first = NULL;

	for (size_t i = 0; i < t->n; i++) {
		const struct price *p = &t->prices[i];

		if (first ? !same_machines(first, p) : !matches(t, p, m))
			continue;
		first = first ? first : p; /* its machines decide: outside its times the machine has no price */
		if (p->from_ns <= at_ns && at_ns < p->until_ns)
			return p;
	}
	return NULL;
}

int64_t price_next_change(const struct price_table *t, const struct price_machine *m, int64_t from_ns)
{
	int64_t next = PRICE_ALWAYS;

	for (size_t i = 0; i < t->n; i++) {
		const struct price *p = &t->prices[i];

		if (!matches(t, p, m))
			continue;
		if (p->from_ns > from_ns && p->from_ns < next)
			next = p->from_ns;
		if (p->until_ns > from_ns && p->until_ns < next)
			next = p->until_ns;
	}
	return next;
}

/* ---- a table without gaps --------------------------------------------------------- */

static int by_begin(const void *a, const void *b, void *arg)
{
	const struct price *prices = arg, *x = &prices[*(const size_t *)a], *y = &prices[*(const size_t *)b];

	if (x->from_ns != y->from_ns)
		return x->from_ns < y->from_ns ? -1 : 1;
	return *(const size_t *)a < *(const size_t *)b ? -1 : 1;
}

/* The prices of the same machines, by time: each begins where the one before it ends. */
static void check_times(const struct price_table *t, size_t *order, size_t n, price_problem_fn *fn, void *arg)
{
	int64_t end = 0;
	size_t last = 0;

	qsort_r(order, n, sizeof(*order), by_begin, t->prices);
	for (size_t i = 0; i < n; i++) {
		const struct price *p = &t->prices[order[i]];

		if (p->until_ns <= p->from_ns)
			fn(arg, PRICE_EMPTY, order[i], order[i]);
		else if (i && p->from_ns < end)
			fn(arg, PRICE_OVERLAP, order[i], order[last]);
		else if (i && p->from_ns > end)
			fn(arg, PRICE_GAP, order[i], order[last]);
		if (!i || p->until_ns > end) {
			end = p->until_ns;
			last = i;
		}
	}
}

int price_table_check(const struct price_table *t, price_problem_fn *fn, void *arg)
{
	size_t *order = calloc(t->n + 1, sizeof(*order));
	size_t all = t->n; /* the first that matches every machine */

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++) {
		size_t n = 0;
		bool first = true;

		for (size_t j = 0; j < i && first; j++)
			first = !same_machines(&t->prices[i], &t->prices[j]);
		if (!first)
			continue;
		if (all < t->n)
			fn(arg, PRICE_HIDDEN, i, all);
		if (all == t->n && !t->prices[i].host && !t->prices[i].instance_type &&
		    !(t->prices[i].labels && *t->prices[i].labels))
			all = i;
		for (size_t j = i; j < t->n; j++)
			if (same_machines(&t->prices[i], &t->prices[j]))
				order[n++] = j;
		check_times(t, order, n, fn, arg);
	}
	free(order);
	return 0;
}

/* ---- the value of time -------------------------------------------------------------- */

struct price_capacity price_capacity(const struct price *p, const struct price_machine *m)
{
	return (struct price_capacity){
		.cores = p->has.cores ? p->has.cores : m->has.cores,
		.memory_kib = p->has.memory_kib ? p->has.memory_kib : m->has.memory_kib,
		.gpus = p->has.gpus ? p->has.gpus : m->has.gpus,
	};
}

static uint64_t capacity_of(const struct price_capacity *c, enum price_resource r)
{
	return r == PRICE_CPU ? c->cores : r == PRICE_MEMORY ? c->memory_kib : c->gpus;
}

static int narrow(wide value, int64_t *ret)
{
	if (value > (wide)INT64_MAX)
		return -ERANGE;
	*ret = (int64_t)value;
	return 0;
}

int price_of_machine(const struct price *p, const struct price_capacity *c, uint64_t ns,
		     int64_t ret_parts[PRICE_RESOURCES], int64_t *ret)
{
	int64_t parts[PRICE_RESOURCES] = { 0 }, sum = 0, whole = 0;
	int err = 0;

	if (p->by_machine)
		err = narrow(((wide)(uint64_t)p->hour[PRICE_CPU] * ns + HOUR_NS / 2) / HOUR_NS, &whole);
	for (int r = 0; r < PRICE_RESOURCES && !err; r++) {
		const uint64_t has = capacity_of(c, (enum price_resource)r);

		if (p->by_machine ? !p->split[r] : !p->hour[r])
			continue;
		if (!has && r != PRICE_GPU) /* a price of a GPU's hour holds for machines without one, too */
			return -ENODATA;
		if (!has && p->by_machine)
			return -ENODATA;
		if (p->by_machine)
			parts[r] = price_share(whole, p->split[r], 100);
		else
			err = narrow((wide)(uint64_t)p->hour[r] * has * ns / HOUR_NS /
					     (r == PRICE_MEMORY ? KIB_IN_GIB : 1),
				     &parts[r]);
		if (!err && __builtin_add_overflow(sum, parts[r], &sum))
			err = -ERANGE;
	}
	if (err)
		return err;
	if (p->by_machine) { /* what rounding down left over is part of the first */
		int r = p->split[PRICE_CPU] ? PRICE_CPU : p->split[PRICE_MEMORY] ? PRICE_MEMORY : PRICE_GPU;

		parts[r] += whole - sum;
		sum = whole;
	}
	memcpy(ret_parts, parts, sizeof(parts));
	*ret = sum;
	return 0;
}

int price_of_use(const struct price *p, const struct price_capacity *c, enum price_resource r, uint64_t amount,
		 int64_t *ret)
{
	const uint64_t has = capacity_of(c, r), hour = r == PRICE_MEMORY ? 3600 : HOUR_NS;

	if (p->by_machine && !p->split[r])
		return narrow(0, ret);
	if (p->by_machine)
		return has ? narrow((wide)(uint64_t)p->hour[PRICE_CPU] * p->split[r] * amount / has / hour / 100, ret)
			   : -ENODATA;
	return narrow((wide)(uint64_t)p->hour[r] * amount / hour / (r == PRICE_MEMORY ? KIB_IN_GIB : 1), ret);
}

int price_of_uses(const struct price *p, const struct price_capacity *c, const double amounts[PRICE_RESOURCES],
		  int64_t *ret)
{
	int64_t sum = 0, one;

	for (int r = 0; r < PRICE_RESOURCES; r++) {
		int err;

		if (!(amounts[r] > 0))
			continue;
		if (amounts[r] >= 9e18)
			return -ERANGE;
		err = price_of_use(p, c, (enum price_resource)r, (uint64_t)amounts[r], &one);
		if (err)
			return err;
		if (__builtin_add_overflow(sum, one, &sum))
			return -ERANGE;
	}
	*ret = sum;
	return 0;
}

int64_t price_overhead(const struct price *p, int64_t nano)
{
	return (int64_t)((wide)(uint64_t)nano * p->overhead_ppm / PPM);
}

int price_of_energy(const struct price *p, uint64_t millijoules, int64_t *ret)
{
	return narrow((wide)(uint64_t)p->kwh * millijoules / KWH_MJ, ret);
}

int64_t price_share(int64_t value, uint64_t part, uint64_t whole)
{
	return (int64_t)((wide)(uint64_t)value * part / whole);
}

struct remainder {
	int64_t rest;
	size_t at;
};

static int largest_first(const void *a, const void *b)
{
	const struct remainder *x = a, *y = b;

	if (x->rest != y->rest)
		return x->rest > y->rest ? -1 : 1;
	return x->at < y->at ? -1 : 1;
}

int price_round(int64_t *values, size_t n, int64_t unit, int64_t *ret_sum)
{
	struct remainder *rests = calloc(n + 1, sizeof(*rests));
	int64_t left = 0;
	size_t ups;

	if (!rests)
		return -ENOMEM;
	*ret_sum = 0;
	for (size_t i = 0; i < n; i++) {
		rests[i] = (struct remainder){ values[i] % unit, i };
		left += rests[i].rest;
		values[i] -= rests[i].rest;
		*ret_sum += values[i];
	}
	ups = (size_t)((left + unit / 2) / unit);
	qsort(rests, n, sizeof(*rests), largest_first);
	for (size_t i = 0; i < ups && i < n; i++) {
		values[rests[i].at] += unit;
		*ret_sum += unit;
	}
	free(rests);
	return 0;
}
