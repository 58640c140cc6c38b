/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/collector_pss.c - how much memory the processes of a run hold together.  The sum of their resident
 * memory counts a page in each process that maps it: eight forks that only read 200 MiB have 1.8 GiB.  The kernel
 * divides each page by the number of processes that map it (PSS, /proc/PID/smaps_rollup), which costs a walk through
 * all page tables: 2 ms for 200 MiB (Linux 6.18).  So the reader process does it, for runs where it may change the
 * figure, and for one hundredth of the time at most.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/collect/collector_priv.h"

#define PSS_LEAST_BYTES (16u << 20) /* of a run's memory beside its largest process, before sharing matters */
#define PSS_PROCESSES_MOST 1024u
/* Of one process: 0.7 s of walk.  The reader's keeper takes a worker that runs for 5 s for one that hangs. */
#define PSS_PROCESS_BYTES (64ull << 30)
#define PSS_REST 100u /* the pause after a measurement, in times that it took */
#define PSS_AGAIN_NS 10000000000ull /* also when the sum of resident memory has not grown */

struct measurement {
	struct measurement *next;
	struct collector *c;
	struct run *run; /* a reference */
	uint64_t began_ns, sum_bytes;
	unsigned waiting;
	bool failed;
	struct one {
		struct measurement *of;
		uint64_t rss_bytes;
	} process[];
};

static void drop(struct measurement *m)
{
	struct measurement **at = &m->c->measurements;

	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	m->run->measuring = false;
	run_unref(m->run);
	free(m);
}

static void finish(struct measurement *m)
{
	struct run *run = m->run;
	uint64_t now_ns = clock_boot_ns();

	run->pss_next_ns = now_ns + PSS_REST * (now_ns - m->began_ns);
	if (!m->failed && m->sum_bytes > run->pss_peak_bytes)
		run->pss_peak_bytes = m->sum_bytes;
	drop(m);
}

void collector_pss_end(struct collector *c)
{
	while (c->measurements)
		drop(c->measurements);
}

/* The value of the line "Pss:             225 kB" in bytes.  false: the text has no such line. */
static bool pss_of(const struct skep_str *text, uint64_t *ret)
{
	static const char name[] = "\nPss:";
	const char *at = text->len ? memmem(text->ptr, text->len, name, strlen(name)) : NULL, *end;
	uint64_t kb = 0;

	if (!at)
		return false;
	end = text->ptr + text->len;
	for (at += strlen(name); at < end && *at == ' ';)
		at++;
	if (at == end || *at < '0' || *at > '9')
		return false;
	for (; at < end && *at >= '0' && *at <= '9' && kb < UINT64_MAX >> 14; at++)
		kb = kb * 10 + (uint64_t)(*at - '0');
	*ret = kb << 10;
	return true;
}

static void on_text(struct skep_instance *none, void *token, const struct skep_process_text *text)
{
	struct one *one = token;
	struct measurement *m = one->of;
	uint64_t bytes = 0;

	(void)none;
	/* A process that has ended since the sample counts with its resident memory: the sum is not too small. */
	if (text->error == -ESRCH || (!text->error && !text->cmdline.len))
		bytes = one->rss_bytes;
	else if (text->error || !pss_of(&text->cmdline, &bytes))
		m->failed = true;
	m->sum_bytes += bytes;
	if (--m->waiting == 0)
		finish(m);
}

static bool is_due(const struct collector *c, const struct run *run, uint64_t now_ns)
{
	if (!c->reader || run->measuring || run->ended || run->alive < 2 || run->alive > PSS_PROCESSES_MOST ||
	    run->rss_bytes <= run->pss_peak_bytes)
		return false;
	/* A run that grows a lot is measured again at once, or its figure would be too small. */
	if (run->rss_bytes / 5 > run->pss_rss_bytes / 4)
		return true;
	return now_ns >= run->pss_next_ns &&
	       (run->rss_bytes > run->pss_rss_bytes || now_ns - run->pss_asked_ns >= PSS_AGAIN_NS);
}

void collector_pss(struct collector *c, struct run *run, uint64_t now_ns)
{
	uint64_t largest_bytes = 0;
	struct measurement *m;
	unsigned n = 0;

	if (!is_due(c, run, now_ns))
		return;
	for (const struct proc *p = run->procs; p; p = p->run_next)
		if (p->rss_bytes > largest_bytes)
			largest_bytes = p->rss_bytes;
	if (run->rss_bytes - largest_bytes < PSS_LEAST_BYTES || largest_bytes > PSS_PROCESS_BYTES)
		return;
	m = calloc(1, sizeof(*m) + (size_t)run->alive * sizeof(m->process[0]));
	if (!m)
		return;
	*m = (struct measurement){
		.next = c->measurements, .c = c, .run = run_ref(run), .began_ns = now_ns, .waiting = 1
	};
	c->measurements = m;
	run->measuring = true;
	run->pss_asked_ns = now_ns;
	run->pss_rss_bytes = run->rss_bytes;
	for (const struct proc *p = run->procs; p; p = p->run_next) {
		struct one *one = &m->process[n];

		if (!p->rss_bytes || n == run->alive)
			continue;
		*one = (struct one){ m, p->rss_bytes };
		if (reader_ask(c->reader, c, &p->upid, p->uid, READER_PSS, on_text, one) == 0) {
			m->waiting++;
			n++;
		} else {
			m->failed = true;
		}
	}
	if (--m->waiting == 0)
		finish(m);
}
