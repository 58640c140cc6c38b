/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/mock/loop.c - runs watches, timers and background work when the test asks for it.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "sdk/mock/priv.h"

/* ---- watches ---------------------------------------------------------------- */

int mock_watch_fd(struct skep_instance *i, int fd, unsigned events, skep_watch_cb cb, void *arg,
		  struct skep_watch **ret)
{
	struct skep_mock *m = i->mock;
	struct skep_watch *w;
	struct stat st;
	int flags;

	if (!mock_may(m, "watch_fd", false))
		return -EINVAL;
	if (m->fail_watch)
		return m->fail_watch;
	if (fd < 0 || !cb || !ret || events == 0 || (events & ~(SKEP_READABLE | SKEP_WRITABLE))) {
		mock_defect(
			m, "watch_fd(): fd %d, events 0x%x: an open fd, a callback and READABLE or WRITABLE are needed",
			fd, events);
		return -EINVAL;
	}
	if (fstat(fd, &st) < 0) {
		mock_defect(m, "watch_fd(): fd %d is not open", fd);
		return -EBADF;
	}
	if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return -EPERM;
	for (w = m->priv->watches; w; w = w->next)
		if (w->fd == fd && !w->closed)
			return -EEXIST;
	flags = fcntl(fd, F_GETFL);
	if (flags >= 0)
		fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	w = mock_need(calloc(1, sizeof(*w)));
	*w = (struct skep_watch) {
		.mock = m, .next = m->priv->watches, .fd = fd, .events = events, .cb = cb, .arg = arg
	};
	m->priv->watches = w;
	*ret = w;
	return 0;
}

void mock_watch_close(struct skep_watch *w)
{
	if (!w || !mock_may(w->mock, "watch_close", false))
		return;
	if (w->closed) {
		mock_defect(w->mock, "watch_close(): a watch is closed twice");
		return;
	}
	if (fcntl(w->fd, F_GETFD) < 0)
		mock_defect(w->mock, "watch_close(): its fd is closed already; close the watch before the fd");
	w->closed = true;
}

/* Runs one round of poll(). A callback may close any watch, and open others. */
static unsigned mock_poll_once(struct skep_mock *m, int wait_ms)
{
	struct skep_watch **who;
	struct pollfd *fds;
	unsigned n = 0, called = 0;

	for (struct skep_watch *w = m->priv->watches; w; w = w->next)
		n += !w->closed;
	fds = mock_need(calloc(n + 1, sizeof(*fds)));
	who = mock_need(calloc(n + 1, sizeof(*who)));
	n = 0;
	for (struct skep_watch *w = m->priv->watches; w; w = w->next) {
		if (w->closed)
			continue;
		who[n] = w;
		fds[n].fd = w->fd;
		fds[n++].events =
			(short)((w->events & SKEP_READABLE ? POLLIN : 0) | (w->events & SKEP_WRITABLE ? POLLOUT : 0));
	}
	if (poll(fds, n, wait_ms) > 0) {
		for (unsigned i = 0; i < n; i++) {
			unsigned events = (fds[i].revents & (POLLIN | POLLHUP) ? SKEP_READABLE : 0) |
					  (fds[i].revents & POLLOUT ? SKEP_WRITABLE : 0);

			if (fds[i].revents & POLLNVAL) {
				mock_defect(m, "fd %d was closed while it is watched; close the watch first",
					    fds[i].fd);
				who[i]->closed = true;
				continue;
			}
			if (fds[i].revents & POLLERR)
				events = who[i]->events;
			events &= who[i]->events;
			if (!events || who[i]->closed)
				continue;
			mock_enter(m, "watch callback");
			who[i]->cb(m->instance, who[i]->arg, events);
			mock_leave(m, true);
			called++;
		}
	}
	free(fds);
	free(who);
	return called;
}

unsigned skep_mock_poll(struct skep_mock *m, int wait_ms)
{
	unsigned n = mock_poll_once(m, wait_ms), all = n;

	/* skepd would call a plugin that leaves its fd readable again and again. */
	for (int rounds = 0; n > 0; rounds++) {
		if (rounds == 1000) {
			mock_defect(m,
				    "a watch callback was called 1000 times and its fd is still ready: does it read?");
			break;
		}
		n = mock_poll_once(m, 0);
		all += n;
	}
	return all;
}

/* ---- timers ------------------------------------------------------------------ */

int mock_timer(struct skep_instance *i, uint64_t first_ms, uint64_t repeat_ms, skep_timer_cb cb, void *arg,
	       struct skep_timer **ret)
{
	struct skep_mock *m = i->mock;
	struct skep_timer *t;

	if (!mock_may(m, "timer", false))
		return -EINVAL;
	if (m->fail_timer)
		return m->fail_timer;
	if (!cb || !ret) {
		mock_defect(m, "timer(): a callback, and where to put the timer, are needed");
		return -EINVAL;
	}
	t = mock_need(calloc(1, sizeof(*t)));
	*t = (struct skep_timer){
		.mock = m,
		.next = m->priv->timers,
		.due_ns = m->priv->now_ns + first_ms * 1000000,
		.repeat_ns = repeat_ms * 1000000,
		.cb = cb,
		.arg = arg,
	};
	m->priv->timers = t;
	*ret = t;
	return 0;
}

void mock_timer_close(struct skep_timer *t)
{
	if (!t || !mock_may(t->mock, "timer_close", false))
		return;
	if (t->closed)
		mock_defect(t->mock, "timer_close(): a timer is closed twice");
	t->closed = true;
}

uint64_t skep_mock_now(const struct skep_mock *m)
{
	return m->priv->now_ns;
}

static struct skep_timer *mock_next_timer(const struct skep_mock_priv *p)
{
	struct skep_timer *first = NULL;

	for (struct skep_timer *t = p->timers; t; t = t->next)
		if (!t->closed && !t->fired && (!first || t->due_ns < first->due_ns))
			first = t;
	return first;
}

void skep_mock_advance(struct skep_mock *m, uint64_t ns)
{
	struct skep_mock_priv *p = m->priv;
	uint64_t end = p->now_ns + ns;

	if (p->life != MOCK_RUNNING)
		mock_misuse("skep_mock_advance(): the plugin does not run");
	for (;;) {
		uint64_t sample = p->sampled_ns + (m->host.interval_ns ? m->host.interval_ns : 1);
		struct skep_timer *t = mock_next_timer(p);

		if (t && t->due_ns <= end && t->due_ns <= sample) {
			p->now_ns = t->due_ns > p->now_ns ? t->due_ns : p->now_ns;
			if (t->repeat_ns)
				t->due_ns = p->now_ns + t->repeat_ns;
			else
				t->fired = true;
			mock_enter(m, "timer callback");
			t->cb(m->instance, t->arg);
			mock_leave(m, true);
		} else if (sample <= end) {
			p->now_ns = p->sampled_ns = sample;
			skep_mock_sample(m);
		} else {
			break;
		}
	}
	p->now_ns = end;
}

/* ---- work ----------------------------------------------------------------------- */

static void *mock_work_thread(void *arg)
{
	struct mock_work *w = arg;

	w->work(w->arg);
	return NULL;
}

int mock_work(struct skep_instance *i, skep_work_cb work, skep_done_cb done, void *arg)
{
	struct skep_mock *m = i->mock;
	struct mock_work *w, **end = &m->priv->works;

	if (!mock_may(m, "work", false))
		return -ESHUTDOWN;
	if (m->fail_work)
		return m->fail_work;
	if (!work) {
		mock_defect(m, "work(): a function is needed");
		return -EINVAL;
	}
	if (m->priv->ending)
		return -ESHUTDOWN;
	if (m->inline_work) {
		work(arg);
		if (done)
			done(i, arg);
		return 0;
	}
	w = mock_need(calloc(1, sizeof(*w)));
	*w = (struct mock_work){ .mock = m, .work = work, .done = done, .arg = arg };
	if (pthread_create(&w->thread, NULL, mock_work_thread, w) != 0) {
		free(w);
		return -EAGAIN;
	}
	while (*end)
		end = &(*end)->next;
	*end = w;
	return 0;
}

void skep_mock_settle(struct skep_mock *m)
{
	while (m->priv->works) {
		struct mock_work *w = m->priv->works;

		pthread_join(w->thread, NULL);
		/* Unlink first: the done callback may call work() again. */
		m->priv->works = w->next;
		if (w->done) {
			mock_enter(m, "done callback");
			w->done(m->instance, w->arg);
			mock_leave(m, true);
		}
		free(w);
	}
}

/* ---- the end ---------------------------------------------------------------------- */

void mock_close_leftovers(struct skep_mock *m)
{
	for (struct skep_watch *w = m->priv->watches; w; w = w->next) {
		if (!w->closed)
			mock_defect(m, "a watch of fd %d was left open; close it in stop()", w->fd);
		w->closed = true;
	}
	for (struct skep_timer *t = m->priv->timers; t; t = t->next) {
		if (!t->closed && !t->fired)
			mock_defect(m, "a timer was left running; close it in stop()");
		t->fired = true; /* a second close, in close(), does no harm */
	}
}

void mock_loop_free(struct skep_mock_priv *p)
{
	while (p->watches) {
		struct skep_watch *w = p->watches;

		p->watches = w->next;
		free(w);
	}
	while (p->timers) {
		struct skep_timer *t = p->timers;

		p->timers = t->next;
		free(t);
	}
}
