/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns librdkafka's handle: opens and closes the producer, reads its delivery reports on the loop, and passes its log
 * lines to the plugin host's log.
 */
#include <skep/clock.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sinks/kafka/kafka.h"

#define LOOK_NS UINT64_C(300000000000)

static void report_cb(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque)
{
	(void)rk;
	(void)opaque;
	kafka_report(m->_private, m->err);
}

static void error_cb(rd_kafka_t *rk, int err, const char *reason, void *opaque)
{
	struct kafka *k = opaque;

	(void)rk;
	if (err == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
		k->all_down = true;
	if (errors_fate((rd_kafka_resp_err_t)err) != FATE_HOLD)
		return;
	/* keep the reason: the time-out that librdkafka reports later does not contain it */
	k->trouble = (rd_kafka_resp_err_t)err;
	snprintf(k->trouble_text, sizeof(k->trouble_text), "%s", reason);
}

/* Runs on librdkafka's threads. librdkafka retries by itself after an error such as a lost broker. */
static void log_cb(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
	struct kafka *k = rd_kafka_opaque(rk);

	k->host->log(k->inst,
		     level <= 4   ? SKEP_LOG_WARNING
		     : level <= 6 ? SKEP_LOG_INFO
				  : SKEP_LOG_DEBUG,
		     "librdkafka: %s: %s", facility, text);
}

static void ready(struct skep_instance *i, void *arg, unsigned events)
{
	struct kafka *k = arg;
	uint64_t n;

	(void)i;
	(void)events;
	/* reset the eventfd before the poll: a report that arrives during the poll writes it again */
	while (read(k->event_fd, &n, sizeof(n)) < 0 && errno == EINTR)
		;
	if (k->producer)
		while (rd_kafka_poll(k->producer, 0) > 0)
			;
	kafka_check_slots(k);
}

static int handle_new(struct kafka *k)
{
	rd_kafka_conf_t *c;
	char why[512];
	int err = 0;

	/* before the files are read: the next look finds a change that comes between */
	k->files = properties_files(k);
	k->look_ns = skep_boot_ns() + LOOK_NS;
	k->stale = false;
	c = properties_new(k, &err);
	if (!c)
		return err;
	rd_kafka_conf_set_opaque(c, k);
	rd_kafka_conf_set_dr_msg_cb(c, report_cb);
	rd_kafka_conf_set_error_cb(c, error_cb);
	rd_kafka_conf_set_log_cb(c, log_cb);
	k->producer = rd_kafka_new(RD_KAFKA_PRODUCER, c, why, sizeof(why));
	if (!k->producer) {
		rd_kafka_conf_destroy(c); /* rd_kafka_new() takes ownership of the configuration only on success */
		return k->host->fail(k->inst, -EINVAL, "librdkafka %s: %s", rd_kafka_version_str(), why);
	}
	k->queue = rd_kafka_queue_get_main(k->producer);
	rd_kafka_queue_io_event_enable(k->queue, k->event_fd, &(uint64_t){ 1 }, sizeof(uint64_t));
	/*
	 * librdkafka writes the eventfd only when the queue was empty, and lost brokers may have queued errors by now
	 */
	(void)!write(k->event_fd, &(uint64_t){ 1 }, sizeof(uint64_t));
	k->trouble = RD_KAFKA_RESP_ERR_NO_ERROR;
	k->used = false;
	return 0;
}

int producer_open(struct kafka *k)
{
	int err;

	k->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (k->event_fd < 0)
		return k->host->fail(k->inst, -errno, "no eventfd: %s", strerror(errno));
	err = handle_new(k);
	if (err)
		return err;
	err = k->host->watch_fd(k->inst, k->event_fd, SKEP_READABLE, ready, k, &k->watch);
	return err ? k->host->fail(k->inst, err, "the eventfd cannot be watched") : 0;
}

/*
 * Purges undelivered messages; the plugin host still has their records.  rd_kafka_destroy() waits for librdkafka's
 * threads, and so for a name look-up, but not for brokers.
 */
static void handle_free(rd_kafka_t *rk)
{
	rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
	rd_kafka_destroy(rk);
}

static void handle_drop(struct kafka *k)
{
	if (!k->producer)
		return;
	rd_kafka_queue_io_event_enable(k->queue, -1, NULL, 0);
	rd_kafka_queue_destroy(k->queue);
	k->queue = NULL;
	k->old = k->producer;
	k->producer = NULL;
}

static void old_free(void *arg)
{
	struct kafka *k = arg;

	handle_free(k->old);
	k->old = NULL;
}

void producer_stop(struct kafka *k)
{
	handle_drop(k);
	/*
	 * On a worker, because the close takes 10 s when a name server does not answer.  When no worker starts,
	 * producer_close() frees the handle.
	 */
	if (k->old)
		(void)k->host->work(k->inst, old_free, NULL, k);
	k->host->watch_close(k->watch);
	k->watch = NULL;
}

void producer_close(struct kafka *k)
{
	handle_drop(k);
	if (k->old)
		handle_free(k->old);
	k->old = NULL;
	k->host->watch_close(k->watch);
	k->watch = NULL;
	if (k->event_fd >= 0)
		close(k->event_fd);
	k->event_fd = -1;
}

static void renew_done(struct skep_instance *i, void *arg)
{
	struct kafka *k = arg;

	k->renewing = false;
	if (k->producer)
		return;
	/* the same configuration was valid before: memory or threads are short, or a file is wrong now */
	if (handle_new(k) != 0)
		k->host->log(i, SKEP_LOG_ERROR, "no new producer can be made; it is tried again with the next batch");
}

bool producer_is_stale(struct kafka *k)
{
	const uint64_t now_ns = skep_boot_ns();
	uint64_t files;

	if (k->stale || !k->producer || (!k->trouble && now_ns < k->look_ns))
		return k->stale;
	k->look_ns = now_ns + LOOK_NS;
	files = properties_files(k);
	k->stale = files && files != k->files;
	if (k->stale)
		k->host->log(k->inst, SKEP_LOG_INFO, "a file of the option properties has changed: reading it again");
	return k->stale;
}

void producer_renew(struct kafka *k)
{
	if (k->renewing)
		return;
	if (!k->producer && !k->old) {
		renew_done(k->inst, k);
		return;
	}
	handle_drop(k);
	if (k->renewals)
		k->host->counter_add(k->renewals, 1);
	k->renewing = true;
	if (k->host->work(k->inst, old_free, renew_done, k) != 0)
		k->renewing = false; /* the instance is stopping: producer_close() frees the old handle */
}
