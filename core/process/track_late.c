/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track_late.c - names of tasks that stand in their engines' files, and that arrive late.
 *
 * A task whose mark names a file waits for the reader's answer: its record leaves TRACK_LATE_NS after the end of its
 * root at the latest.  After a later answer skepd sends the record again, with the same id.  A file that names its
 * task by a text, as Snakemake's metadata, exists only after the task: the first request leaves FIRST_NS after the end.
 * Snakemake's log names the running task, from its outputs.  The metadata has its whole command, and so the last word.
 * A task that failed has no such file; when another attempt with the same text has one, both have its name.
 *
 * One user has one request under way, and then rests ten times as long as it took: a folder of 100,000 files costs
 * seconds for each request.  Tasks that look for different texts in one folder share a request.  The collector's tick
 * is too late for a short task: its script and its engine's standard error go with it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/process/track_priv.h"

#define LATE_MOST 4096u      /* tasks that wait */
#define LATE_USER 1024u      /* tasks of one user that wait */
#define LATE_TEXT 4096u      /* bytes of a text to find; more are compared by their begin */
#define FIRST_NS 200000000u  /* Snakemake writes its metadata up to 190 ms after a job's end */
#define REST 10u
#define SOON_NS 20000000u    /* tasks that begin together share a request */

/* When the reader looks again, counted from the end of the task's root. */
static const uint64_t tries_ns[] = {
	FIRST_NS, 500000000, 1000000000, 1700000000, 5000000000, 15000000000, 60000000000
};
#define N_TRIES (sizeof(tries_ns) / sizeof(tries_ns[0]))

/* A user with tasks that wait. */
struct late_user {
	struct late_user *next;
	uint32_t uid;
	uint32_t waits;
	bool busy;        /* a request is under way */
	uint64_t rest_ns; /* no request before */
};

struct late {
	struct late *next, *prev; /* all that wait, the oldest first */
	struct task *task;
	struct late_user *user;
	struct recognizers *table; /* a reference: the mark stands in it */
	const struct recognizer_mark *mark;
	struct engine_file file;   /* paths and text are owned */
	uint64_t due_ns;           /* UINT64_MAX: not by time */
	unsigned tries;
	bool asked, last;          /* last: the run has ended, so this try is the last one */
};

/* A request under way; an entry of `of` is NULL once its task no longer waits. */
struct late_ask {
	struct late_ask *next;
	struct track *track;
	struct late_user *user;
	struct late *of[ENGINE_FILE_WANTED];
	uint32_t n;
	bool only_log;
	uint64_t begin_ns;
};

/* ---- waiting tasks ---------------------------------------------------------------- */

static struct late_user *user_of(struct lates *l, uint32_t uid)
{
	struct late_user *u = l->users;

	while (u && u->uid != uid)
		u = u->next;
	if (u)
		return u;
	u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->uid = uid;
	u->next = l->users;
	l->users = u;
	return u;
}

static void late_free(struct track *t, struct late *w)
{
	struct lates *l = &t->lates;

	for (struct late_ask *a = l->asks; a && w->asked; a = a->next)
		for (uint32_t i = 0; i < a->n; i++)
			if (a->of[i] == w)
				a->of[i] = NULL;
	*(w->prev ? &w->prev->next : &l->first) = w->next;
	*(w->next ? &w->next->prev : &l->last) = w->prev;
	l->n--;
	w->user->waits--;
	w->task->late = NULL;
	recognizers_unref(w->table);
	free((char *)w->file.path);
	free((char *)w->file.log);
	free((char *)w->file.wanted[0].text.ptr);
	free(w);
}

/* The task waits no longer. */
static void finish(struct track *t, struct late *w)
{
	struct task *task = w->task;

	late_free(t, w);
	track_task_settled(t, task);
}

/* Makes room for one more of this user.  A task whose record has left gives way. */
static bool room_for(struct track *t, const struct late_user *u)
{
	struct late *w = t->lates.first;

	if (u->waits < LATE_USER && t->lates.n < LATE_MOST)
		return true;
	while (w && !(w->task->ended && (u->waits < LATE_USER || w->user == u)))
		w = w->next;
	if (w)
		finish(t, w);
	return w != NULL;
}

static bool copy_of_file(const struct engine_file *from, struct engine_file *ret)
{
	uint32_t len = from->wanted[0].text.len < LATE_TEXT ? from->wanted[0].text.len : LATE_TEXT;
	char *path = from->path ? strdup(from->path) : NULL;
	char *log = from->log ? strdup(from->log) : NULL;
	char *text = malloc(len + 1);

	if ((from->path && !path) || (from->log && !log) || !text) {
		free(path);
		free(log);
		free(text);
		return false;
	}
	memcpy(text, from->wanted[0].text.ptr, len);
	text[len] = '\0';
	*ret = *from;
	ret->path = path;
	ret->log = log;
	ret->wanted[0].text.ptr = text;
	ret->wanted[0].text.len = ret->wanted[0].text.total = len;
	ret->wanted[0].cut |= len < from->wanted[0].text.len;
	return true;
}

void track_late_begin(struct track *t, const struct proc *p, const struct scope *s, const struct recognizer_mark *m,
		      const struct recognizer_subject *subject)
{
	const struct filter_text *argv = &subject->self.argv;
	struct recognizer_paths paths;
	struct engine_file file;
	struct skep_context ctx;
	struct late_user *u;
	struct late *w;

	/*
	 * A set-uid program below the engine has the directory of another user than its own, and the paths of a
	 * container are not the host's.
	 */
	if (!t->env.read_file || !p->task || p->task->late || p->uid != s->uid ||
	    !recognizer_mark_file(m, subject, &paths, &file))
		return;
	track_proc_context(t, p, &ctx);
	if (ctx.container.len)
		return;
	u = user_of(&t->lates, p->uid);
	w = u && room_for(t, u) ? calloc(1, sizeof(*w)) : NULL;
	if (!w)
		return;
	file.uid = p->uid;
	file.gid = p->gid;
	file.pid = s->root.pid;
	file.wanted[0].since_ns = p->task->start_ns + (uint64_t)clock_realtime_offset_ns();
	/* proc records 32 KiB of arguments, and the text may be the last of them. */
	file.wanted[0].cut = p->program->argv_total > p->program->argv_len &&
			     file.wanted[0].text.ptr + file.wanted[0].text.len + 1 >= argv->ptr + argv->len;
	if (!copy_of_file(&file, &w->file)) {
		free(w);
		return;
	}
	w->task = p->task;
	w->user = u;
	w->table = recognizers_ref(t->env.recognizers);
	w->mark = m;
	w->due_ns = file.where && !file.log ? UINT64_MAX : t->now_ns;
	w->prev = t->lates.last;
	*(w->prev ? &w->prev->next : &t->lates.first) = w;
	t->lates.last = w;
	t->lates.n++;
	u->waits++;
	p->task->late = w;
	if (t->env.late_soon && w->due_ns <= t->now_ns)
		t->env.late_soon(t->env.arg, SOON_NS);
}

void track_late_end(struct track *t, struct late *w)
{
	w->tries = 0;
	/* A file that was there at the begin is due since then: attempts are counted in the order of requests. */
	if (w->file.where || w->due_ns > t->now_ns)
		w->due_ns = t->now_ns + tries_ns[0];
}

bool track_late_holds(const struct track *t, const struct task *task)
{
	return task->late && t->now_ns < task->over_ns + TRACK_LATE_NS;
}

/* ---- answers ---------------------------------------------------------------------- */

static bool same_path(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_request(const struct late *a, const struct late *b)
{
	return a->user == b->user && a->mark == b->mark && same_path(a->file.path, b->file.path) &&
	       same_path(a->file.log, b->file.log);
}

/*
 * Whether the answer is the last word.  The log's is not, as long as the engine may write a file with the whole
 * command: until after a task that succeeded.
 */
static bool is_sure(const struct late *w, const struct skep_str *answer, uint32_t wanted)
{
	uint32_t n = 0;
	bool sure = !w->file.where || !w->file.log || (w->task->over_ns && w->task->status != 0);

	while (n < ENGINE_FILE_VALUES && w->file.values[n])
		n++;
	for (uint32_t i = 0; i < n && !sure; i++)
		sure = *w->file.values[i] == '/' && engine_file_value(answer, (size_t)wanted * n + i).len > 0;
	return sure;
}

static bool same_text(const struct late *a, const struct late *b)
{
	const struct skep_str *x = &a->file.wanted[0].text, *y = &b->file.wanted[0].text;

	return x->len == y->len && memcmp(x->ptr, y->ptr, x->len) == 0;
}

/*
 * Gives what the file says to the task, and to failed attempts of it.  One that succeeded has a file of its own, which
 * may name another rule with the same command.
 */
static void named(struct track *t, struct late *w, const struct recognizer_facts *facts)
{
	for (struct late *other = t->lates.first, *next; other; other = next) {
		next = other->next;
		if (other == w || !w->file.where || other->task->run != w->task->run || !same_request(other, w) ||
		    !same_text(other, w) || other->task->status <= 0)
			continue;
		track_task_learn(t, other->task, facts);
		/* finish() frees at most the task of `other`, so `next` still waits */
		finish(t, other);
	}
	track_task_learn(t, w->task, facts);
	finish(t, w);
}

static void try_again(struct track *t, struct late *w)
{
	uint64_t over = w->task->over_ns;

	w->due_ns = UINT64_MAX;
	if (!over) /* a file that names the running task was not there: once more at the end */
		return;
	while (w->tries < N_TRIES && over + tries_ns[w->tries] <= t->now_ns)
		w->tries++;
	if (w->tries < N_TRIES)
		w->due_ns = over + tries_ns[w->tries];
}

/* What a log or a standard error says about a task was there before the task; a task's script goes with it. */
static bool only_at_begin(const struct late *w)
{
	return w->file.standard_error || (w->file.log && !w->file.where);
}

/* skep recognize shows them.  A folder stands for its files. */
static void note_files(struct track *t, const struct late_ask *a, const struct late *w)
{
	const char *path = w->file.path && !a->only_log ? w->file.path : "", *log = w->file.log ? w->file.log : "";
	char room[2 * RECOGNIZER_PATH_SIZE];
	struct skep_str list = { room, 0, 0 };

	if (*path)
		list.len += (uint32_t)strlen(strcpy(room, path)) + 1;
	if (*log)
		list.len += (uint32_t)strlen(strcpy(room + list.len, log)) + 1;
	if (w->file.standard_error)
		list.len = (uint32_t)snprintf(room, sizeof(room), "standard error of process %u", w->file.pid) + 1;
	list.total = list.len;
	if (!w->task->files || w->task->files->len < list.len)
		intern_replace(t->intern, &w->task->files, &list);
}

static void ask_over(struct track *t, struct late_ask *a, const struct skep_str *answer)
{
	struct recognizer_facts facts;
	struct late_ask **at = &t->lates.asks;

	for (uint32_t i = 0; i < a->n; i++) {
		struct late *w = a->of[i];

		if (!w)
			continue;
		w->asked = false;
		facts.known = 0;
		if (answer) {
			note_files(t, a, w);
			recognizer_file_facts(w->mark, answer, i, &facts);
		}
		if (facts.known && is_sure(w, answer, i)) {
			named(t, w, &facts);
			continue;
		}
		if (facts.known)
			track_task_learn(t, w->task, &facts);
		if (w->last || only_at_begin(w))
			finish(t, w);
		else
			try_again(t, w);
	}
	a->user->busy = false;
	a->user->rest_ns = t->now_ns + REST * (t->now_ns - a->begin_ns);
	if (t->env.late_soon && a->user->waits)
		t->env.late_soon(t->env.arg, a->user->rest_ns - t->now_ns + SOON_NS);
	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	free(a);
}

void track_file_answer(void *token, int error, const struct skep_str *answer, uint64_t now_ns)
{
	struct late_ask *a = token;
	struct track *t = a->track;

	t->now_ns = now_ns;
	ask_over(t, a, error ? NULL : answer);
}

/* ---- requests --------------------------------------------------------------------- */

/* Of a task that runs only the log is read: no other file has its command yet. */
static bool only_log(const struct late *w)
{
	return w->file.log && !w->task->over_ns;
}

static bool joins(const struct late *w, const struct late *first)
{
	return w == first || ((first->file.where || first->file.log || first->file.standard_error) &&
			      first->file.pid == w->file.pid && same_request(w, first) &&
			      only_log(w) == only_log(first));
}

/* false: no memory. */
static bool ask(struct track *t, struct late *first)
{
	struct late_ask *a = calloc(1, sizeof(*a));
	struct engine_file file = first->file;
	size_t bytes = 0;
	int err;

	if (!a)
		return false;
	a->only_log = only_log(first);
	if (a->only_log)
		file.path = file.where = NULL;
	for (struct late *w = first; w && a->n < ENGINE_FILE_WANTED; w = w->next) {
		if (w->asked || w->due_ns > t->now_ns || !joins(w, first))
			continue;
		bytes += w->file.wanted[0].text.len;
		if (bytes > ENGINE_FILE_REQUEST - 3 * RECOGNIZER_PATH_SIZE)
			break;
		file.wanted[a->n] = w->file.wanted[0];
		a->of[a->n++] = w;
		w->asked = true;
	}
	file.n_wanted = a->n;
	a->track = t;
	a->user = first->user;
	a->begin_ns = t->now_ns;
	a->user->busy = true;
	a->next = t->lates.asks;
	t->lates.asks = a;
	err = t->env.read_file(t->env.arg, &file, a);
	for (uint32_t i = 0; i < a->n && err == -ENOENT; i++)
		a->of[i]->last = true; /* nothing reads files here: no record waits for a name */
	if (err < 0)
		ask_over(t, a, NULL);
	return true;
}

/* Users without tasks that wait go, once their rest is over. */
static void forget_users(struct track *t)
{
	struct late_user **at = &t->lates.users;

	while (*at) {
		struct late_user *u = *at;

		if (u->waits || u->busy || u->rest_ns > t->now_ns) {
			at = &u->next;
			continue;
		}
		*at = u->next;
		free(u);
	}
}

void track_late_tick(struct track *t, uint64_t now_ns)
{
	t->now_ns = now_ns;
	for (struct late *w = t->lates.first, *next; w; w = next) {
		next = w->next;
		/* No more files come from an engine that has ended. */
		if (!w->asked && !w->last && w->task->ended && (!w->task->run || w->task->run->ended)) {
			w->last = true;
			w->due_ns = t->now_ns;
		}
	}
	/* Each turn asks for the oldest of a user who may ask, so it makes the user busy, and the loop ends. */
	for (struct late *w = t->lates.first; w;) {
		if (w->asked || w->due_ns > t->now_ns || w->user->busy || w->user->rest_ns > t->now_ns) {
			w = w->next;
			continue;
		}
		/* A refused request may have freed it.  Without memory the next tick tries again. */
		w = ask(t, w) ? t->lates.first : NULL;
	}
	forget_users(t);
}

void track_late_over(struct track *t)
{
	for (struct late *w = t->lates.first, *next; w; w = next) {
		next = w->next;
		finish(t, w);
	}
}

void track_late_free(struct track *t)
{
	for (struct late *w = t->lates.first, *next; w; w = next) {
		next = w->next;
		late_free(t, w);
	}
	while (t->lates.asks) {
		struct late_ask *next = t->lates.asks->next;

		free(t->lates.asks);
		t->lates.asks = next;
	}
	while (t->lates.users) {
		struct late_user *next = t->lates.users->next;

		free(t->lates.users);
		t->lates.users = next;
	}
}
