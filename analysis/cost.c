/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/cost.c - splits the price of machines into what runs used and reserved, idle, and overhead.
 *
 * cost_time() cuts the time of a host into segments in which one price holds.  In a segment the machine's price has a
 * part for each resource. Each claim gets its share of the resource, rounded down, and idle gets the remainder: so all
 * parts add up to the price of the segment.
 */
#include "analysis/cost.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/finding.h"

#define SECOND UINT64_C(1000000000)

/* A run with its tasks, and its sums of core time and memory. */
struct claimant {
	const struct lake_run *run;
	uint64_t start_ns, end_ns; /* end_ns > start_ns */
	bool chosen;
	uint64_t kib_s, gpu_ns;                    /* used in its whole life; CPU time: run->totals */
	const struct lake_claims_task *tasks;
	size_t n_tasks;
	uint64_t tasks_core_ns;
	double tasks_kib_s;                        /* if each task had held its peak all the time */
	/*
	 * The outermost task around the run that asked for the resource: the run's use and the run's requests are parts
	 * of that task's request. NULL: none.
	 */
	const struct lake_claims_task *holder[PRICE_RESOURCES];
	const struct lake_claims_part *shares;     /* CPU time by tool or label */
	size_t n_shares;
	uint64_t shares_ns;
	bool spread;
};

struct amounts {
	uint64_t used[PRICE_RESOURCES], reserved[PRICE_RESOURCES];
};

/* What a task, or a run outside of its tasks, claims in a segment. */
struct claim {
	struct claimant *of;
	const struct lake_claims_task *task; /* NULL: outside of tasks */
	struct amounts a;
};

struct segment {
	const char *host;
	uint64_t from_ns, until_ns, covered_ns;
	const struct price *price;
	struct price_capacity has;
	uint64_t capacity[PRICE_RESOURCES]; /* in the unit of claims */
	int64_t parts[PRICE_RESOURCES];
	uint64_t busy_ns; /* CPU time of the host */
	bool busy_known;
};

struct costing {
	struct cost *to;
	const struct price_table *prices;
	const struct lake_claims *claims;
	const struct cost_query *query;
	struct claimant *claimants; /* by host, then start */
	size_t n_claimants;
	const struct lake_machine_row *rows; /* of a host */
	size_t n_rows;
	struct claim *list; /* of a segment */
	uint64_t (*held)[PRICE_RESOURCES]; /* of a segment, by index of claims->tasks: what others used of it */
	/*
	 * By index of claims->tasks: 1 + the index of the task of its job that held the job's memory or GPUs when the
	 * task began; 0: none.
	 */
	size_t (*before)[PRICE_RESOURCES];
	/* By index of claims->tasks: 1 + the index of the task of a scheduler's job in which the task ran; 0: none. */
	size_t (*around)[PRICE_RESOURCES];
	size_t n_list, list_room, rows_room, problems_room;
};

bool cost_is_gap(enum cost_problem_kind kind)
{
	return kind <= COST_TOO_LARGE;
}

/* ---- lists ------------------------------------------------------------------------------ */

/* Makes room for one more. false: no memory. */
static bool room_for(void *list, size_t n, size_t *room, size_t size)
{
	const size_t more = *room ? 2 * *room : 16;
	void **at = list, *larger;

	if (n < *room)
		return true;
	larger = reallocarray(*at, more, size);
	if (!larger)
		return false;
	*at = larger;
	*room = more;
	return true;
}

/* Problems of one kind of a host are one. */
static int add_problem(struct costing *c, struct cost_problem p)
{
	for (size_t i = c->to->n_problems; i-- > 0 && strcmp(c->to->problems[i].host, p.host) == 0;) {
		struct cost_problem *have = &c->to->problems[i];

		if (have->kind != p.kind || have->resource != p.resource)
			continue;
		have->until_ns = p.until_ns;
		have->lacking_ns += p.lacking_ns;
		have->ratio = p.ratio > have->ratio ? p.ratio : have->ratio;
		have->n++;
		return 0;
	}
	p.n = 1;
	if (!room_for(&c->to->problems, c->to->n_problems, &c->problems_room, sizeof(p)))
		return -ENOMEM;
	c->to->problems[c->to->n_problems++] = p;
	return 0;
}

static int add_row(struct costing *c, struct cost_row row)
{
	if (!room_for(&c->to->rows, c->to->n_rows, &c->rows_room, sizeof(row)))
		return -ENOMEM;
	c->to->rows[c->to->n_rows++] = row;
	return 0;
}

static uint64_t overlap(uint64_t a, uint64_t b, uint64_t from, uint64_t until)
{
	const uint64_t begin = a > from ? a : from, end = b < until ? b : until;

	return end > begin ? end - begin : 0;
}

/* amount x part / whole */
static uint64_t share(uint64_t amount, uint64_t part, uint64_t whole)
{
	return part >= whole ? amount
			     : (uint64_t)price_share((int64_t)(amount > INT64_MAX ? INT64_MAX : amount), part, whole);
}

/* ---- runs, with their tasks and tools ------------------------------------------------------ */

static int key_order(const char *run, const char *boot, const char *other_run, const char *other_boot)
{
	const int order = strcmp(run, other_run);

	return order ? order : strcmp(boot, other_boot);
}

/* The parts of that kind of a run: a range of the sorted list. */
static const struct lake_claims_part *parts_of(const struct lake_claims *all, enum lake_part part,
					       const struct lake_run *r, size_t *ret_n)
{
	size_t low = 0, high = all->n_parts, n = 0;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct lake_claims_part *p = &all->parts[middle];

		if (p->part < part || (p->part == part && key_order(p->run, p->boot_id, r->id, r->boot_id) < 0))
			low = middle + 1;
		else
			high = middle;
	}
	while (low + n < all->n_parts && all->parts[low + n].part == part &&
	       key_order(all->parts[low + n].run, all->parts[low + n].boot_id, r->id, r->boot_id) == 0)
		n++;
	*ret_n = n;
	return n ? all->parts + low : NULL; /* there may be no list */
}

static int by_key(const void *a, const void *b)
{
	const struct lake_run *x = (*(struct claimant *const *)a)->run, *y = (*(struct claimant *const *)b)->run;

	return key_order(x->id, x->boot_id, y->id, y->boot_id);
}

static const struct lake_claims_task *tasks_of(const struct lake_claims *all, const struct lake_run *r, size_t *ret_n)
{
	size_t low = 0, high = all->n_tasks, n = 0;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (key_order(all->tasks[middle].run, all->tasks[middle].boot_id, r->id, r->boot_id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	while (low + n < all->n_tasks &&
	       key_order(all->tasks[low + n].run, all->tasks[low + n].boot_id, r->id, r->boot_id) == 0)
		n++;
	*ret_n = n;
	return n ? all->tasks + low : NULL;
}

static uint64_t task_end(const struct claimant *of, const struct lake_claims_task *t)
{
	const uint64_t end = t->end_ns ? t->end_ns : of->end_ns;

	return end > t->start_ns ? end : t->start_ns + 1;
}

/* KiB x s of so many bytes for so long. */
static double kib_seconds(double bytes, uint64_t ns)
{
	return bytes / 1024 * ((double)ns / 1e9);
}

/* ns or KiB x s that are not negative; a request without sense is the largest there is. */
static uint64_t whole(double amount)
{
	return amount >= 9e18 ? (uint64_t)9e18 : amount > 0 ? (uint64_t)amount : 0;
}

static void know(struct costing *c, struct claimant *of)
{
	const struct lake_run *r = of->run;
	const enum lake_part by = c->query->by == COST_LABEL ? LAKE_PART_LABEL : LAKE_PART_TOOL;
	const struct lake_claims_part *p;
	size_t n;

	of->tasks = tasks_of(c->claims, r, &of->n_tasks);
	for (size_t i = 0; i < of->n_tasks; i++) {
		const struct lake_claims_task *t = &of->tasks[i];

		of->tasks_core_ns += t->cpu_ns;
		of->tasks_kib_s += kib_seconds((double)t->rss_peak_bytes, task_end(of, t) - t->start_ns);
	}
	p = parts_of(c->claims, LAKE_PART_MEMORY, r, &n);
	/* a run that is shorter than an interval has no sample: then its peak, all the time */
	of->kib_s = n ? p->amount : whole(kib_seconds((double)r->memory_peak_bytes, of->end_ns - of->start_ns));
	p = parts_of(c->claims, LAKE_PART_GPU, r, &n);
	of->gpu_ns = n ? p->amount : 0;
	if (c->query->by != COST_LABEL && c->query->by != COST_TOOL)
		return;
	of->shares = parts_of(c->claims, by, r, &of->n_shares);
	for (size_t i = 0; i < of->n_shares; i++)
		of->shares_ns += of->shares[i].amount;
}

static int by_host(const void *a, const void *b)
{
	const struct claimant *x = a, *y = b;
	const int order = strcmp(x->run->host, y->run->host);

	if (order)
		return order;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return key_order(x->run->id, x->run->boot_id, y->run->id, y->run->boot_id);
}

static bool asked_for(const struct lake_claims_task *t, enum price_resource r)
{
	return r == PRICE_CPU ? t->reserved_cpus > 0 : r == PRICE_MEMORY ? t->reserved_memory_bytes : t->reserved_gpus;
}

/* By job, then begin. */
static int by_job(const void *a, const void *b)
{
	const struct lake_claims_task *x = *(const struct lake_claims_task *const *)a;
	const struct lake_claims_task *y = *(const struct lake_claims_task *const *)b;
	const int order = analysis_job_order(x->job, y->job);

	if (order)
		return order;
	return x->start_ns != y->start_ns ? x->start_ns < y->start_ns ? -1 : 1 : (x > y) - (x < y);
}

/* tasks: room for pointers to those of the run. */
static void share_requests(struct costing *c, const struct claimant *of, const struct lake_claims_task **tasks)
{
	size_t n = 0;

	for (size_t i = 0; i < of->n_tasks; i++)
		if (*of->tasks[i].job)
			tasks[n++] = &of->tasks[i];
	if (n)
		qsort(tasks, n, sizeof(*tasks), by_job);
	for (enum price_resource r = PRICE_MEMORY; r <= PRICE_GPU; r++) {
		const struct lake_claims_task *last = NULL; /* of those of the job that ends last */

		for (size_t i = 0; i < n; i++) {
			const struct lake_claims_task *t = tasks[i];
			const bool same = last && analysis_job_order(last->job, t->job) == 0;

			if (!asked_for(t, r))
				continue;
			if (same && task_end(of, last) > t->start_ns)
				c->before[t - c->claims->tasks][r] = 1 + (size_t)(last - c->claims->tasks);
			if (!same || task_end(of, t) > task_end(of, last))
				last = t;
		}
	}
}

/*
 * Slurm tells each rank, step and script of a job the job's request for memory and GPUs of the host, so tasks of a job
 * that run at once share one request.  The task that began first holds the request; when that task has ended, the task
 * that ends last holds it.
 */
static int find_shared_requests(struct costing *c)
{
	const struct lake_claims_task **tasks = calloc(c->claims->n_tasks + 1, sizeof(const struct lake_claims_task *));

	if (!tasks)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_claimants; i++)
		share_requests(c, &c->claimants[i], tasks);
	free(tasks);
	return 0;
}

static const struct lake_claims_task *task_before(const struct costing *c, const struct lake_claims_task *t,
						  enum price_resource r)
{
	const size_t before = c->before[t - c->claims->tasks][r];

	return before ? &c->claims->tasks[before - 1] : NULL;
}

/* When the task begins to hold a request that it shares; at its end or later: never. */
static uint64_t held_from(const struct costing *c, const struct claimant *of, const struct lake_claims_task *t,
			  enum price_resource r)
{
	const struct lake_claims_task *before = task_before(c, t, r);

	return before ? task_end(of, before) : t->start_ns;
}

/* The task of the run in which the inner run began; NULL: it began outside of its tasks. */
static const struct lake_claims_task *task_around(const struct claimant *of, const struct claimant *inner)
{
	size_t low = 0, high = of->n_tasks;

	while (low < high) { /* behind those that began before it */
		const size_t middle = low + (high - low) / 2;

		if (of->tasks[middle].start_ns <= inner->start_ns)
			low = middle + 1;
		else
			high = middle;
	}
	while (low-- > 0)
		if (of->tasks[low].inner_runs && task_end(of, &of->tasks[low]) >= inner->start_ns)
			return &of->tasks[low];
	return NULL;
}

/* The task that held the request for the resource then: t, or one of its job; NULL: t asked for none. */
static const struct lake_claims_task *holder_of(const struct costing *c, const struct claimant *of,
						const struct lake_claims_task *t, enum price_resource r, uint64_t ns)
{
	if (!t || !asked_for(t, r))
		return NULL;
	while (held_from(c, of, t, r) > ns && task_before(c, t, r))
		t = task_before(c, t, r);
	return t;
}

/* A task in which another run began or which a process of another run joined, and the claimant of its run. */
struct outer {
	const struct lake_claims_task *task;
	const struct claimant *of;
};

static int by_boot_and_job(const void *a, const void *b)
{
	const struct outer *x = a, *y = b;

	return key_order(x->task->boot_id, x->task->job, y->task->boot_id, y->task->job);
}

/* outer: by boot and job, n of them. */
static void set_around(struct costing *c, const struct claimant *of, const struct lake_claims_task *t,
		       const struct outer *outer, size_t n)
{
	const struct outer key = { .task = t }, *found;

	if (!*t->job || !n)
		return;
	found = bsearch(&key, outer, n, sizeof(*outer), by_boot_and_job);
	while (found && found > outer && by_boot_and_job(found - 1, &key) == 0)
		found--;
	for (; found && found < outer + n && by_boot_and_job(found, &key) == 0; found++) {
		if (found->of == of || task_end(found->of, found->task) <= t->start_ns ||
		    found->task->start_ns > t->start_ns ||
		    (found->task->start_ns == t->start_ns && found->task > t)) /* never each around the other */
			continue;
		for (enum price_resource r = PRICE_CPU; r < PRICE_RESOURCES; r++) {
			const struct lake_claims_task *h = holder_of(c, found->of, found->task, r, t->start_ns);

			h = found->of->holder[r] ? found->of->holder[r] : h;
			c->around[t - c->claims->tasks][r] = h ? 1 + (size_t)(h - c->claims->tasks) : 0;
		}
	}
}

/*
 * A job that an engine such as Snakemake submitted to a scheduler is a task of two runs: of the scheduler's, and by its
 * key of the engine's.  The engine's task has the job of the scheduler's.
 */
static int find_tasks_around(struct costing *c)
{
	struct outer *outer = calloc(c->claims->n_tasks + 1, sizeof(*outer));
	size_t n = 0;

	if (!outer)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_claimants; i++)
		for (size_t k = 0; k < c->claimants[i].n_tasks; k++)
			if (c->claimants[i].tasks[k].inner_runs && *c->claimants[i].tasks[k].job)
				outer[n++] = (struct outer){ &c->claimants[i].tasks[k], &c->claimants[i] };
	if (n)
		qsort(outer, n, sizeof(*outer), by_boot_and_job);
	for (size_t i = 0; i < c->n_claimants; i++)
		for (size_t k = 0; k < c->claimants[i].n_tasks; k++)
			set_around(c, &c->claimants[i], &c->claimants[i].tasks[k], outer, n);
	free(outer);
	return 0;
}

/* The claimants are in the order in which they began, so that the holders of a run around another are known. */
static int find_holders(struct costing *c)
{
	struct claimant **sorted = calloc(c->n_claimants + 1, sizeof(struct claimant *));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_claimants; i++)
		sorted[i] = &c->claimants[i];
	if (c->n_claimants)
		qsort(sorted, c->n_claimants, sizeof(*sorted), by_key);
	for (size_t i = 0; i < c->n_claimants; i++) {
		struct claimant *of = &c->claimants[i], *key, **found;
		struct lake_run around = { .id = of->run->parent_run, .boot_id = of->run->boot_id };
		const struct lake_claims_task *t;

		key = &(struct claimant){ .run = &around };
		found = *around.id ? bsearch(&key, sorted, c->n_claimants, sizeof(*sorted), by_key) : NULL;
		if (!found || *found == of || strcmp((*found)->run->host, of->run->host) != 0)
			continue;
		t = task_around(*found, of);
		for (enum price_resource r = PRICE_CPU; r < PRICE_RESOURCES; r++)
			of->holder[r] = (*found)->holder[r] ? (*found)->holder[r]
							    : holder_of(c, *found, t, r, of->start_ns);
	}
	free(sorted);
	return 0;
}

static int list_claimants(struct costing *c, const struct lake_runs *runs)
{
	const struct cost_query *q = c->query;

	c->claimants = calloc(runs->n + 1, sizeof(*c->claimants));
	if (!c->claimants)
		return -ENOMEM;
	for (size_t i = 0; i < runs->n; i++) {
		const struct lake_run *r = &runs->runs[i];
		struct claimant *of = &c->claimants[c->n_claimants];
		const uint64_t end = r->end_ns ? r->end_ns : q->now_ns;

		if (!r->start_ns)
			continue;
		*of = (struct claimant) { .run = r,
					  .start_ns = r->start_ns,
					  .end_ns = end > r->start_ns ? end : r->start_ns + 1 };
		of->chosen = (!q->run || strcmp(q->run, r->id) == 0) &&
			     (!q->pipeline || strcmp(q->pipeline, r->pipeline) == 0);
		know(c, of);
		c->to->n_running += !r->end_ns;
		c->n_claimants++;
	}
	if (c->n_claimants)
		qsort(c->claimants, c->n_claimants, sizeof(*c->claimants), by_host);
	return find_shared_requests(c) == 0 && find_holders(c) == 0 ? find_tasks_around(c) : -ENOMEM;
}

/* ---- a machine in a segment ------------------------------------------------------------------ */

/*
 * Adds up what the machine's rows say of the time; where several collectors ran at once, of the first one.  *ret_ns:
 * the time that the rows cover.
 */
static double rows_in(const struct costing *c, enum lake_machine_sum sum, uint64_t from, uint64_t until, double *ret_ns)
{
	uint64_t known = 0;
	double amount = 0;

	*ret_ns = 0;
	for (size_t i = 0; i < c->n_rows; i++) {
		const struct lake_machine_row *row = &c->rows[i];
		uint64_t begin, in;
		double length, cover;

		if (row->sum != sum || row->start_ns >= until || row->end_ns <= row->start_ns)
			continue;
		begin = row->start_ns > known ? row->start_ns : known;
		in = overlap(begin, row->end_ns, from, until);
		known = row->end_ns > known ? row->end_ns : known;
		length = (double)(row->end_ns - row->start_ns);
		cover = (double)row->interval_ns < length ? (double)row->interval_ns : length;
		*ret_ns += cover * ((double)in / length);
		if (row->interval_ns)
			amount += (double)row->amount * (cover / (double)row->interval_ns) * ((double)in / length);
	}
	return amount;
}

/* The time in which a run that has ended shows that skep saw the host. */
static uint64_t runs_cover(const struct claimant *of, size_t n, uint64_t from, uint64_t until)
{
	uint64_t known = from, sum = 0;

	for (size_t i = 0; i < n && of[i].start_ns < until; i++) {
		if (!of[i].run->end_ns || of[i].end_ns <= known)
			continue;
		sum += overlap(of[i].start_ns, of[i].end_ns, known, until);
		known = of[i].end_ns;
	}
	return sum;
}

static struct price_machine machine_of(const struct costing *c, const char *host, const struct claimant *of, size_t n)
{
	struct price_machine m = { .host = host, .instance_type = "" };

	for (size_t i = 0; i < c->claims->n_machines; i++) {
		const struct lake_machine *one = &c->claims->machines[i];

		if (strcmp(one->host, host) != 0)
			continue;
		m.instance_type = one->instance_type;
		m.has.cores = one->cores;
		m.has.memory_kib = one->memory_bytes / 1024;
	}
	for (size_t i = 0; i < n && !m.has.cores; i++)
		m.has.cores = of[i].run->cpus;
	return m;
}

/* 1; 0: no figure for it, and a problem says why; -ENOMEM. */
static int segment_new(struct costing *c, const struct price_machine *m, const struct claimant *of, size_t n,
		       uint64_t from, uint64_t until, struct segment *ret)
{
	struct segment s = { .host = m->host, .from_ns = from, .until_ns = until };
	struct cost_problem problem = { .host = m->host, .from_ns = from, .until_ns = until };
	const uint64_t length = until - from, by_runs = runs_cover(of, n, from, until);
	double known_ns, idle_ns, capacity;
	int64_t bill = 0;
	int err;

	capacity = rows_in(c, LAKE_MACHINE_CAPACITY, from, until, &known_ns);
	s.covered_ns = known_ns > (double)by_runs ? whole(known_ns) : by_runs;
	s.covered_ns = s.covered_ns < length ? s.covered_ns : length;
	problem.lacking_ns = length - s.covered_ns;
	problem.kind = COST_NO_RECORDS;
	if (problem.lacking_ns > length / 100 || !s.covered_ns) {
		err = add_problem(c, problem);
		if (err || !s.covered_ns)
			return err;
	}
	s.price = price_find(c->prices, m, (int64_t)from);
	problem.kind = COST_NO_PRICE;
	if (!s.price)
		return add_problem(c, problem);
	s.has = price_capacity(s.price, m);
	err = price_of_machine(s.price, &s.has, s.covered_ns, s.parts, &bill);
	if (err) {
		problem.kind = err == -ENODATA ? COST_NO_CAPACITY : COST_TOO_LARGE;
		problem.resource = !s.has.cores ? PRICE_CPU : !s.has.memory_kib ? PRICE_MEMORY : PRICE_GPU;
		return add_problem(c, problem);
	}
	s.capacity[PRICE_CPU] = s.has.cores * s.covered_ns;
	s.capacity[PRICE_MEMORY] = whole(kib_seconds((double)s.has.memory_kib * 1024, s.covered_ns));
	s.capacity[PRICE_GPU] = s.has.gpus * s.covered_ns;
	idle_ns = rows_in(c, LAKE_MACHINE_IDLE, from, until, &(double){ 0 });
	s.busy_known = capacity > 0 && known_ns >= 0.9 * (double)s.covered_ns;
	if (s.busy_known && capacity > idle_ns)
		s.busy_ns = whole((capacity - idle_ns) * ((double)s.covered_ns / known_ns));
	*ret = s;
	return 1;
}

/* ---- claims --------------------------------------------------------------------------------- */

static uint64_t more_than(uint64_t asked, uint64_t used)
{
	return asked > used ? asked - used : 0;
}

static int add_claim(struct costing *c, struct claimant *of, const struct lake_claims_task *task, struct amounts a)
{
	if (!room_for(&c->list, c->n_list, &c->list_room, sizeof(*c->list)))
		return -ENOMEM;
	c->list[c->n_list++] = (struct claim){ of, task, a };
	return 0;
}

/* What the task used of memory that other tasks of its job held meanwhile. in: its time in the segment. */
static void use_shared(struct costing *c, const struct claimant *of, const struct lake_claims_task *t,
		       const struct segment *s, uint64_t used, uint64_t in)
{
	const uint64_t from = t->start_ns > s->from_ns ? t->start_ns : s->from_ns;
	const uint64_t end = task_end(of, t), until = end < s->until_ns ? end : s->until_ns;

	for (const struct lake_claims_task *h = t; (h = task_before(c, h, PRICE_MEMORY));) {
		const uint64_t since = held_from(c, of, h, PRICE_MEMORY);

		c->held[h - c->claims->tasks][PRICE_MEMORY] +=
			share(used, overlap(since, task_end(of, h), from, until), in);
		if (since <= from)
			break;
	}
}

/* A task claims the larger of its request and its use. Subtracts its use from the run's. */
static int claim_task(struct costing *c, struct claimant *of, const struct lake_claims_task *t, const struct segment *s,
		      struct amounts *rest)
{
	const uint64_t end = task_end(of, t), length = end - t->start_ns;
	const uint64_t in = overlap(t->start_ns, end, s->from_ns, s->until_ns);
	/* the record of a task may have processes that its run's rows lack */
	const double fit = of->tasks_core_ns > of->run->totals.cpu_ns && of->run->totals.cpu_ns
				   ? (double)of->run->totals.cpu_ns / (double)of->tasks_core_ns
				   : 1;
	const double fit_memory = of->tasks_kib_s > (double)of->kib_s ? (double)of->kib_s / of->tasks_kib_s : 1;
	struct amounts a = { 0 };
	uint64_t own; /* the part of `in` in which it holds what it asked for */

	if (!in)
		return 0;
	of->spread |= in < length;
	a.used[PRICE_CPU] = share(whole((double)t->cpu_ns * fit), in, length);
	a.used[PRICE_MEMORY] = share(whole(kib_seconds((double)t->rss_peak_bytes, length) * fit_memory), in, length);
	for (int r = PRICE_CPU; r <= PRICE_MEMORY; r++) {
		a.used[r] = a.used[r] < rest->used[r] ? a.used[r] : rest->used[r];
		rest->used[r] -= a.used[r];
	}
	a.reserved[PRICE_CPU] = more_than(whole(t->reserved_cpus * (double)in), a.used[PRICE_CPU]);
	own = overlap(held_from(c, of, t, PRICE_MEMORY), end, s->from_ns, s->until_ns);
	a.reserved[PRICE_MEMORY] = more_than(whole(kib_seconds((double)t->reserved_memory_bytes, own)),
					     share(a.used[PRICE_MEMORY], own, in));
	use_shared(c, of, t, s, a.used[PRICE_MEMORY], in);
	/* how long a task kept a GPU busy is known of its run only */
	own = overlap(held_from(c, of, t, PRICE_GPU), end, s->from_ns, s->until_ns);
	a.reserved[PRICE_GPU] = whole((double)t->reserved_gpus * (double)own);
	if (rest->used[PRICE_GPU] && a.reserved[PRICE_GPU]) {
		a.used[PRICE_GPU] =
			a.reserved[PRICE_GPU] < rest->used[PRICE_GPU] ? a.reserved[PRICE_GPU] : rest->used[PRICE_GPU];
		a.reserved[PRICE_GPU] -= a.used[PRICE_GPU];
		rest->used[PRICE_GPU] -= a.used[PRICE_GPU];
	}
	return add_claim(c, of, t, a);
}

static int claim_run(struct costing *c, struct claimant *of, const struct segment *s)
{
	const uint64_t length = of->end_ns - of->start_ns,
		       in = overlap(of->start_ns, of->end_ns, s->from_ns, s->until_ns);
	struct amounts rest = { 0 };
	int err = 0;

	if (!in)
		return 0;
	of->spread |= in < length;
	rest.used[PRICE_CPU] = share(of->run->totals.cpu_ns, in, length);
	rest.used[PRICE_MEMORY] = share(of->kib_s, in, length);
	rest.used[PRICE_GPU] = share(of->gpu_ns, in, length);
	for (size_t i = 0; i < of->n_tasks && !err; i++)
		err = claim_task(c, of, &of->tasks[i], s, &rest);
	return err ? err : add_claim(c, of, NULL, rest);
}

/* The task whose request contains the claim: that around its task, else that around its run. NULL: none. */
static const struct lake_claims_task *holder_in(const struct costing *c, const struct claim *claim, int r)
{
	const size_t around = claim->task ? c->around[claim->task - c->claims->tasks][r] : 0;

	return around ? &c->claims->tasks[around - 1] : claim->of->holder[r];
}

/*
 * A run that began in a task with a request uses what that task holds. The requests of the run's tasks hold nothing
 * more, and of the outer task's request that part is unused which the run, or tasks of its job, did not use either.
 */
static void hold_claims(struct costing *c, const struct segment *s)
{
	for (size_t i = 0; i < c->n_list; i++)
		for (int r = 0; r < PRICE_RESOURCES; r++) {
			const struct lake_claims_task *holder = holder_in(c, &c->list[i], r);

			if (!holder || holder->start_ns >= s->until_ns ||
			    (holder->end_ns && holder->end_ns <= s->from_ns)) /* the run outlived the task */
				continue;
			c->list[i].a.reserved[r] = 0;
			c->held[holder - c->claims->tasks][r] += c->list[i].a.used[r];
		}
	for (size_t i = 0; i < c->n_list; i++) {
		struct claim *claim = &c->list[i];

		for (int r = 0; claim->task && r < PRICE_RESOURCES; r++) {
			uint64_t *held = &c->held[claim->task - c->claims->tasks][r];

			claim->a.reserved[r] = more_than(claim->a.reserved[r], *held);
			*held = 0;
		}
	}
	for (size_t i = 0; i < c->n_list; i++)
		for (int r = 0; r < PRICE_RESOURCES; r++)
			if (holder_in(c, &c->list[i], r))
				c->held[holder_in(c, &c->list[i], r) - c->claims->tasks][r] = 0;
}

/* Scales the claims down to the machine's capacity: first the unused reservations, then the use. */
static int fit_claims(struct costing *c, struct segment *s, uint64_t *ret_system)
{
	*ret_system = 0;
	for (int r = 0; r < PRICE_RESOURCES; r++) {
		double used = 0, reserved = 0, has = (double)s->capacity[r], ratio, fit_used = 1, fit_reserved = 1;

		for (size_t i = 0; i < c->n_list; i++) {
			used += (double)c->list[i].a.used[r];
			reserved += (double)c->list[i].a.reserved[r];
		}
		if (r == PRICE_CPU && (double)s->busy_ns > used) {
			*ret_system =
				whole((double)s->busy_ns - used < has - used ? (double)s->busy_ns - used : has - used);
			has -= (double)*ret_system;
		}
		if (r == PRICE_GPU && used + reserved > 0 && s->price->hour[r] && !s->has.gpus &&
		    add_problem(c, (struct cost_problem){ .kind = COST_NO_GPUS, .host = s->host, .from_ns = s->from_ns,
							  .until_ns = s->until_ns }) != 0)
			return -ENOMEM;
		if (used + reserved <= has || !s->parts[r])
			continue;
		ratio = has > 0 ? (used + reserved) / has : INFINITY;
		fit_used = used > has ? has / used : 1;
		fit_reserved = used < has && reserved > 0 ? (has - used) / reserved : 0;
		for (size_t i = 0; i < c->n_list; i++) {
			c->list[i].a.used[r] = whole((double)c->list[i].a.used[r] * fit_used);
			c->list[i].a.reserved[r] = whole((double)c->list[i].a.reserved[r] * fit_reserved);
		}
		/* clocks of records and of the machine differ a little */
		if (ratio > 1.01 && add_problem(c, (struct cost_problem) { .kind = COST_CLAIMS_SCALED,
									   .host = s->host,
									   .resource = (enum price_resource)r,
									   .from_ns = s->from_ns,
									   .until_ns = s->until_ns,
									   .ratio = ratio }) != 0)
			return -ENOMEM;
	}
	return 0;
}

/* A share of a resource's price, at most its remainder. */
static int64_t priced(int64_t part, uint64_t amount, uint64_t capacity, int64_t *left)
{
	int64_t value = capacity ? price_share(part, amount < capacity ? amount : capacity, capacity) : 0;

	value = value < *left ? value : *left; /* doubles scale claims: their sum may be larger by some ns */
	*left -= value;
	return value;
}

/* Splits a run's amounts among its tools or labels, by their CPU time. */
static int add_shares(struct costing *c, const struct claimant *of, const struct cost_row *row)
{
	uint64_t before = 0;
	struct cost_row last = { 0 };

	if (!of->shares_ns)
		return add_row(c, *row);
	for (size_t i = 0; i < of->n_shares; i++) {
		struct cost_row one = *row;
		const uint64_t until = before + of->shares[i].amount;

		/* up to here, less up to the one before: so that they add up */
		one.name = of->shares[i].name;
		one.used = price_share(row->used, until, of->shares_ns);
		one.reserved = price_share(row->reserved, until, of->shares_ns);
		one.core_ns = share(row->core_ns, until, of->shares_ns);
		before = until;
		if (add_row(c, (struct cost_row){ .name = one.name, .title = "", .used = one.used - last.used,
						  .reserved = one.reserved - last.reserved,
						  .core_ns = one.core_ns - last.core_ns }) != 0)
			return -ENOMEM;
		last = one;
	}
	return 0;
}

static int charge(struct costing *c, const struct claim *claim, int64_t used, int64_t reserved)
{
	const struct lake_run *r = claim->of->run;
	struct cost_row row = { .name = "", .title = "", .used = used, .reserved = reserved,
				.core_ns = claim->a.used[PRICE_CPU] };

	if (!claim->of->chosen) {
		row.others = true;
		return add_row(c, row);
	}
	switch (c->query->by) {
	case COST_PIPELINE:
		row.name = r->pipeline;
		break;
	case COST_RUN:
		row.name = r->id;
		row.title = r->name;
		break;
	case COST_TASK:
		row.name = claim->task ? claim->task->task : "";
		break;
	case COST_USER:
		row.uid = r->uid;
		break;
	case COST_HOST:
		row.name = r->host;
		break;
	case COST_TOOL:
	case COST_LABEL:
		return add_shares(c, claim->of, &row);
	}
	return add_row(c, row);
}

/* ---- energy --------------------------------------------------------------------------------- */

static int add_energy(struct costing *c, const struct segment *s)
{
	uint64_t mj[2] = { 0, 0 }, first = UINT64_MAX, last = 0;
	struct cost_problem problem = {
		.kind = COST_NO_ENERGY, .host = s->host, .from_ns = s->from_ns, .until_ns = s->until_ns,
	};
	int64_t nano = 0;

	for (size_t i = 0; i < c->n_rows; i++) {
		const struct lake_machine_row *row = &c->rows[i];
		const uint64_t length = row->end_ns - row->start_ns;
		uint64_t in;

		if (row->sum < LAKE_MACHINE_ENERGY || row->amount <= 0)
			continue;
		/* a single record: a point in time */
		in = length ? overlap(row->start_ns, row->end_ns, s->from_ns, s->until_ns)
			    : row->end_ns > s->from_ns && row->end_ns <= s->until_ns;
		if (!in)
			continue;
		mj[row->sum == LAKE_MACHINE_GPU_ENERGY] += share((uint64_t)row->amount, in, length ? length : 1);
		first = row->start_ns < first ? row->start_ns : first;
		last = row->end_ns > last ? row->end_ns : last;
	}
	c->to->energy_mj += mj[0];
	c->to->gpu_energy_mj += mj[1];
	if (!s->price->has_energy)
		return 0;
	c->to->energy_priced = true;
	if (!last)
		return add_problem(c, problem);
	if (price_of_energy(s->price, mj[0] + mj[1], &nano) != 0 ||
	    __builtin_add_overflow(c->to->energy, nano, &c->to->energy))
		return -ERANGE;
	problem.kind = COST_PART_ENERGY;
	problem.lacking_ns = s->until_ns - s->from_ns - overlap(first, last, s->from_ns, s->until_ns);
	/* a record has what came since the last one: a tenth is a run of five minutes with records of 30 s */
	return problem.lacking_ns > (s->until_ns - s->from_ns) / 10 ? add_problem(c, problem) : 0;
}

/* ---- segments --------------------------------------------------------------------------------- */

static int add_up(int64_t *sum, int64_t more)
{
	return __builtin_add_overflow(*sum, more, sum) ? -ERANGE : 0;
}

static int cost_segment(struct costing *c, struct segment *s, struct claimant *of, size_t n)
{
	int64_t left[PRICE_RESOURCES], bill = 0, system = 0, idle = 0;
	uint64_t system_ns = 0;
	int err = 0;

	c->n_list = 0;
	for (size_t i = 0; i < n && !err && of[i].start_ns < s->until_ns; i++)
		err = claim_run(c, &of[i], s);
	if (!err)
		hold_claims(c, s);
	if (!err)
		err = fit_claims(c, s, &system_ns);
	if (err)
		return err;
	memcpy(left, s->parts, sizeof(left));
	for (size_t i = 0; i < c->n_list && !err; i++) {
		const struct amounts *a = &c->list[i].a;
		int64_t used = 0, reserved = 0;

		for (int r = 0; r < PRICE_RESOURCES; r++) {
			used += priced(s->parts[r], a->used[r], s->capacity[r], &left[r]);
			reserved += priced(s->parts[r], a->reserved[r], s->capacity[r], &left[r]);
		}
		err = charge(c, &c->list[i], used, reserved);
		if (!err)
			err = add_up(&c->to->used, used);
		if (!err)
			err = add_up(&c->to->reserved, reserved);
	}
	if (!err && s->busy_known)
		system = priced(s->parts[PRICE_CPU], system_ns, s->capacity[PRICE_CPU], &left[PRICE_CPU]);
	else if (!err)
		err = add_problem(c, (struct cost_problem) { .kind = COST_NO_SYSTEM,
							     .host = s->host,
							     .from_ns = s->from_ns,
							     .until_ns = s->until_ns });
	for (int r = 0; r < PRICE_RESOURCES; r++) {
		bill += s->parts[r];
		idle += left[r];
	}
	c->to->system_known &= s->busy_known;
	c->to->machine_ns += s->covered_ns;
	if (!err)
		err = add_up(&c->to->system, system);
	if (!err)
		err = add_up(&c->to->idle, idle);
	if (!err)
		err = add_up(&c->to->added, price_overhead(s->price, bill));
	if (!err)
		err = add_up(&c->to->bill, bill + price_overhead(s->price, bill));
	return err ? err : add_energy(c, s);
}

/* A time of the bill, cut where a price changes. */
static int cost_time(struct costing *c, const struct price_machine *m, struct claimant *of, size_t n, uint64_t from,
		     uint64_t until)
{
	int rc = 0;

	while (from < until && rc >= 0) {
		const int64_t change = price_next_change(c->prices, m, (int64_t)from);
		const uint64_t end = (uint64_t)change < until ? (uint64_t)change : until;
		struct segment s = { 0 };

		rc = segment_new(c, m, of, n, from, end, &s);
		if (rc > 0)
			rc = cost_segment(c, &s, of, n);
		from = end;
	}
	return rc;
}

/* Boots of one machine are one after another. Clocks may be wrong for a while at a boot. */
static bool is_two(const struct claimant *of, size_t n)
{
	uint64_t end = 0;

	for (size_t i = 0; i < n; i++) {
		if (i && strcmp(of[i].run->boot_id, of[i - 1].run->boot_id) != 0 && of[i].start_ns + 60 * SECOND < end)
			return true;
		if (of[i].run->end_ns > end)
			end = of[i].run->end_ns;
	}
	return false;
}

/* The rows of the host: a range of the sorted list. */
static void rows_of(struct costing *c, const char *host)
{
	const struct lake_claims *all = c->claims;
	size_t low = 0, high = all->n_rows;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (strcmp(all->rows[middle].host, host) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	c->rows = all->n_rows ? all->rows + low : NULL;
	for (c->n_rows = 0; low + c->n_rows < all->n_rows && strcmp(c->rows[c->n_rows].host, host) == 0;)
		c->n_rows++;
}

static int cost_host(struct costing *c, const char *host, struct claimant *of, size_t n)
{
	const struct cost_query *q = c->query;
	const struct price_machine m = machine_of(c, host, of, n);
	const uint64_t before = c->to->machine_ns;
	uint64_t from = q->since_ns, until = q->until_ns;
	int err = 0;

	rows_of(c, host);
	if (is_two(of, n))
		return add_problem(c, (struct cost_problem){ .kind = COST_TWO_HOSTS, .host = host, .from_ns = from,
							     .until_ns = until });
	if (!q->run && !q->pipeline) {
		err = cost_time(c, &m, of, n, from, until);
	} else {
		until = 0;
		for (size_t i = 0; i <= n && !err; i++) { /* times of the chosen runs; overlapping ones are merged */
			if (i < n && !of[i].chosen)
				continue;
			if (i < n && until && of[i].start_ns <= until) {
				until = of[i].end_ns > until ? of[i].end_ns : until;
				continue;
			}
			if (until && overlap(from, until, q->since_ns, q->until_ns))
				err = cost_time(c, &m, of, n, from > q->since_ns ? from : q->since_ns,
						until < q->until_ns ? until : q->until_ns);
			if (i < n) {
				from = of[i].start_ns;
				until = of[i].end_ns;
			}
		}
	}
	c->to->n_hosts += c->to->machine_ns > before;
	return err < 0 ? err : 0;
}

static bool has_runs(const struct costing *c, const char *host)
{
	size_t low = 0, high = c->n_claimants;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (strcmp(c->claimants[middle].run->host, host) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < c->n_claimants && strcmp(c->claimants[low].run->host, host) == 0;
}

/* Bills the hosts that had runs; without a chosen run or pipeline, also each other host whose capacity is recorded. */
static int cost_hosts(struct costing *c)
{
	const struct lake_claims *all = c->claims;
	int err = 0;

	for (size_t i = 0, end; i < c->n_claimants && !err; i = end) {
		const char *host = c->claimants[i].run->host;

		for (end = i + 1; end < c->n_claimants && strcmp(c->claimants[end].run->host, host) == 0;)
			end++;
		err = cost_host(c, host, c->claimants + i, end - i);
	}
	for (size_t i = 0; i < all->n_rows && !err && !c->query->run && !c->query->pipeline; i++)
		if (all->rows[i].sum == LAKE_MACHINE_CAPACITY && *all->rows[i].host &&
		    !has_runs(c, all->rows[i].host) && (!i || strcmp(all->rows[i].host, all->rows[i - 1].host) != 0))
			err = cost_host(c, all->rows[i].host, NULL, 0);
	return err;
}

/* ---- rows -------------------------------------------------------------------------------------- */

static int same_first(const void *a, const void *b)
{
	const struct cost_row *x = a, *y = b;
	int order = x->others - y->others;

	if (!order)
		order = strcmp(x->name, y->name);
	return order ? order : (x->uid > y->uid) - (x->uid < y->uid);
}

static int most_first(const void *a, const void *b)
{
	const struct cost_row *x = a, *y = b;
	const int64_t cost = x->used + x->reserved, other = y->used + y->reserved;

	if (x->others != y->others || cost == other)
		return same_first(a, b);
	return cost > other ? -1 : 1;
}

/* Makes the rows of one name one. */
static void join_rows(struct cost *to)
{
	size_t n = 0;

	if (!to->n_rows)
		return;
	qsort(to->rows, to->n_rows, sizeof(*to->rows), same_first);
	for (size_t i = 1; i < to->n_rows; i++) {
		struct cost_row *row = &to->rows[n];

		if (same_first(row, &to->rows[i]) != 0) {
			to->rows[++n] = to->rows[i];
			continue;
		}
		row->used += to->rows[i].used;
		row->reserved += to->rows[i].reserved;
		row->core_ns += to->rows[i].core_ns;
	}
	to->n_rows = n + 1;
	qsort(to->rows, to->n_rows, sizeof(*to->rows), most_first);
}

/* Rows add up to `used` and `reserved`, and all parts to the bill. */
static bool adds_up(const struct cost *to)
{
	int64_t used = 0, reserved = 0;

	for (size_t i = 0; i < to->n_rows; i++) {
		if (to->rows[i].used < 0 || to->rows[i].reserved < 0)
			return false;
		used += to->rows[i].used;
		reserved += to->rows[i].reserved;
	}
	return used == to->used && reserved == to->reserved && to->idle >= 0 && to->system >= 0 && to->added >= 0 &&
	       to->used + to->reserved + to->idle + to->system + to->added == to->bill;
}

int cost_new(const struct price_table *prices, const struct lake_runs *runs, const struct lake_claims *claims,
	     const struct cost_query *query, struct cost **ret)
{
	struct costing c = { .to = calloc(1, sizeof(*c.to)), .prices = prices, .claims = claims, .query = query };
	int err;

	c.held = calloc(claims->n_tasks + 1, sizeof(*c.held));
	c.before = calloc(claims->n_tasks + 1, sizeof(*c.before));
	c.around = calloc(claims->n_tasks + 1, sizeof(*c.around));
	err = c.to && c.held && c.before && c.around ? list_claimants(&c, runs) : -ENOMEM;
	if (!err) {
		c.to->currency = price_currency(prices);
		c.to->system_known = true;
		err = cost_hosts(&c);
	}
	if (!err)
		join_rows(c.to);
	if (!err && !c.to->system_known) { /* a part of it would be read as all of it */
		c.to->idle += c.to->system;
		c.to->system = 0;
	}
	if (!err && !adds_up(c.to))
		err = -EPROTO;
	for (size_t i = 0; !err && i < c.n_claimants; i++)
		c.to->n_spread += c.claimants[i].spread && c.claimants[i].chosen;
	free(c.claimants);
	free(c.held);
	free(c.before);
	free(c.around);
	free(c.list);
	if (err)
		cost_free(c.to);
	else
		*ret = c.to;
	return err;
}

struct cost *cost_free(struct cost *to)
{
	if (!to)
		return NULL;
	free(to->rows);
	free(to->problems);
	free(to);
	return NULL;
}

int cost_round(struct cost *to, int64_t unit)
{
	const size_t n = 2 * to->n_rows + 3;
	int64_t *leaves = calloc(n, sizeof(*leaves)), sum;
	int err = leaves ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < to->n_rows; i++) {
		leaves[2 * i] = to->rows[i].used;
		leaves[2 * i + 1] = to->rows[i].reserved;
	}
	if (!err) {
		leaves[n - 3] = to->idle;
		leaves[n - 2] = to->system;
		leaves[n - 1] = to->added;
		err = price_round(leaves, n, unit, &sum);
	}
	if (!err) {
		to->used = to->reserved = 0;
		for (size_t i = 0; i < to->n_rows; i++) {
			to->used += to->rows[i].used = leaves[2 * i];
			to->reserved += to->rows[i].reserved = leaves[2 * i + 1];
		}
		to->idle = leaves[n - 3];
		to->system = leaves[n - 2];
		to->added = leaves[n - 1];
		to->bill = sum;
		to->energy = (to->energy + unit / 2) / unit * unit;
	}
	free(leaves);
	return err;
}
