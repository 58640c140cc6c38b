/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_delivery_spool.c - delivery with a spool: batches are durable before a sink gets them, each sink has
 * its own pace, restarts and damage lose nothing uncounted, and the sums agree.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <skep/plugin.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/delivery/batch.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/delivery/delivery.h"
#include "core/delivery/sinkq.h"
#include "core/delivery/spooler.h"

struct rec {
	uint64_t number;
	struct skep_str text;
};

static const struct skep_field fields[] = {
	SKEP_FIELD(struct rec, number, "number", SKEP_T_U64, SKEP_S_DELTA, "1", ""),
	SKEP_FIELD(struct rec, text, "text", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
};

#define STREAM(name_, flags_)                                                                                        \
	{                                                                                                            \
		.size = sizeof(struct skep_stream), .field_size = sizeof(struct skep_field), .name = (name_),        \
		.help = "", .record_size = sizeof(struct rec), .n_fields = 2, .flags = (flags_), .fields = fields,   \
	}
static const struct skep_stream life = STREAM("life", 0), sample = STREAM("sample", SKEP_STREAM_SAMPLE);

#define MOST 2000000
#define AGE_NS 20000000

struct sink {
	const char *name;
	struct delivery_sink *s;
	bool stuck, refuses, any_order;
	const struct skep_batch *held[64];
	size_t n_held;
	uint64_t last_id, records;
	unsigned char *got; /* by record number */
};

static struct {
	uv_loop_t loop;
	uv_timer_t pump;
	char folder[64], path[128];
	struct spooler *spooler;
	struct delivery *out;
	struct sink sinks[3];
	int n_sinks, life, sample;
	uint64_t emitted, committed, durable;
	bool ended;
	struct spool_limits limits;
	size_t most_bytes;
	bool noise; /* texts that do not compress */
	int64_t jump_s;   /* sets the wall clock forward or back */
	int64_t passed_s; /* time that passes for every clock */
	uint64_t random;
	const char *boot; /* NULL: the first */
} t;

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int rc = __real_clock_gettime(clock, ret);

	if (clock == CLOCK_REALTIME)
		ret->tv_sec += t.jump_s;
	ret->tv_sec += t.passed_s;
	return rc;
}

static int answer(struct sink *s, const struct skep_batch *b, enum skep_batch_result result)
{
	struct skep_batch_answer a = {
		.size = sizeof(a), .result = result, .status = 400, .why = result == SKEP_BATCH_ACK ? NULL : "no"
	};

	return delivery_done(t.out, s->s, b, &a, clock_boot_ns());
}

static void note(struct sink *s, const struct skep_batch *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		const struct skep_record *r = b->records[i];
		struct rec rec;

		memcpy(&rec.number, (const char *)r->data + r->stream->fields[0].offset, sizeof(rec.number));
		memcpy(&rec.text, (const char *)r->data + r->stream->fields[1].offset, sizeof(rec.text));
		assert_in_range(rec.number, 0, MOST - 1);
		assert_int_equal(rec.text.len, 200);
		s->got[rec.number]++;
		s->records++;
	}
}

static int submit(void *arg, const struct skep_batch *b)
{
	struct sink *s = arg;

	if (s->stuck) {
		assert_true(s->n_held < 64);
		s->held[s->n_held++] = b;
		return 0;
	}
	if (s->refuses)
		return answer(s, b, SKEP_BATCH_REJECT);
	assert_true(s->any_order || b->id > s->last_id);
	s->last_id = b->id;
	note(s, b);
	return answer(s, b, SKEP_BATCH_ACK);
}

static void wake(void *arg);

static void on_pump(uv_timer_t *timer)
{
	(void)timer;
	delivery_tick(t.out, clock_boot_ns());
	wake(NULL);
}

static void wake(void *arg)
{
	uint64_t next = delivery_next_ns(t.out), now = clock_boot_ns();

	(void)arg;
	if (next != UINT64_MAX && !uv_is_closing((uv_handle_t *)&t.pump))
		uv_timer_start(&t.pump, on_pump, next > now ? (next - now) / 1000000 + 1 : 0, 0);
}

static void committed(void *arg, uint64_t number, bool durable)
{
	(void)arg;
	assert_int_equal(number, t.committed + 1);
	t.committed = number;
	t.durable += durable;
}

static void add_sink(const char *name)
{
	struct sink *s = &t.sinks[t.n_sinks++];

	s->name = name;
	s->last_id = 0;
	if (!s->got)
		s->got = calloc(1, MOST);
	assert_non_null(s->got);
	assert_int_equal(delivery_sink_add(t.out, name, 2, submit, s, &s->s), 0);
}

/* Starts a new collector on the existing spool. */
static void begin(const char *const *names)
{
	static const struct delivery_spool_env env = { .committed = committed,
						       .max_age_ns = 30 * 86400 * 1000000000ull };
	struct spooler *spooler;
	char why[256];

	assert_int_equal(spooler_new(&t.loop, t.path, &t.limits, &spooler, why, sizeof(why)), 0);
	t.out = delivery_new(&(struct batch_origin) { t.boot ? t.boot : "boot", t.boot ? "renamed" : "node1",
						      t.boot ? "6.12.0" : "6.1.0" },
			     AGE_NS, 64 << 20, wake, NULL);
	assert_non_null(t.out);
	assert_int_equal(delivery_spool(t.out, spooler, &env), 0);
	t.spooler = spooler;
	assert_int_equal(uv_timer_init(&t.loop, &t.pump), 0);
	t.n_sinks = 0;
	t.committed = 0;
	t.ended = false;
	t.life = delivery_stream_add(t.out, &life);
	t.sample = delivery_stream_add(t.out, &sample);
	for (; *names; names++)
		add_sink(*names);
}

static void emit(int stream, unsigned n)
{
	static char text[201];

	memset(text, 'x', 200);
	for (unsigned i = 0; i < n; i++) {
		struct rec rec = { t.emitted, { text, 200, 200 } };

		text[t.emitted % 200] = (char)('a' + t.emitted % 26);
		for (int k = 0; t.noise && k < 200; k++) {
			t.random = t.random * 6364136223846793005u + 1442695040888963407u;
			text[k] = (char)('0' + (t.random >> 58));
		}
		t.emitted++;
		delivery_emit(t.out, stream, NULL, t.emitted, &rec, NULL);
		if (delivery_bytes(t.out) > t.most_bytes)
			t.most_bytes = delivery_bytes(t.out);
	}
}

/* Waits until these sinks have that many records; ends a hang. */
static bool turn(bool (*until)(void))
{
	uint64_t end = clock_boot_ns() + 200000000000u;

	while (!until() && clock_boot_ns() < end)
		uv_run(&t.loop, UV_RUN_ONCE);
	return until();
}

static bool all_settled(void)
{
	for (int i = 0; i < t.n_sinks; i++)
		if (!t.sinks[i].stuck && !delivery_sink_settled(t.sinks[i].s, delivery_last_id(t.out)))
			return false;
	return true;
}

static bool has_ended(void)
{
	return t.ended;
}

static bool one_is_held(void)
{
	return t.sinks[0].n_held > 0;
}

static void on_ended(void *arg)
{
	(void)arg;
	t.ended = true;
}

static void on_closed(uv_handle_t *handle)
{
	(void)handle;
}

static void end(void)
{
	delivery_spool_end(t.out, on_ended, NULL);
	assert_true(turn(has_ended));
	for (int i = 0; i < t.n_sinks; i++)
		t.sinks[i].n_held = 0;
	t.out = delivery_free(t.out);
	uv_close((uv_handle_t *)&t.pump, on_closed);
	uv_run(&t.loop, UV_RUN_DEFAULT);
}

static int set_up(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	snprintf(t.folder, sizeof(t.folder), "/tmp/skep-spool-XXXXXX");
	if (!mkdtemp(t.folder))
		return -1;
	snprintf(t.path, sizeof(t.path), "%s/spool.db", t.folder);
	return uv_loop_init(&t.loop);
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	for (int i = 0; i < 3; i++)
		free(t.sinks[i].got);
	snprintf(command, sizeof(command), "rm -rf %s", t.folder);
	return uv_loop_close(&t.loop) || system(command);
}

/* The sink has every record once, and the sums agree. */
static void all_there(const struct sink *s, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		if (s->got[i] != 1)
			fail_msg("%s: record %llu came %u times", s->name, (unsigned long long)i, s->got[i]);
}

static void balanced(void)
{
	struct delivery_count counts[64];
	size_t n = delivery_counts(t.out, counts, 64);

	for (size_t i = 0; i < n; i++) {
		uint64_t sum = counts[i].delivered + counts[i].filtered + counts[i].pending;

		for (int k = 0; k < DELIVERY_LOSSES; k++)
			sum += counts[i].lost[k];
		assert_int_equal(counts[i].seen, sum);
	}
}

static uint64_t count_of(const char *sink, const char *stream, int lost)
{
	struct delivery_count counts[64];
	size_t n = delivery_counts(t.out, counts, 64);

	for (size_t i = 0; i < n; i++)
		if (strcmp(counts[i].sink, sink) == 0 && strcmp(counts[i].stream->name, stream) == 0)
			return lost < 0 ? counts[i].pending : lost ? counts[i].lost[lost] : counts[i].delivered;
	fail();
	return 0;
}

static const char *const two[] = { "a", "b", NULL };

static void all_get_all(void **state)
{
	(void)state;
	begin(two);
	emit(t.life, 3000);
	emit(t.sample, 3000);
	delivery_flush(t.out);
	assert_true(turn(all_settled));
	all_there(&t.sinks[0], 0, 6000);
	all_there(&t.sinks[1], 0, 6000);
	balanced();
	assert_int_equal(count_of("a", "life", 0), 3000);
	end();
}

/* After a reboot a stored batch keeps its key and names the boot, machine and kernel that recorded it. */
static void keeps_its_origin(void **state)
{
	static const char *const one[] = { "a", NULL };
	const struct skep_batch *b;
	char key[2][128];

	(void)state;
	begin(one);
	t.sinks[0].stuck = true;
	emit(t.life, 10);
	delivery_flush(t.out);
	assert_true(turn(one_is_held));
	snprintf(key[0], sizeof(key[0]), "%s", t.sinks[0].held[0]->key);
	end();
	t.boot = "other";
	begin(one);
	assert_true(turn(one_is_held));
	b = t.sinks[0].held[0];
	assert_string_equal(b->key, key[0]);
	assert_string_equal(b->boot_id, "boot");
	assert_string_equal(b->host_name, "node1");
	assert_string_equal(b->kernel, "6.1.0");
	t.sinks[0].n_held = 0;
	emit(t.life, 10);
	delivery_flush(t.out);
	assert_true(turn(one_is_held));
	b = t.sinks[0].held[0];
	assert_string_equal(b->boot_id, "other");
	assert_string_equal(b->host_name, "renamed");
	/* A clone of a virtual machine continues with the same id: only the random bits differ. */
	snprintf(key[1], sizeof(key[1]), "%s", b->key);
	assert_memory_not_equal(strchr(key[0], ':'), strchr(key[1], ':'), 17);
	end();
}

/*
 * One sink accepts nothing for long: the other gets all, memory stays bounded, and later the first gets all in order.
 */
static void a_stuck_one_delays_nobody(void **state)
{
	(void)state;
	begin(two);
	t.sinks[1].stuck = true;
	for (int i = 0; i < 40; i++) {
		emit(i % 2 ? t.life : t.sample, 2000);
		delivery_flush(t.out);
		assert_true(turn(all_settled));
	}
	all_there(&t.sinks[0], 0, 80000);
	assert_int_equal(t.sinks[1].n_held, 2);
	assert_in_range(t.most_bytes, 1, 14 << 20); /* of 80,000 records, which are 24 MB */
	balanced();
	t.sinks[1].stuck = false;
	while (t.sinks[1].n_held > 0) {
		const struct skep_batch *b = t.sinks[1].held[0];

		t.sinks[1].held[0] = t.sinks[1].held[--t.sinks[1].n_held];
		note(&t.sinks[1], b);
		assert_int_equal(answer(&t.sinks[1], b, SKEP_BATCH_ACK), 0);
	}
	t.sinks[1].last_id = 0;
	assert_true(turn(all_settled));
	all_there(&t.sinks[1], 0, 80000);
	balanced();
	end();
}

static bool second_holds(void)
{
	return t.sinks[1].n_held > 0;
}

/* The second sink acknowledges its oldest batch; returns its id. */
static uint64_t take_one(void)
{
	struct sink *s = &t.sinks[1];
	const struct skep_batch *b;
	uint64_t id;

	assert_true(turn(second_holds));
	b = s->held[0];
	id = b->id;
	memmove(&s->held[0], &s->held[1], --s->n_held * sizeof(s->held[0]));
	note(s, b);
	assert_int_equal(answer(s, b, SKEP_BATCH_ACK), 0);
	return id;
}

static void emit_rounds(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		emit(t.life, 500);
		delivery_flush(t.out);
		assert_true(turn(all_settled));
	}
}

static unsigned dice(unsigned sides)
{
	t.random = t.random * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(t.random >> 33) % sides;
}

#define LIVES 12

/* Answers, retries and restarts in random order: the sink gets all records and few of them twice. */
static void anything_in_any_order(void **state)
{
	unsigned twice = 0;

	(void)state;
	for (int life = 0; life < LIVES; life++) {
		begin(two);
		t.sinks[1].stuck = t.sinks[1].any_order = true;
		emit_rounds(life % 4 == 0 ? 110 : 0);
		for (int i = 0; i < 60; i++) {
			struct sink *s = &t.sinks[1];

			if (dice(3))
				emit_rounds((int)dice(4));
			uv_run(&t.loop, UV_RUN_NOWAIT);
			for (unsigned n = dice(8); n > 0 && s->n_held > 0; n--) {
				if (dice(6)) {
					take_one();
				} else {
					const struct skep_batch *b = s->held[--s->n_held];

					assert_int_equal(answer(s, b, SKEP_BATCH_RETRY), 0);
					delivery_sink_kick(s->s);
				}
				uv_run(&t.loop, UV_RUN_NOWAIT);
			}
		}
		balanced();
		end();
	}
	begin(two);
	t.sinks[1].stuck = false;
	assert_true(turn(all_settled));
	all_there(&t.sinks[0], 0, t.emitted);
	/*
	 * After a restart a sink gets a batch again that it acknowledged while an earlier one was open, with its key.
	 */
	for (uint64_t i = 0; i < t.emitted; i++) {
		assert_in_range(t.sinks[1].got[i], 1, LIVES);
		twice += t.sinks[1].got[i] > 1;
	}
	assert_in_range(twice, 0, LIVES * 500);
	balanced();
	end();
}

/* A sink with max_age: the spool counts older records as lost and delivers new ones. */
static void nothing_old(void **state)
{
	static const struct sink_terms terms = { .max_age_ns = 3600 * 1000000000ull };
	uint64_t lost, before;

	(void)state;
	begin(two);
	delivery_sink_terms(t.sinks[1].s, &terms);
	t.sinks[1].stuck = true;
	emit_rounds(60);
	before = t.emitted;
	t.passed_s = 2 * 3600;
	emit_rounds(1);
	t.sinks[1].stuck = false;
	while (t.sinks[1].n_held > 0)
		take_one();
	assert_true(turn(all_settled));
	lost = count_of("b", "life", SKEP_LOSS_SPOOL);
	assert_in_range(lost, 100, before - 1000); /* the sink acknowledged the batches in flight */
	assert_int_equal(count_of("b", "life", 0), t.emitted - lost);
	all_there(&t.sinks[1], before, t.emitted);
	all_there(&t.sinks[0], 0, t.emitted);
	balanced();
	end();
}

/* A machine boots with a clock in the past, then the clock is set: no record becomes too old by that. */
static void the_clock_is_set(void **state)
{
	static const struct sink_terms terms = { .max_age_ns = 3600 * 1000000000ull };

	(void)state;
	t.jump_s = -40 * 365 * 86400ll;
	begin(two);
	delivery_sink_terms(t.sinks[1].s, &terms);
	t.sinks[1].stuck = true;
	emit_rounds(80);
	t.jump_s = 0;
	for (int i = 0; i < 70; i++) /* until a commit drops batches that are too old */
		emit_rounds(1);
	t.sinks[1].stuck = false;
	while (t.sinks[1].n_held > 0)
		take_one();
	assert_true(turn(all_settled));
	all_there(&t.sinks[0], 0, t.emitted);
	all_there(&t.sinks[1], 0, t.emitted);
	balanced();
	end();
}

static void across_restarts(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		begin(two);
		t.sinks[1].stuck = i % 2 == 0;
		emit(t.life, 5000);
		delivery_flush(t.out);
		assert_true(turn(all_settled));
		balanced();
		end();
	}
	begin(two);
	t.sinks[1].stuck = false;
	assert_true(turn(all_settled));
	all_there(&t.sinks[0], 0, 25000);
	all_there(&t.sinks[1], 0, 25000);
	balanced();
	end();
}

/* A new sink gets the records from then on; a sink that returns continues at its offset. */
static void sinks_that_come_and_go(void **state)
{
	static const char *const one[] = { "a", NULL };

	(void)state;
	begin(one);
	emit(t.life, 1000);
	add_sink("b");
	emit(t.life, 1000);
	delivery_flush(t.out);
	assert_true(turn(all_settled));
	all_there(&t.sinks[0], 0, 2000);
	all_there(&t.sinks[1], 1000, 2000);
	assert_int_equal(t.sinks[1].got[999], 0);
	balanced();
	delivery_sink_remove(t.out, t.sinks[1].s);
	t.n_sinks = 1;
	emit(t.life, 1000);
	delivery_flush(t.out);
	assert_true(turn(all_settled));
	end();
	all_there(&t.sinks[0], 0, 3000);
}

static bool b_is_settled(void)
{
	return delivery_sink_settled(t.sinks[1].s, UINT64_MAX - 1);
}

static bool is_lost(void)
{
	return delivery_lost_total(t.out, SKEP_LOSS_SINK) == 1400;
}

static void name_of(void *arg, const char *name, uint64_t cursor)
{
	(void)cursor;
	snprintf((char *)arg + strlen(arg), 64 - strlen(arg), "%s ", name);
}

/*
 * A removed sink gets the records made before its removal, and no more; skepd waits for these alone.  skepd counts the
 * records that the sink did not take as lost, with those of earlier starts, and the spool keeps nothing for the sink.
 */
static void a_sink_is_removed(void **state)
{
	struct spool_db *db = NULL;
	char names[64] = "", why[256];

	(void)state;
	begin(two);
	emit(t.life, 700);
	delivery_flush(t.out);
	emit(t.life, 300); /* in the open batch */
	delivery_sink_retire(t.out, t.sinks[1].s);
	emit(t.life, 1000);
	assert_true(turn(b_is_settled));
	all_there(&t.sinks[1], 0, 1000);
	balanced();
	delivery_sink_lose(t.out, t.sinks[1].s);
	assert_int_equal(delivery_lost_total(t.out, SKEP_LOSS_SINK), 0);
	delivery_sink_remove(t.out, t.sinks[1].s);
	t.n_sinks = 1;
	delivery_flush(t.out);
	assert_true(turn(all_settled));
	all_there(&t.sinks[0], 0, 2000);
	assert_int_equal(t.sinks[1].got[1000], 0);

	add_sink("b"); /* of the same name: a new one */
	t.sinks[1].stuck = true;
	emit(t.life, 800);
	delivery_flush(t.out);
	assert_true(turn(all_settled));
	end();
	begin(two); /* and its backlog, of the start before, is not read yet */
	t.sinks[1].stuck = true;
	emit(t.life, 600);
	delivery_flush(t.out);
	assert_true(turn(all_settled));
	delivery_sink_retire(t.out, t.sinks[1].s);
	delivery_sink_lose(t.out, t.sinks[1].s);
	balanced();
	delivery_sink_remove(t.out, t.sinks[1].s);
	t.n_sinks = 1;
	assert_true(turn(is_lost));
	end();
	assert_int_equal(spool_db_open_read(t.path, &db, why, sizeof(why)), 0);
	assert_int_equal(spool_sinks(db, name_of, names), 0);
	assert_string_equal(names, "a ");
	spool_db_close(db);
}

static void what_is_refused_is_kept_aside(void **state)
{
	struct spool_size size;
	struct spool_db *db;
	char why[256];

	(void)state;
	begin(two);
	t.sinks[0].refuses = true;
	emit(t.life, 700);
	delivery_flush(t.out);
	assert_true(turn(all_settled));
	assert_int_equal(count_of("a", "life", SKEP_LOSS_SINK), 700);
	all_there(&t.sinks[1], 0, 700);
	balanced();
	end();
	assert_int_equal(spool_db_open_read(t.path, &db, why, sizeof(why)), 0);
	assert_int_equal(spool_size(db, &size), 0);
	assert_int_equal(size.dead_records, 700);
	assert_int_equal(size.records, 0); /* both acknowledged: the spool is empty */
	spool_db_close(db);
}

/* The quota is reached: the stuck sink loses records, samples first, and the spool counts each. */
static void the_quota_holds(void **state)
{
	struct stat st;
	uint64_t lost_life, lost_sample;

	(void)state;
	t.limits.max_bytes = 1 << 20;
	t.noise = true;
	begin(two);
	t.sinks[1].stuck = true;
	for (int i = 0; i < 40; i++) {
		emit(t.life, 50);
		emit(t.sample, 1000);
		delivery_flush(t.out);
		assert_true(turn(all_settled));
	}
	all_there(&t.sinks[0], 0, 42000);
	balanced();
	lost_life = count_of("b", "life", SKEP_LOSS_SPOOL);
	lost_sample = count_of("b", "sample", SKEP_LOSS_SPOOL);
	assert_true(lost_sample > 10000);
	assert_int_equal(lost_life, 0);
	assert_int_equal(count_of("a", "sample", SKEP_LOSS_SPOOL), 0);
	assert_int_equal(stat(t.path, &st), 0);
	assert_in_range(st.st_size, 1, 2 << 20);
	end();
}

/* The file is damaged while skepd uses it: skepd puts the file aside, counts the records, and continues. */
static void damage_under_way(void **state)
{
	struct delivery_spool_state s;
	char bad[4096];
	int fd;

	(void)state;
	begin(two);
	t.sinks[1].stuck = true;
	for (int i = 0; i < 20; i++) {
		emit(t.life, 2000);
		delivery_flush(t.out);
		assert_true(turn(all_settled));
	}
	end();
	/* Every page but the first is bad, so every read fails. */
	fd = open(t.path, O_RDWR);
	assert_true(fd >= 0);
	memset(bad, 0xa5, sizeof(bad));
	for (off_t at = 8192; at < lseek(fd, 0, SEEK_END); at += 4096)
		assert_int_equal(pwrite(fd, bad, sizeof(bad), at), sizeof(bad));
	close(fd);
	begin(two);
	t.sinks[1].stuck = false;
	t.sinks[0].last_id = t.sinks[1].last_id = 0;
	emit(t.life, 1000);
	delivery_flush(t.out);
	assert_true(turn(all_settled));
	all_there(&t.sinks[0], 40000, 41000);
	all_there(&t.sinks[1], 40000, 41000);
	balanced();
	delivery_spool_state(t.out, &s);
	assert_false(s.down);
	end();
}

/* The commit does not wait as long again for a batch that its age has closed. */
static void committed_in_time(void **state)
{
	struct delivery_spool_state s;

	(void)state;
	begin(two);
	emit(t.life, 1);
	delivery_tick(t.out, clock_boot_ns() + AGE_NS);
	delivery_spool_state(t.out, &s);
	assert_int_equal(s.waiting_batches, 0);
	assert_true(turn(all_settled));
	end();
}

/* The sink acknowledges the batch that it held back, and accepts batches again. */
static void unstick(struct sink *s)
{
	s->stuck = false;
	for (size_t i = 0; i < s->n_held; i++) {
		const struct skep_batch *b = s->held[i];

		s->last_id = b->id;
		note(s, b);
		answer(s, b, SKEP_BATCH_ACK);
	}
	s->n_held = 0;
}

static void some_rounds(int rounds, unsigned n)
{
	for (int i = 0; i < rounds; i++) {
		emit(t.life, n);
		delivery_flush(t.out);
		assert_true(turn(all_settled));
	}
}

static void for_a_while(uint64_t ns)
{
	const uint64_t until = clock_boot_ns() + ns;

	while (clock_boot_ns() < until) {
		uv_run(&t.loop, UV_RUN_NOWAIT);
		usleep(2000);
	}
}

/* Records that a full spool has no room for are lost for the sink that is behind and for no other. */
static void a_full_one_and_one_that_is_well(void **state)
{
	(void)state;
	t.limits.max_bytes = 1 << 20;
	t.noise = true;
	begin(two);
	t.sinks[1].stuck = true;
	for (int i = 0; i < 30; i++) {
		emit(t.life, 400);
		emit(t.sample, 100);
		delivery_flush(t.out);
		assert_true(turn(all_settled));
	}
	assert_int_equal(t.sinks[0].records, t.emitted);
	assert_int_equal(count_of("a", "sample", 0), 3000);
	assert_int_equal(count_of("a", "sample", SKEP_LOSS_SPOOL), 0);
	assert_int_equal(count_of("a", "sample", -1), 0);
	assert_int_equal(count_of("a", "life", -1), 0);
	balanced();
	end();
}

/*
 * A commit finds the free list damaged and makes a new file. The new file has the offset of each sink, also of a sink
 * that has not moved: after a restart that sink gets the records sent since.
 */
static void a_file_made_anew(void **state)
{
	unsigned char head[100], bad[8192];
	struct delivery_spool_state s;
	char said[4096] = "";
	uint64_t from;
	off_t trunk;
	int fd, err;

	(void)state;
	t.noise = true;
	begin(two);
	t.sinks[1].stuck = true;
	some_rounds(60, 1000);
	unstick(&t.sinks[1]);
	assert_true(turn(all_settled));
	for_a_while(1500000000u); /* trimmed: the file has free pages */
	t.sinks[1].stuck = true;
	some_rounds(10, 500);
	end();
	fd = open(t.path, O_RDWR);
	assert_int_equal(pread(fd, head, sizeof(head), 0), sizeof(head));
	/* SQLite's file format, 1.3 */
	trunk = (off_t)head[32] << 24 | (off_t)head[33] << 16 | (off_t)head[34] << 8 | head[35];
	assert_true(trunk > 0);
	memset(bad, 0xa5, sizeof(bad));
	assert_int_equal(pwrite(fd, bad, sizeof(bad), (trunk - 1) * (off_t)sizeof(bad)), sizeof(bad));
	close(fd);
	from = t.emitted;
	begin(two);
	t.sinks[0].last_id = t.sinks[1].last_id = 0;
	t.sinks[1].stuck = true;
	fd = memfd_create("stderr", MFD_CLOEXEC);
	err = dup(STDERR_FILENO);
	dup2(fd, STDERR_FILENO);
	for_a_while(1500000000u);
	some_rounds(2, 1000);
	log_flush();
	dup2(err, STDERR_FILENO);
	close(err);
	assert_true(pread(fd, said, sizeof(said) - 1, 0) > 0);
	close(fd);
	assert_non_null(strstr(said, "cannot be read (database disk image is malformed): renamed it to"));
	delivery_spool_state(t.out, &s);
	assert_int_equal(s.replaced, 1);
	/* the loss counts records of the damaged file, not these */
	assert_in_range(count_of("b", "life", SKEP_LOSS_SPOOL), 0, 5000);
	assert_in_range(count_of("b", "life", -1), 2000, 7000);
	for_a_while(1500000000u);
	end();
	begin(two);
	t.sinks[0].last_id = t.sinks[1].last_id = 0;
	t.sinks[1].stuck = false;
	assert_true(turn(all_settled));
	for_a_while(500000000u);
	all_there(&t.sinks[1], from, from + 2000);
	balanced();
	end();
}

static void replace_work(struct spooler_job *job, struct spool_db *db, struct spool_code *code)
{
	(void)job;
	(void)db;
	(void)code;
	spooler_replace(t.spooler);
}

static void replace_done(struct spooler_job *job)
{
	free(job);
}

static bool thread_is_idle(void)
{
	return spooler_under_way(t.spooler) == 0;
}

static bool none_is_pending(void)
{
	return count_of("a", "life", -1) == 0 && count_of("b", "life", -1) == 0;
}

/*
 * A job replaces the file while the loop has yet to see three earlier jobs: one has written a batch, two have each
 * read a batch for a sink.  Each record is delivered or lost, and none is both.
 */
static void replaced_behind_jobs_that_are_done(void **state)
{
	static const char *const names[] = { "a", "b", "c", NULL };
	struct spooler_job *job = calloc(1, sizeof(*job));
	const uint64_t until = clock_boot_ns() + 200000000000u;
	uint64_t delivered;

	(void)state;
	begin(names);
	t.sinks[0].stuck = t.sinks[1].stuck = true;
	emit_rounds(110);
	assert_true(turn(thread_is_idle));
	for (int i = 0; i < 2; i++)
		unstick(&t.sinks[i]);
	emit(t.life, 300);
	delivery_flush(t.out);
	delivery_tick(t.out, clock_boot_ns()); /* commits, and the sinks empty their queues */
	delivery_tick(t.out, clock_boot_ns()); /* asks the spool for the next batch of each */
	assert_true(spooler_under_way(t.spooler) >= 3);
	assert_non_null(job);
	job->work = replace_work;
	job->done = replace_done;
	spooler_post(t.spooler, job);
	while (!spooler_replaced(t.spooler) && clock_boot_ns() < until)
		usleep(1000);
	assert_int_equal(spooler_replaced(t.spooler), 1);
	assert_true(turn(all_settled));
	assert_true(turn(none_is_pending));
	for (int i = 0; i < 2; i++) {
		delivered = count_of(t.sinks[i].name, "life", 0);
		assert_int_equal(delivered, t.sinks[i].records);
		assert_int_equal(delivered + count_of(t.sinks[i].name, "life", SKEP_LOSS_SPOOL), t.emitted);
		assert_in_range(delivered, 5000, t.emitted - 5000);
	}
	balanced();
	end();
}

static bool fail_writes;
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);

static ssize_t maybe_pwrite(int fd, const void *data, size_t n, off_t at)
{
	if (!fail_writes)
		return real_pwrite(fd, data, n, at);
	errno = ENOSPC;
	return -1;
}

static bool second_has_all(void)
{
	return count_of("b", "life", -1) == 0;
}

static uint64_t stored_batches(void)
{
	struct spool_size size;
	struct spool_db *db;
	char why[256];

	assert_int_equal(spool_db_open_read(t.path, &db, why, sizeof(why)), 0);
	assert_int_equal(spool_size(db, &size), 0);
	spool_db_close(db);
	return size.batches;
}

static bool none_is_stored(void)
{
	return stored_batches() == 0;
}

/* Also the loop has seen what the spool's thread did. */
static bool one_batch_is_stored(void)
{
	return stored_batches() == 1 && thread_is_idle();
}

/* A backlog of several steps: dropped without further commits, and a start goes on where the last one ended. */
static void a_backlog_is_dropped_in_steps(void **state)
{
	uint64_t left, n, lost;

	(void)state;
	t.noise = true;
	begin(two);
	t.sinks[1].stuck = true;
	some_rounds(120, 1000);
	n = stored_batches();
	assert_true(n > 200);
	delivery_sink_remove(t.out, t.sinks[1].s);
	t.n_sinks = 1;
	emit(t.life, 1);
	delivery_flush(t.out);
	assert_true(turn(all_settled));
	assert_true(turn(none_is_stored));
	balanced();

	add_sink("b");
	t.sinks[1].stuck = true;
	some_rounds(120, 1000);
	t.passed_s = 31 * 86400; /* over the spool's max_age */
	end();
	left = stored_batches();
	assert_true(left > 100);
	begin(two);
	t.sinks[0].last_id = t.sinks[1].last_id = 0;
	t.sinks[1].stuck = true;
	n = t.emitted;
	some_rounds(1, 500);
	assert_true(turn(one_batch_is_stored));
	lost = count_of("b", "life", SKEP_LOSS_SPOOL);
	unstick(&t.sinks[1]);
	assert_true(turn(all_settled));
	/* a load may have read one batch before it was dropped */
	assert_in_range(lost, (left - 8) * 500, left * 500);
	assert_int_equal(count_of("b", "life", 0) + lost, left * 500 + 500);
	all_there(&t.sinks[1], n, t.emitted);
	balanced();
	end();
}

/* The disk is full: stored batches are still read and delivered. */
static void read_while_it_cannot_be_written(void **state)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	const char *call = vfs->xGetSystemCall(vfs, "pwrite64") ? "pwrite64" : "pwrite";
	struct delivery_spool_state s;
	uint64_t from;

	(void)state;
	real_pwrite = (ssize_t (*)(int, const void *, size_t, off_t))vfs->xGetSystemCall(vfs, call);
	assert_int_equal(vfs->xSetSystemCall(vfs, call, (sqlite3_syscall_ptr)maybe_pwrite), SQLITE_OK);
	begin(two);
	t.sinks[1].stuck = true;
	some_rounds(100, 500);
	fail_writes = true;
	some_rounds(1, 10);
	delivery_spool_state(t.out, &s);
	assert_true(s.down);
	unstick(&t.sinks[1]);
	assert_true(turn(second_has_all));
	all_there(&t.sinks[1], 0, 50000);
	from = t.emitted;
	some_rounds(5, 10);
	all_there(&t.sinks[1], from, t.emitted);
	balanced();
	fail_writes = false;
	vfs->xSetSystemCall(vfs, call, NULL);
	end();
}

/* Dead letters may use free room of the spool, never the room of records that a sink still gets. */
static void what_was_refused_makes_room(void **state)
{
	struct delivery_spool_state s;

	(void)state;
	t.limits.max_bytes = 8 << 20;
	t.noise = true;
	begin(two);
	for (int i = 0; i < 12; i++) { /* the queue would hold a sink that refuses everything */
		t.sinks[0].refuses = true;
		some_rounds(7, 1000);
		t.sinks[0].refuses = false;
		some_rounds(1, 10);
	}
	some_rounds(5, 10);
	delivery_spool_state(t.out, &s);
	assert_false(s.down);
	assert_int_equal(s.errors, 0);
	balanced();
	end();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(all_get_all),
		TEST(committed_in_time),
		TEST(keeps_its_origin),
		TEST(a_stuck_one_delays_nobody),
		TEST(anything_in_any_order),
		TEST(nothing_old),
		TEST(the_clock_is_set),
		TEST(across_restarts),
		TEST(sinks_that_come_and_go), TEST(a_sink_is_removed),
		TEST(what_is_refused_is_kept_aside),
		TEST(the_quota_holds),
		TEST(damage_under_way),
		TEST(a_full_one_and_one_that_is_well),
		TEST(a_file_made_anew),
		TEST(replaced_behind_jobs_that_are_done),
		TEST(a_backlog_is_dropped_in_steps),
		TEST(read_while_it_cannot_be_written),
		TEST(what_was_refused_makes_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
