/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/report_head.c - prints the head of a report: command, host, end, and total cost.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/human.h"
#include "cli/base/text.h"
#include "cli/report/reason.h"
#include "cli/report/report_parts.h"

#define COMMAND_LINES 3
#define LABEL_COLUMNS 10
#define VALUE_COLUMNS 8
#define STATES_LEAST  20

/* ---- the run -------------------------------------------------------------- */

static enum ink outcome_ink(const struct lake_run *run)
{
	if (run->signal || run->exit_code > 0)
		return INK_RED;
	return run->exit_code == 0 ? INK_GREEN : INK_YELLOW;
}

static int print_outcome(const struct report *r)
{
	const struct lake_run *run = &r->lake->run;
	const struct paint *p = &r->paint;
	enum ink ink = outcome_ink(run);
	const char *mark = ink == INK_RED ? paint_glyph(p, "✘ ", "") : ink == INK_GREEN ? paint_glyph(p, "✔ ", "") : "";
	const char *when = ink == INK_GREEN ? "in" : "after";
	char elapsed[HUMAN_SIZE], *outcome = reason_run(run), *cut = NULL;
	int rc = -ENOMEM;
	char *name = text_safe(*run->name ? run->name : run->id, p->unicode);

	if (name)
		cut = text_cut(name, p->width / 2, p->unicode);
	if (outcome && cut) {
		paint(p, INK_BOLD, "%s", cut);
		fputs("  ", p->out);
		paint(p, ink, "%s%s", mark, outcome);
		fprintf(p->out, " %s %s\n", when, human_time(r->end_ns - run->start_ns, paint_units(p), elapsed));
		rc = 0;
	}
	free(name);
	free(outcome);
	free(cut);
	return rc;
}

static int print_command(const struct report *r)
{
	const struct paint *p = &r->paint;
	char *argv = text_argv(r->lake->run.argv, false, p->unicode, 4096), *cut = NULL;

	if (argv)
		cut = text_cut(argv, (size_t)(p->width - 8) * COMMAND_LINES, p->unicode);
	free(argv);
	if (!cut)
		return -ENOMEM;
	if (*cut)
		paint_wrapped(p, INK_NONE, "  ", 4, cut);
	free(cut);
	return 0;
}

/* "2026-11-21 03:48:15 to 04:00:18 CET": the day and the zone only once if both are the same. */
static char *times_text(const struct lake_run *run)
{
	char begin[HUMAN_SIZE], begin_day[HUMAN_SIZE], end[HUMAN_SIZE], end_day[HUMAN_SIZE];
	const time_t from = (time_t)(run->start_ns / 1000000000), to = (time_t)(run->end_ns / 1000000000);
	struct tm a = { 0 }, b = { 0 };
	bool zones;

	if (!run->end_ns || run->end_ns < run->start_ns)
		return text_format("%s %s", run->end_ns ? "from" : "since", human_date(run->start_ns, HUMAN_DATE | HUMAN_CLOCK | HUMAN_ZONE, begin));
	/* daylight saving began or ended meanwhile */
	zones = localtime_r(&from, &a) && localtime_r(&to, &b) && a.tm_gmtoff != b.tm_gmtoff;
	human_date(run->start_ns, HUMAN_DATE | HUMAN_CLOCK | (zones ? HUMAN_ZONE : 0), begin);
	human_date(run->start_ns, HUMAN_DATE, begin_day);
	human_date(run->end_ns, HUMAN_DATE, end_day);
	human_date(run->end_ns, HUMAN_CLOCK | HUMAN_ZONE | (strcmp(begin_day, end_day) == 0 ? 0 : HUMAN_DATE), end);
	return text_format("%s to %s", begin, end);
}

/* Prints pieces, separated by dots; a piece that does not fit goes whole to the next line. Leaves out "". */
static void print_pieces(const struct paint *p, char *const *pieces, size_t n)
{
	const char *dot = paint_glyph(p, " · ", ", ");
	size_t column = 2;

	fputs("  ", p->out);
	paint_begin(p, INK_DIM);
	for (size_t i = 0; i < n; i++) {
		size_t width = text_width(pieces[i]);

		if (!width)
			continue;
		if (column > 2 && column + text_width(dot) + width > p->width) {
			fputs("\n  ", p->out);
			column = 2;
		} else if (column > 2) {
			fputs(dot, p->out);
			column += text_width(dot);
		}
		fputs(pieces[i], p->out);
		column += width;
	}
	paint_end(p, INK_DIM);
	fputc('\n', p->out);
}

static int print_facts(const struct report *r)
{
	const struct lake_run *run = &r->lake->run;
	bool unicode = r->paint.unicode;
	char *kernel = text_safe(run->kernel, unicode), *id = text_safe(run->id, unicode), cpus[HUMAN_SIZE];
	char *around = text_safe(run->parent_run, unicode);
	char *pieces[] = {
		times_text(run),
		text_safe(run->host, unicode),
		kernel ? text_format("%s%s", *kernel ? "Linux " : "", kernel) : NULL,
		text_format("%s%s", run->cpus ? human_count(run->cpus, cpus) : "",
			    run->cpus == 1 ? " CPU"
			    : run->cpus    ? " CPUs"
					   : ""),
		id ? text_format("run %s", id) : NULL,
		around ? text_format("%s%s", *around ? "in run " : "", around) : NULL,
	};
	size_t n = sizeof(pieces) / sizeof(*pieces);
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		if (!pieces[i])
			rc = -ENOMEM;
	}
	if (rc == 0)
		print_pieces(&r->paint, pieces, n);
	for (size_t i = 0; i < n; i++)
		free(pieces[i]);
	free(kernel);
	free(id);
	free(around);
	return rc;
}

int report_head(const struct report *r)
{
	int rc = print_outcome(r);

	if (rc == 0)
		rc = print_command(r);
	return rc ? rc : print_facts(r);
}

/* ---- totals --------------------------------------------------------------- */

/* Prints one line and frees the note; NULL: memory had run out. */
static int total_line(const struct paint *p, const char *label, const char *value, char *note)
{
	size_t width = text_width(value), column = 2 + LABEL_COLUMNS + VALUE_COLUMNS + 2;

	if (!note)
		return -ENOMEM;
	fputs("  ", p->out);
	paint(p, INK_DIM, "%-*s", LABEL_COLUMNS, label);
	fprintf(p->out, "%*s", width < VALUE_COLUMNS ? (int)(VALUE_COLUMNS - width) : 0, "");
	paint(p, INK_BOLD, "%s", value);
	fputs("  ", p->out);
	paint_flow(p, INK_NONE, column, column, note);
	free(note);
	return 0;
}

static int print_processes(const struct report *r)
{
	const struct lake_totals *t = &r->lake->run.totals;
	uint64_t programs = 0, forks = 0;
	char n[HUMAN_SIZE], execs[HUMAN_SIZE], alone[HUMAN_SIZE], threads[HUMAN_SIZE];

	for (size_t i = 0; i < r->lake->n_processes; i++) {
		programs += r->lake->processes[i].kind->execed;
		forks += r->lake->processes[i].kind->last && !r->lake->processes[i].kind->execed;
	}
	human_count(forks, alone);
	human_count(t->threads, threads);
	return total_line(&r->paint, "processes", human_count(t->processes, n),
			  text_format("%s program%s started%s%s%s%s%s%s", human_count(programs, execs),
				      programs == 1 ? "" : "s", forks ? ", " : "", forks ? alone : "",
				      forks == 1 ? " fork without exec"
				      : forks    ? " forks without exec"
						 : "",
				      t->threads > 1 ? "; up to " : "", t->threads > 1 ? threads : "",
				      t->threads > 1 ? " threads in one" : ""));
}

static int print_cpu(const struct report *r)
{
	const struct lake_totals *t = &r->lake->run.totals;
	uint64_t cpus = r->lake->run.cpus, elapsed = r->end_ns - r->lake->run.start_ns;
	double cores = elapsed ? (double)t->cpu_ns / (double)elapsed : 0;
	unsigned units = paint_units(&r->paint);
	char cpu[HUMAN_SIZE], busy[HUMAN_SIZE], of[HUMAN_SIZE], share[HUMAN_SIZE], user[HUMAN_SIZE], system[HUMAN_SIZE];

	human_cores(cores, busy);
	human_count(cpus, of);
	human_percent(cpus ? cores / (double)cpus : 0, share);
	human_time(t->user_ns, units, user);
	human_time(t->system_ns, units, system);
	return total_line(&r->paint, "CPU", human_time(t->cpu_ns, units, cpu),
			  cpus ? text_format("= %s of %s core%s (%s); user %s, system %s", busy, of,
					     cpus == 1 ? "" : "s", share, user, system)
			       : text_format("= %s cores; user %s, system %s", busy, user, system));
}

static int print_memory(const struct report *r)
{
	const struct lake_run *run = &r->lake->run;
	const struct lake_process *most = NULL;
	uint64_t faults = run->totals.major_faults;
	const char *what = strcmp(run->memory_source, "pss") == 0   ? "PSS peak at samples"
			   : strcmp(run->memory_source, "rss") == 0 ? "summed RSS peak at samples"
								    : "RSS peak";
	char value[HUMAN_SIZE], own[HUMAN_SIZE], number[HUMAN_SIZE], *name, *cut = NULL, *note = NULL;

	for (size_t i = 0; i < r->lake->n_processes; i++) {
		if (!most || r->lake->processes[i].totals.rss_peak_bytes > most->totals.rss_peak_bytes)
			most = &r->lake->processes[i];
	}
	human_bytes(most ? most->totals.rss_peak_bytes : 0, 0, own);
	human_count(faults, number);
	name = text_safe(most ? reason_name(most) : "", r->paint.unicode);
	if (name)
		cut = text_cut(name, 24, r->paint.unicode);
	if (cut)
		note = text_format("%s%s%s%s%s%s%s%s%s", what, most ? "; largest process " : "", most ? own : "",
				   most ? " (" : "", cut, most ? ")" : "", faults ? "; " : "", faults ? number : "",
				   faults == 1 ? " major fault"
				   : faults    ? " major faults"
					       : "");
	free(name);
	free(cut);
	return total_line(&r->paint, "memory", human_bytes(run->memory_peak_bytes, 0, value), note);
}

static int print_bytes(const struct report *r)
{
	const struct lake_totals *t = &r->lake->run.totals;
	/* of files that were deleted or cut while their pages still waited for the disk */
	bool gone = t->cancelled_write_bytes && t->cancelled_write_bytes >= t->write_bytes / 100;
	char a[HUMAN_SIZE], b[HUMAN_SIZE], c[HUMAN_SIZE], d[HUMAN_SIZE], waited[HUMAN_SIZE], never[HUMAN_SIZE];

	human_bytes(t->write_bytes, 0, b);
	human_bytes(t->cancelled_write_bytes, 0, never);
	human_bytes(t->rchar_bytes, 0, c);
	human_bytes(t->wchar_bytes, 0, d);
	human_time(t->block_delay_ns, paint_units(&r->paint), waited);
	return total_line(&r->paint, "storage", human_bytes(t->read_bytes, 0, a),
			  text_format("read, %s written%s%s%s%s%s%s; calls: %s in, %s out", b, gone ? " (" : "",
				      gone ? never : "", gone ? " of it deleted before it reached a disk)" : "",
				      t->block_delay_ns ? ", threads waited " : "", t->block_delay_ns ? waited : "",
				      t->block_delay_ns ? " for it" : "", c, d));
}

static int print_network(const struct report *r)
{
	const struct lake_totals *t = &r->lake->run.totals;
	char rx[HUMAN_SIZE], tx[HUMAN_SIZE];

	if (t->net_rx_bytes + t->net_tx_bytes == 0)
		return 0;
	human_bytes(t->net_tx_bytes, 0, tx);
	return total_line(&r->paint, "network", human_bytes(t->net_rx_bytes, 0, rx),
			  text_format("received, %s sent (TCP; UDP with net's option calls)", tx));
}

/* Prints the shares of the states in samples of threads that did not sleep; nothing if the samples are too few. */
static int print_states(const struct report *r)
{
	const struct lake_totals *t = &r->lake->run.totals;
	uint64_t awake = 0;
	char running[HUMAN_SIZE], runnable[HUMAN_SIZE], iowait[HUMAN_SIZE], blocked[HUMAN_SIZE], n[HUMAN_SIZE];

	for (int i = 0; i < LAKE_SLEEPING; i++)
		awake += t->states[i];
	if (awake < STATES_LEAST)
		return 0;
	human_percent((double)t->states[LAKE_RUNNABLE] / (double)awake, runnable);
	human_percent((double)t->states[LAKE_IOWAIT] / (double)awake, iowait);
	human_percent((double)t->states[LAKE_BLOCKED] / (double)awake, blocked);
	return total_line(
		&r->paint, "threads", human_percent((double)t->states[LAKE_RUNNING] / (double)awake, running),
		text_format("on a CPU when not asleep; waiting: %s for a CPU, %s for disks, %s otherwise (%s samples)",
			    runnable, iowait, blocked, human_count(awake, n)));
}

static int64_t booked(const struct lake_report *report, const char *item)
{
	for (size_t i = 0; i < report->n_ledger; i++)
		if (strcmp(report->ledger[i].account, "cpu") == 0 && strcmp(report->ledger[i].item, item) == 0)
			return report->ledger[i].amount;
	return 0;
}

/* Prints how the host spent its CPU time during the run. */
static int print_host(const struct report *r)
{
	static const struct {
		const char *item, *words;
	} parts[] = {
		{ "processes", "recorded processes" }, { "excluded", "others" }, { "kernel", "kernel threads" },
		{ "steal", "other machines" },         { "idle", "idle" },       { "wakeup", "waking up" },
		{ "unattributed", "unattributed" },
	};
	int64_t capacity = booked(r->lake, "capacity");
	char value[HUMAN_SIZE], share[HUMAN_SIZE];
	char *note = NULL, *more;

	if (capacity <= 0)
		return 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		int64_t amount = booked(r->lake, parts[i].item);

		if (amount == 0)
			continue;
		human_percent((double)(amount < 0 ? -amount : amount) / (double)capacity, share);
		more = text_format("%s%s%s %s%s", note ? note : "of the host's CPU time: ", note ? ", " : "",
				   parts[i].words, amount < 0 ? "-" : "", share);
		free(note);
		if (!more)
			return -ENOMEM;
		note = more;
	}
	return note ? total_line(&r->paint, "host", human_time((uint64_t)capacity, paint_units(&r->paint), value), note)
		    : 0;
}

/* Sums of facets of the probe gpu, over a run's processes. */
struct gpu {
	double busy_ns, held_ns, known_ns, idle_ns, joules, devices, memory;
	const struct lake_process *largest; /* by memory; NULL: not known */
};

static void gpu_add(struct gpu *g, const struct lake_process *p)
{
	const struct {
		const char *name;
		double *sum;
	} sums[] = {
		{ "gpu.busy_ns", &g->busy_ns },           { "gpu.held_ns", &g->held_ns },
		{ "gpu.known_ns", &g->known_ns },         { "gpu.idle_held_ns", &g->idle_ns },
		{ "gpu.energy_joules", &g->joules },
	};

	for (size_t f = 0; f < p->n_facets; f++) {
		const char *name = p->facets[f].name;
		const double value = p->facets[f].value;

		if (strncmp(name, "gpu.", 4) != 0)
			continue;
		for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
			if (strcmp(name, sums[i].name) == 0)
				*sums[i].sum += value;
		if (strcmp(name, "gpu.devices") == 0 && value > g->devices)
			g->devices = value;
		if (strcmp(name, "gpu.memory_peak_bytes") == 0 && value > g->memory) {
			g->memory = value;
			g->largest = p;
		}
	}
}

/* Prints the use of GPUs; nothing if no process held one. */
static int print_gpu(const struct report *r)
{
	const unsigned units = paint_units(&r->paint);
	char value[HUMAN_SIZE], held[HUMAN_SIZE], idle[HUMAN_SIZE], share[HUMAN_SIZE], memory[HUMAN_SIZE], *text = NULL;
	char *name;
	struct gpu g = { 0 };
	size_t size;
	FILE *f;

	for (size_t i = 0; i < r->lake->n_processes; i++)
		gpu_add(&g, &r->lake->processes[i]);
	if (g.held_ns <= 0)
		return 0;
	name = text_safe(g.largest ? reason_name(g.largest) : "", r->paint.unicode);
	f = name ? open_memstream(&text, &size) : NULL;
	if (!f) {
		free(name);
		return -ENOMEM;
	}
	human_time((uint64_t)g.held_ns, units, held);
	if (g.known_ns > 0) {
		fprintf(f, "busy, of %s in which processes held a GPU (%s)", held,
			human_percent(g.busy_ns / g.known_ns, share));
		if (g.known_ns < 0.99 * g.held_ns)
			fprintf(f, "; known for %s of it", human_time((uint64_t)g.known_ns, units, held));
		fprintf(f, "; idle for %s", human_time((uint64_t)g.idle_ns, units, idle));
	} else {
		fputs("in which processes held a GPU; how busy it was is not known", f);
	}
	if (g.devices > 1)
		fprintf(f, "; up to %.0f devices in one process", g.devices);
	if (g.largest)
		fprintf(f, "; largest process %s (%.24s)", human_bytes((uint64_t)g.memory, 0, memory), name);
	if (g.joules > 0)
		fprintf(f, "; %.3g %s", g.joules < 1000 ? g.joules : g.joules / 1000, g.joules < 1000 ? "J" : "kJ");
	free(name);
	if (fclose(f) != 0) {
		free(text);
		return -ENOMEM;
	}
	human_time((uint64_t)g.busy_ns, units, value);
	return total_line(&r->paint, "GPU", g.known_ns > 0 ? value : held, text);
}

static int print_queue(const struct report *r)
{
	const struct lake_totals *t = &r->lake->run.totals;
	double could = (double)t->run_delay_ns + (double)t->cpu_ns;
	char value[HUMAN_SIZE], share[HUMAN_SIZE];

	human_percent(could > 0 ? (double)t->run_delay_ns / could : 0, share);
	return total_line(&r->paint, "run queue", human_time(t->run_delay_ns, paint_units(&r->paint), value),
			  text_format("waiting for a CPU, %s of the time ready to run", share));
}

int report_totals(const struct report *r)
{
	int rc;

	fputc('\n', r->paint.out);
	if (r->lake->n_processes == 0) {
		fputs(r->lake->run.end_ns ? "  No process was recorded.\n" : "  No process has been recorded yet.\n",
		      r->paint.out);
		return 0;
	}
	rc = print_processes(r);
	if (rc == 0)
		rc = print_cpu(r);
	if (rc == 0)
		rc = print_memory(r);
	if (rc == 0)
		rc = print_bytes(r);
	if (rc == 0)
		rc = print_network(r);
	if (rc == 0)
		rc = print_gpu(r);
	if (rc == 0)
		rc = print_queue(r);
	if (rc == 0)
		rc = print_states(r);
	return rc ? rc : print_host(r);
}
