/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/engine_names.c - matches tasks with the files of .snakemake/metadata: one JSON object for each output,
 * with rule, shellcmd, starttime and endtime.  The file's name is the output's path in URL-safe base64.  Then finds
 * what the tasks asked for in the log of the run, .snakemake/log/TIME.snakemake.log.
 */
#include "cli/report/engine_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <skep/utf8.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MOST 100000u      /* of a folder that a user fills */
#define FILE_MOST  65536u       /* bytes of a file */
#define LOG_MOST   (64 << 20)   /* bytes of a log */
#define SLACK_NS   2000000000u  /* between the engine's clock and the kernel's */

/* A job that Snakemake has finished. */
struct job {
	char *rule, *command, *output;
	uint64_t start_ns;
	bool other; /* of another run of this folder */
	bool taken;
};

struct engine_names {
	struct job *jobs; /* by command, then start */
	size_t n, room;
};

struct engine_names *engine_names_free(struct engine_names *names)
{
	for (size_t i = 0; names && i < names->n; i++) {
		free(names->jobs[i].rule);
		free(names->jobs[i].command);
		free(names->jobs[i].output);
	}
	if (names)
		free(names->jobs);
	free(names);
	return NULL;
}

/* ---- the files -------------------------------------------------------------------- */

static int digit_of(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Decodes URL-safe base64.  NULL: it is none, or no UTF-8, or no memory. */
static char *decode(const char *text)
{
	size_t len = strcspn(text, "="), n = 0;
	char *out = malloc(len + 1);
	unsigned bits = 0;

	for (size_t i = 0; out && i < len; i++) {
		int digit = digit_of(text[i]);

		if (digit < 0) {
			free(out);
			return NULL;
		}
		bits = bits << 6 | (unsigned)digit;
		if (i % 4)
			out[n++] = (char)(bits >> (6 - 2 * (i % 4)));
	}
	if (!out)
		return NULL;
	out[n] = '\0';
	if (n > 0 && strlen(out) == n && skep_utf8_cut(out, n, n) == n)
		return out;
	free(out);
	return NULL;
}

/* The whole file, if it is an ordinary one of a bounded size.  NULL: not. */
static json_t *load(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char *text = NULL;
	json_t *json = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size <= FILE_MOST)
		text = malloc((size_t)st.st_size);
	n = text ? read(fd, text, (size_t)st.st_size) : -1;
	if (n > 0)
		json = json_loadb(text, (size_t)n, 0, NULL);
	free(text);
	close(fd);
	return json;
}

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " \t\n");
}

static int add_job(struct engine_names *names, const struct lake_run *run, const char *file, json_t *json)
{
	const char *rule = json_string_value(json_object_get(json, "rule"));
	const char *command = json_string_value(json_object_get(json, "shellcmd"));
	double start = json_number_value(json_object_get(json, "starttime"));
	uint64_t start_ns = start > 0 && start < 1e10 ? (uint64_t)(start * 1e9) : 0;
	struct job *job;

	if (!rule || !command)
		return 0;
	if (names->n == names->room) {
		size_t room = names->room ? 2 * names->room : 64;

		job = reallocarray(names->jobs, room, sizeof(*job));
		if (!job)
			return -ENOMEM;
		names->jobs = job;
		names->room = room;
	}
	job = &names->jobs[names->n];
	*job = (struct job){ .rule = strdup(rule), .command = strdup(skip_blanks(command)), .output = decode(file),
			     .start_ns = start_ns };
	/* Outputs of earlier runs keep their files. */
	job->other = start_ns + SLACK_NS < run->start_ns || (run->end_ns && start_ns > run->end_ns + SLACK_NS);
	names->n++;
	return job->rule && job->command ? 0 : -ENOMEM;
}

static int by_command(const void *a, const void *b)
{
	const struct job *x = a, *y = b;
	int order = strcmp(x->command, y->command);

	if (!order)
		order = x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
	return order ? order : strcmp(x->output ? x->output : "", y->output ? y->output : "");
}

static bool same_job(const struct job *a, const struct job *b)
{
	return a->start_ns == b->start_ns && strcmp(a->command, b->command) == 0 && strcmp(a->rule, b->rule) == 0;
}

/* Sorts the jobs; a job with several outputs has several files and becomes one. */
static void sort_jobs(struct engine_names *names)
{
	size_t n = 0;

	qsort(names->jobs, names->n, sizeof(*names->jobs), by_command);
	for (size_t i = 0; i < names->n; i++) {
		if (n > 0 && same_job(&names->jobs[n - 1], &names->jobs[i])) {
			free(names->jobs[i].rule);
			free(names->jobs[i].command);
			free(names->jobs[i].output);
			continue;
		}
		names->jobs[n++] = names->jobs[i];
	}
	names->n = n;
}

/* Opens PATH/.snakemake/NAME.  No link below PATH is followed. */
static DIR *open_folder(const char *path, const char *name)
{
	const char *const below[] = { ".snakemake", name };
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir;

	for (size_t i = 0; i < 2 && fd >= 0; i++) {
		int next = openat(fd, below[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

		close(fd);
		fd = next;
	}
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

static struct engine_names *read_folder(const struct lake_run *run, const char *path)
{
	struct engine_names *names = calloc(1, sizeof(*names));
	DIR *dir = names ? open_folder(path, "metadata") : NULL;
	const struct dirent *entry;
	unsigned files = 0;
	int err = 0;

	while (dir && !err && files++ < FILES_MOST && (entry = readdir(dir))) {
		json_t *json = entry->d_name[0] == '.' ? NULL : load(dirfd(dir), entry->d_name);

		if (json)
			err = add_job(names, run, entry->d_name, json);
		json_decref(json);
	}
	if (dir)
		closedir(dir);
	if (!dir || err || names->n == 0)
		return engine_names_free(names);
	sort_jobs(names);
	return names;
}

/* ---- the tasks -------------------------------------------------------------------- */

/* The command that Snakemake gave to its shell, without Snakemake's own prefix.  NULL: the process is no such shell. */
static const char *command_of(const struct lake_process *p)
{
	static const char prefix[] = "set -euo pipefail;";
	const char *at;

	if (!p->argv[0] || !p->argv[1] || !p->argv[2] || strcmp(p->argv[1], "-c") != 0)
		return NULL;
	at = strstr(p->argv[2], prefix);
	return at ? skip_blanks(at + strlen(prefix)) : NULL;
}

static int compare_id(const void *key, const void *member)
{
	return strcmp(key, (*(struct lake_task *const *)member)->task_id);
}

static int by_id(const void *a, const void *b)
{
	return strcmp((*(struct lake_task *const *)a)->task_id, (*(struct lake_task *const *)b)->task_id);
}

/*
 * The job of this command.  Of several with one command the i-th task that succeeded is the i-th job: nearest times
 * would mix them up.  A task that failed has no file: it is named like the others, and takes none.
 */
static struct job *find(struct engine_names *names, const char *command, bool failed, bool other)
{
	size_t low = 0, high = names->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(names->jobs[mid].command, command) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (size_t i = low; i < names->n && strcmp(names->jobs[i].command, command) == 0; i++) {
		if (names->jobs[i].other && !other)
			continue;
		if (failed || other)
			return &names->jobs[i];
		if (names->jobs[i].taken)
			continue;
		names->jobs[i].taken = true;
		return &names->jobs[i];
	}
	return NULL;
}

/* Returns the engine's folder; NULL: it has no names. other: the names are those of another run of the folder. */
static const char *name_tasks(struct lake_report *r, struct engine_names **names, bool other)
{
	const char *folder = NULL;
	struct lake_task **order = calloc(r->n_tasks, sizeof(struct lake_task *));

	if (!order)
		return NULL;
	for (size_t i = 0; i < r->n_tasks; i++)
		order[i] = &r->tasks[i];
	qsort(order, r->n_tasks, sizeof(struct lake_task *), by_id);
	for (size_t i = 0; i < r->n_processes; i++) { /* by start */
		const struct lake_process *p = &r->processes[i];
		const char *command = lake_begins_task(p) ? command_of(p) : NULL;
		struct lake_task **at = NULL;
		const struct job *job;

		if (command)
			at = bsearch(p->kind->task_id, order, r->n_tasks, sizeof(struct lake_task *), compare_id);
		if (!at || strcmp((*at)->engine, "snakemake") != 0)
			continue;
		/* Snakemake executes a job in its working directory, which --directory may have changed. */
		if (!*names)
			*names = read_folder(&r->run, p->kind->cwd);
		if (!*names)
			break;
		folder = folder ? folder : p->kind->cwd;
		job = find(*names, command, (*at)->exit_code > 0 || (*at)->signal, other);
		if (!job)
			continue;
		(*at)->task = job->rule;
		(*at)->name_source = "file";
		if (job->output && !other && !*(*at)->sample && !((*at)->exit_code > 0 || (*at)->signal))
			(*at)->sample = job->output;
	}
	for (size_t i = 0; folder && i < r->n_processes; i++) {
		struct lake_task **at = bsearch(r->processes[i].kind->task_id, order, r->n_tasks,
						sizeof(struct lake_task *), compare_id);

		if (at && strcmp((*at)->name_source, "file") == 0)
			r->processes[i].task = (*at)->task;
	}
	free(order);
	return folder;
}

/* ---- requests --------------------------------------------------------------------- */

/* An output of a job that the log says was started, and what the job asked for; 0: nothing. */
struct asked {
	char *rule, *output;
	uint64_t bytes, minutes;
	size_t line; /* later attempts are further down */
};

struct log {
	struct asked *asked; /* by rule, output, line */
	size_t n, room;
};

static int by_output(const void *a, const void *b)
{
	const struct asked *x = a, *y = b;
	int order = strcmp(x->rule, y->rule);

	order = order ? order : strcmp(x->output, y->output);
	return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* The name in "rule align:", "localrule all:", "checkpoint split:". NULL: the line is another one. */
static const char *rule_of(char *line)
{
	static const char *const words[] = { "rule ", "localrule ", "checkpoint ", "localcheckpoint " };
	size_t len = strlen(line);

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t begin = strlen(words[i]);

		if (len <= begin + 1 || strncmp(line, words[i], begin) != 0 || line[len - 1] != ':')
			continue;
		line[len - 1] = '\0';
		return line + begin;
	}
	return NULL;
}

static uint64_t number_of(const char *resources, const char *name)
{
	const char *at = strstr(resources, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* Adds an entry for each of "a, b". */
static int add_asked(struct log *log, const char *rule, char *outputs, const char *resources, size_t line)
{
	/* mem_mb as the recognizers read it: what --cluster gives to a scheduler, whose M is 1024 K */
	const uint64_t bytes = number_of(resources, " mem_mb=") << 20, minutes = number_of(resources, " runtime=");

	for (char *at = outputs, *next; at; at = next) {
		struct asked *one;

		next = strstr(at, ", ");
		if (next) {
			*next = '\0';
			next += 2;
		}
		if (log->n == log->room) {
			size_t room = log->room ? 2 * log->room : 64;
			struct asked *grown = reallocarray(log->asked, room, sizeof(*grown));

			if (!grown)
				return -ENOMEM;
			log->asked = grown;
			log->room = room;
		}
		one = &log->asked[log->n++];
		*one = (struct asked){ strdup(rule), strdup(at), bytes, minutes, line };
		if (!one->rule || !one->output)
			return -ENOMEM;
	}
	return 0;
}

/* A job is some lines: its rule, then "    output: a, b" and "    resources: mem_mb=100, runtime=5", then a blank one. */
static int read_log(FILE *f, struct log *ret)
{
	static const char output[] = "    output: ", resources[] = "    resources:";
	char *line = NULL, *rule = NULL, *outputs = NULL;
	size_t size = 0, number = 0;
	int err = 0;

	while (!err && getline(&line, &size, f) > 0) {
		const char *name;

		number++;
		line[strcspn(line, "\r\n")] = '\0';
		name = rule_of(line);
		if (name || !*line) {
			free(rule);
			free(outputs);
			outputs = NULL;
			rule = name ? strdup(name) : NULL;
		} else if (rule && strncmp(line, output, strlen(output)) == 0) {
			free(outputs);
			outputs = strdup(line + strlen(output));
		} else if (rule && outputs && strncmp(line, resources, strlen(resources)) == 0) {
			err = add_asked(ret, rule, outputs, line, number);
		}
	}
	free(line);
	free(rule);
	free(outputs);
	return err;
}

/* Opens the newest log that was written to while the run ran.  Snakemake locks its folder: there is one at a time. */
static FILE *open_log(const struct lake_run *run, const char *folder)
{
	DIR *dir = open_folder(folder, "log");
	const struct dirent *entry;
	uint64_t newest = 0;
	unsigned files = 0;
	FILE *f = NULL;
	int found = -1;

	while (dir && files++ < FILES_MOST && (entry = readdir(dir))) {
		int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		struct stat st;
		uint64_t changed;

		if (fd < 0)
			continue;
		changed = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= LOG_MOST && st.st_mtim.tv_sec > 0
				  ? (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec
				  : 0;
		if (changed <= newest || changed < run->start_ns || (run->end_ns && changed > run->end_ns + SLACK_NS)) {
			close(fd);
			continue;
		}
		if (found >= 0)
			close(found);
		found = fd;
		newest = changed;
	}
	if (dir)
		closedir(dir);
	f = found >= 0 ? fdopen(found, "r") : NULL;
	if (!f && found >= 0)
		close(found);
	return f;
}

/* The entry of the rule and output from which on there are none before them. */
static size_t first_of(const struct log *log, const char *rule, const char *output)
{
	const struct asked key = { .rule = (char *)rule, .output = (char *)output };
	size_t low = 0, high = log->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (by_output(&log->asked[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* NULL: not known. A task that failed has no output's name: then all jobs of its rule must have asked for the same. */
static const struct asked *asked_by(const struct log *log, const struct lake_task *t)
{
	size_t i = first_of(log, t->task, t->sample), attempt = 1;
	const struct asked *found = NULL;

	for (; i < log->n && strcmp(log->asked[i].rule, t->task) == 0; i++) {
		const struct asked *one = &log->asked[i];

		if (*t->sample && strcmp(one->output, t->sample) != 0)
			break;
		if (!*t->sample && found && (found->bytes != one->bytes || found->minutes != one->minutes))
			return NULL;
		found = one;
		if (*t->sample && attempt++ >= t->attempt)
			break;
	}
	return found;
}

static void add_requests(struct lake_report *r, const char *folder)
{
	FILE *f = open_log(&r->run, folder);
	struct log log = { 0 };

	if (f && read_log(f, &log) == 0 && log.n) {
		qsort(log.asked, log.n, sizeof(*log.asked), by_output);
		for (size_t i = 0; i < r->n_tasks; i++) {
			struct lake_task *t = &r->tasks[i];
			const struct asked *asked = strcmp(t->engine, "snakemake") == 0 ? asked_by(&log, t) : NULL;

			if (asked && !t->requested_memory_bytes)
				t->requested_memory_bytes = asked->bytes;
			/* nothing ends a local job after its runtime; a scheduler does */
			if (asked && !t->requested_walltime_ns && t->job && *t->job)
				t->requested_walltime_ns = asked->minutes * 60000000000u;
		}
	}
	for (size_t i = 0; i < log.n; i++) {
		free(log.asked[i].rule);
		free(log.asked[i].output);
	}
	free(log.asked);
	if (f)
		fclose(f);
}

struct engine_names *engine_names_add(struct lake_report *r)
{
	struct engine_names *names = NULL;
	const char *folder;

	if (!r->n_tasks || strcmp(r->run.engine, "snakemake") != 0 || r->run.uid != geteuid())
		return NULL;
	folder = name_tasks(r, &names, false);
	/* the arguments of a job that Snakemake submits say its rule: then no name was looked for */
	add_requests(r, folder ? folder : r->run.cwd);
	return names;
}

void engine_names_reuse(struct engine_names *names, struct lake_report *r)
{
	if (names && r->n_tasks > 0 && strcmp(r->run.engine, "snakemake") == 0)
		(void)name_tasks(r, &names, true);
}
