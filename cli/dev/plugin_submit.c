/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/dev/plugin_submit.c - submits a batch to the sink under check: two records of a stream of its own, and checks the
 * answer.
 */
#include <skep/clock.h>
#include <skep/mock.h>
#include <time.h>

#include "cli/dev/plugin_check.h"

#define SUBMIT_WAIT_MS 5000

struct check_record {
	uint64_t number;
	struct skep_str text;
};

static const struct skep_field fields[] = {
	SKEP_FIELD(struct check_record, number, "skep.check.number", SKEP_T_U64, SKEP_S_DELTA, "1", "1, then 2"),
	SKEP_FIELD(struct check_record, text, "skep.check.text", SKEP_T_STR, SKEP_S_ATTRIBUTE, "",
		   "the origin of the record"),
};

static const struct skep_stream stream =
	SKEP_STREAM(struct check_record, fields, "skep.check", SKEP_ROLE_NONE, 0, "sent by skep-dev check --submit");

static int64_t clock_of(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void plugin_submit(struct findings *f, struct skep_mock *m)
{
	int64_t boot = (int64_t)skep_boot_ns();
	struct skep_mock_batch *b = skep_mock_batch_new(1, clock_of(CLOCK_REALTIME) - boot);
	unsigned answers = 0;
	int err;

	for (uint64_t i = 1; i <= 2; i++) {
		struct check_record r = { .number = i, .text = skep_mock_text("skep-dev check --submit") };

		skep_mock_batch_add(b, &stream, NULL, (uint64_t)boot, &r, NULL);
	}
	err = skep_mock_submit(m, &b->batch);
	for (int waited = 0; !err && waited < SUBMIT_WAIT_MS; waited += 10) {
		skep_mock_settle(m);
		answers = m->acks + m->retries + m->rejects + m->holds + m->splits + m->suspects;
		if (answers > 0)
			break;
		skep_mock_poll(m, 10);
		skep_mock_advance(m, 10000000);
	}
	if (err)
		findings_add(f, FINDING_WARNING, "submit", "refused for now, so skepd would offer it again: %s", m->why);
	else if (answers == 0)
		findings_add(f, FINDING_ERROR, "submit",
			     "no answer to a batch within %d s; the sink must answer each batch once, by batch_done()",
			     SUBMIT_WAIT_MS / 1000);
	else if (m->rejects > 0)
		findings_add(f, FINDING_ERROR, "submit", "a batch was rejected: %s", m->why);
	else if (m->retries + m->holds + m->suspects + m->splits > 0)
		findings_add(f, FINDING_WARNING, "submit", "a batch was not accepted now, so skepd would offer it again: %s",
			     m->why);
	else
		findings_add(f, FINDING_OK, "submit", "a batch of two records was acknowledged");
	if (err == 0 && answers == 0)
		return; /* the sink may still read the batch */
	skep_mock_batch_free(b);
}
