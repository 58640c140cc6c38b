/* SPDX-License-Identifier: Apache-2.0 */
/* plugins/gpu/cuda_scan.c - a thread finds libcuda in processes; the loop starts it and leaves a stuck one behind. */
#include "cuda_state.h"

#include <skep/rules.h>
#include <sys/mman.h>

const unsigned char *cuda_verdicts_map(int fd, uint32_t pids)
{
	void *bytes = mmap(NULL, (pids + 4095u) / 4096 * 4096, PROT_READ, MAP_SHARED, fd, 0);

	if (bytes == MAP_FAILED)
		return NULL;
	return bytes;
}

void cuda_verdicts_unmap(const unsigned char *bytes, uint32_t pids)
{
	if (bytes)
		munmap((void *)bytes, (pids + 4095u) / 4096 * 4096);
}

bool cuda_in_group(unsigned char byte, uint64_t group)
{
	return byte < SKEP_VERDICT_EXCLUDED && (byte & SKEP_VERDICT_GROUPS) == group;
}

static bool skipped(const struct scan *scan, uint32_t pid)
{
	for (uint32_t i = 0; i < scan->n_skip; i++)
		if (scan->skip[i] == pid)
			return true;
	return false;
}

static int scan_process(struct scan *scan, uint32_t pid, char *why, size_t why_size)
{
	int err;

	for (uint32_t i = 0; i < scan->n_found; i++)
		if (scan->found[i]->pid == pid)
			return 0; /* followed for another attachment */
	atomic_store(&scan->pid, pid);
	atomic_store(&scan->since_ns, skep_boot_ns());
	err = cuda_library_open(scan->procfs, pid, scan->library, &scan->found[scan->n_found], why, why_size);
	atomic_store(&scan->since_ns, 0);
	scan->n_found += err == 0;
	return err;
}

/* The maps of a group's processes show which of them use CUDA: a process without libcuda is no error of the group. */
static void scan_group(struct scan *scan, struct attachment_want *w, const unsigned char *bytes)
{
	uint32_t n_read = 0, first = w->resume, pid;
	char why[sizeof(w->why)];

	for (uint32_t i = 0; i < scan->verdict_pids; i++) {
		pid = (first + i) % scan->verdict_pids;
		if (!cuda_in_group(bytes[pid], w->value) || skipped(scan, pid))
			continue;
		if (n_read == SCAN_PROCESSES || scan->n_found == SCAN_FOUND || atomic_load(&scan->given_up)) {
			w->resume = pid;
			return;
		}
		n_read++;
		scan_process(scan, pid, why, sizeof(why));
	}
}

static void scan_run(void *arg)
{
	struct scan *scan = arg;
	const unsigned char *bytes = NULL;

	if (scan->verdict_fd >= 0)
		bytes = cuda_verdicts_map(scan->verdict_fd, scan->verdict_pids);
	for (int i = 0; i < CUDA_ATTACHMENTS; i++) {
		struct attachment_want *w = &scan->want[i];

		if (!w->id || scan->n_found == SCAN_FOUND || atomic_load(&scan->given_up))
			continue;
		if (w->kind == SKEP_SCOPE_GROUP && bytes)
			scan_group(scan, w, bytes);
		else if (w->kind == SKEP_SCOPE_PID && !skipped(scan, (uint32_t)w->value))
			w->failed = scan_process(scan, (uint32_t)w->value, w->why, sizeof(w->why)) != 0;
	}
	cuda_verdicts_unmap(bytes, scan->verdict_pids);
}

/* ---- on the loop --------------------------------------------------------------------- */

struct scan *cuda_scan_free(struct scan *scan)
{
	for (uint32_t i = 0; scan && i < scan->n_found; i++)
		cuda_library_free(scan->found[i]);
	free(scan);
	return NULL;
}

static void scan_done(struct skep_instance *inst, void *arg)
{
	struct scan *scan = arg;
	struct cuda_state *s = scan->state;
	uint32_t held_up_by = atomic_load(&scan->given_up), i = 0;

	(void)inst;
	if (held_up_by) {
		while (i + 1 < s->n_stuck && s->stuck[i] != held_up_by)
			i++;
		s->stuck[i] = s->stuck[--s->n_stuck];
		cuda_scan_free(scan);
		return;
	}
	s->scan = NULL;
	for (i = 0; i < CUDA_ATTACHMENTS; i++)
		if (s->attachments[i].id && s->attachments[i].id == scan->want[i].id)
			s->attachments[i].resume = scan->want[i].resume;
	/* a pass attaches the libraries of an earlier scan: the next scan would find the same */
	if (!s->bpf || s->busy || s->scanned) {
		cuda_scan_free(scan);
		s->again = s->busy;
		return;
	}
	s->scanned = scan;
	cuda_pass_begin(s);
}

/* Whether a scan is useful: an attachment has a group, or a process that is not followed yet. */
static bool scan_wanted(const struct cuda_state *s, struct scan *scan)
{
	bool wanted = false;

	for (int k = 0; k < CUDA_PROCESSES; k++)
		if (s->live[k].pid)
			scan->skip[scan->n_skip++] = s->live[k].pid;
	for (uint32_t i = 0; i < s->n_stuck; i++)
		scan->skip[scan->n_skip++] = s->stuck[i];
	cuda_want_all(s, scan->want);
	for (int i = 0; i < CUDA_ATTACHMENTS; i++) {
		const struct attachment_want *w = &scan->want[i];

		wanted = wanted || (w->id && (w->kind == SKEP_SCOPE_GROUP || !skipped(scan, (uint32_t)w->value)));
	}
	return wanted;
}

bool cuda_scan_begin(struct cuda_state *s)
{
	struct scan *scan = s->scan || s->scanned || s->n_stuck == SCANS_STUCK ? NULL : calloc(1, sizeof(*scan));

	if (!scan)
		return false;
	scan->state = s;
	scan->procfs = s->config.procfs;
	scan->library = s->config.library;
	scan->verdict_fd = s->config.host->verdict_fd;
	scan->verdict_pids = s->config.host->verdict_pids;
	s->scan = scan;
	if (scan_wanted(s, scan) && s->config.host->work(s->inst, scan_run, scan_done, scan) == 0)
		return true;
	s->scan = cuda_scan_free(scan);
	return false;
}

static void give_up(struct cuda_state *s, uint32_t pid, const char *why)
{
	for (int i = 0; i < CUDA_ATTACHMENTS; i++) {
		struct attachment *a = &s->attachments[i];

		if (!a->id || a->over || a->kind != SKEP_SCOPE_PID || a->value != pid)
			continue;
		a->over = true;
		s->config.host->detail_over(s->inst, a->id, why);
	}
}

void cuda_scan_watch(struct cuda_state *s, uint64_t now_ns)
{
	uint64_t since = s->scan ? atomic_load(&s->scan->since_ns) : 0;
	uint32_t pid = s->scan ? atomic_load(&s->scan->pid) : 0;
	char why[200];

	if (since && now_ns > since + SCAN_STUCK_NS && s->n_stuck < SCANS_STUCK) {
		atomic_store(&s->scan->given_up, pid);
		s->scan = NULL;
		s->stuck[s->n_stuck++] = pid;
		s->config.host->counter_add(s->held_up, 1);
		snprintf(
			why, sizeof(why),
			"process %u: its /proc/%u/maps or its libcuda did not answer for 10 s; its file system may hang",
			pid, pid);
		give_up(s, pid, why);
	}
	/* No thread is left for scans: a process that no thread can read must not wait for ever. */
	for (int i = 0; s->n_stuck == SCANS_STUCK && i < CUDA_ATTACHMENTS; i++) {
		const struct attachment *a = &s->attachments[i];
		bool followed = false;

		for (int k = 0; k < CUDA_PROCESSES; k++)
			followed = followed || (s->live[k].pid && s->live[k].pid == a->value);
		snprintf(why, sizeof(why),
			 "processes %u and %u block the search for libcuda: end them, or reload the plugin gpu",
			 s->stuck[0], s->stuck[1]);
		if (a->id && a->kind == SKEP_SCOPE_PID && !followed)
			give_up(s, (uint32_t)a->value, why);
	}
}
