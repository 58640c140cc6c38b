/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/abi/detail_probe.c - a probe with details, signals, posts to the ledger, records
 * about cgroups, a histogram. At each sample every attached detail emits one record, and one more when it is detached;
 * after `give_up` records it ends.
 */
#include <string.h>

#include <skep/hist.h>
#include <skep/plugin.h>

#define ROOM 2u
#define TEXT(s_) ((struct skep_str){ s_, sizeof(s_) - 1, sizeof(s_) - 1 })

enum { STREAM_WIDTH, STREAM_LEDGER, STREAM_GROUP, N_STREAMS };
enum { DETAIL_WIDTH, DETAIL_REFUSES, N_DETAILS };

struct width_record {
	uint64_t id, n, value, last;
	struct skep_hist widths;
};

struct group_record {
	uint64_t cgroup_id;
	uint64_t members;
};

struct probe {
	int64_t give_up;
	const struct skep_host *host;
	struct {
		uint64_t id, value, n;
	} attached[ROOM];
	int64_t samples;
};

#define WIDTH(m_, n_, t_, s_) SKEP_FIELD(struct width_record, m_, n_, t_, s_, "1", "")
static const struct skep_field width_fields[] = {
	WIDTH(id, "detail.id", SKEP_T_U64, SKEP_S_ATTRIBUTE),
	WIDTH(n, "n", SKEP_T_U64, SKEP_S_DELTA),
	WIDTH(value, "value", SKEP_T_U64, SKEP_S_ATTRIBUTE),
	WIDTH(last, "last", SKEP_T_U64, SKEP_S_ATTRIBUTE),
	WIDTH(widths, "widths", SKEP_T_HIST, SKEP_S_DELTA),
};
static const struct skep_field ledger_fields[] = {
	SKEP_FIELD(struct skep_ledger_post, amount, "amount", SKEP_T_I64, SKEP_S_GAUGE, "By", ""),
};
static const struct skep_field group_fields[] = {
	SKEP_FIELD(struct group_record, cgroup_id, "cgroup.id", SKEP_T_U64, SKEP_S_ATTRIBUTE, "", ""),
	SKEP_FIELD(struct group_record, members, "members", SKEP_T_U64, SKEP_S_GAUGE, "1", ""),
};

#define STREAM(symbol_, name_, role_, struct_, fields_)                                                          \
	static const struct skep_stream symbol_ = {                                                              \
		.size = sizeof(struct skep_stream),                                                              \
		.field_size = sizeof(struct skep_field),                                                         \
		.name = name_,                                                                                   \
		.help = "",                                                                                      \
		.role = role_,                                                                                   \
		.record_size = sizeof(struct_),                                                                  \
		.n_fields = sizeof(fields_) / sizeof(fields_[0]),                                                \
		.fields = fields_,                                                                               \
	}
STREAM(width_stream, "detail.width", SKEP_ROLE_DETAIL, struct width_record, width_fields);
STREAM(ledger_stream, "detail.ledger", SKEP_ROLE_LEDGER, struct skep_ledger_post, ledger_fields);
STREAM(group_stream, "detail.group", SKEP_ROLE_CGROUP, struct group_record, group_fields);

static const struct skep_stream *const streams[N_STREAMS] = {
	[STREAM_WIDTH] = &width_stream,
	[STREAM_LEDGER] = &ledger_stream,
	[STREAM_GROUP] = &group_stream,
};

static const struct skep_detail details[N_DETAILS] = {
	[DETAIL_WIDTH] = { .name = "width",
			   .help = "how wide",
			   .stream = STREAM_WIDTH,
			   .scopes = 1u << SKEP_SCOPE_HOST | 1u << SKEP_SCOPE_GROUP | 1u << SKEP_SCOPE_CGROUP },
	[DETAIL_REFUSES] = { .name = "refuses",
			     .help = "never available",
			     .stream = STREAM_WIDTH,
			     .scopes = 1u << SKEP_SCOPE_HOST },
};

static void width_out(struct skep_instance *inst, struct probe *st, unsigned i, bool last)
{
	uint64_t slots[SKEP_HIST_SLOTS] = { 0 };
	struct width_record rec = { .id = st->attached[i].id, .value = st->attached[i].value, .last = last };

	rec.n = ++st->attached[i].n;
	slots[skep_hist_slot_of(1000)] = rec.n;
	rec.widths = (struct skep_hist){ .slots = slots, .n = SKEP_HIST_SLOTS, .sum = 1000 * rec.n };
	st->host->emit(inst, STREAM_WIDTH, NULL, 0, &rec);
}

static void post(struct skep_instance *inst, const struct probe *st, struct skep_str item, int64_t amount,
		 uint64_t flags)
{
	struct skep_ledger_post rec = { .account = TEXT("test"), .item = item, .amount = amount, .flags = flags };

	st->host->emit(inst, STREAM_LEDGER, NULL, 0, &rec);
}

static void on_cgroup(void *arg, uint64_t cgroup_id, const struct skep_str *path)
{
	(void)path;
	*(uint64_t *)arg += cgroup_id;
}

static void detail_sample(struct skep_instance *inst, void *state)
{
	struct probe *st = state;
	struct group_record group = { .cgroup_id = 77 };

	st->samples++;
	for (unsigned i = 0; i < ROOM; i++) {
		if (!st->attached[i].id)
			continue;
		width_out(inst, st, i, false);
		if (st->give_up > 0 && st->attached[i].n >= (uint64_t)st->give_up)
			st->host->detail_over(inst, st->attached[i].id, "wide enough");
	}
	post(inst, st, TEXT("whole"), 1000 * st->samples, SKEP_LEDGER_REFERENCE);
	post(inst, st, TEXT("half"), 500 * st->samples, 0);
	post(inst, st, TEXT("within"), 300 * st->samples, SKEP_LEDGER_MEMO);
	st->host->cgroups_live(inst, on_cgroup, &group.members);
	st->host->emit(inst, STREAM_GROUP, NULL, 0, &group);
}

static int detail_attach(struct skep_instance *inst, void *state, unsigned detail,
			 const struct skep_detail_scope *scope)
{
	struct probe *st = state;

	if (detail == DETAIL_REFUSES)
		return st->host->fail(inst, -ENOTSUP, "not on this machine");
	for (unsigned i = 0; i < ROOM; i++) {
		if (st->attached[i].id)
			continue;
		st->attached[i].id = scope->id;
		st->attached[i].value = scope->value;
		st->attached[i].n = 0;
		return 0;
	}
	return st->host->fail(inst, -EBUSY, "only %u at a time", ROOM);
}

static void detail_detach(struct skep_instance *inst, void *state, uint64_t id)
{
	struct probe *st = state;

	for (unsigned i = 0; i < ROOM; i++) {
		if (st->attached[i].id != id)
			continue;
		width_out(inst, st, i, true);
		st->attached[i].id = 0;
	}
}

static int detail_open(struct skep_instance *inst, void *state, const struct skep_host *host)
{
	struct probe *st = state;

	(void)inst;
	st->host = host;
	return 0;
}

static int detail_start(struct skep_instance *inst, void *state)
{
	struct probe *st = state;

	st->host->signal(inst, "width", SKEP_SIGNAL_OFF, "first", NULL);
	st->host->signal(inst, "depth", SKEP_SIGNAL_MISSING, NULL, "no such thing");
	st->host->signal(inst, "width", SKEP_SIGNAL_OK, "ruler", NULL);
	return 0;
}

static void detail_stop(struct skep_instance *inst, void *state)
{
	const struct probe *st = state;

	for (unsigned i = 0; i < ROOM; i++)
		if (st->attached[i].id)
			st->host->log(inst, SKEP_LOG_ERROR, "stopped with a detail attached");
}

static void detail_close(struct skep_instance *inst, void *state)
{
	(void)inst;
	(void)state;
}

static const struct skep_option options[] = {
	{ .name = "give_up",
	  .type = SKEP_O_INT,
	  .offset = offsetof(struct probe, give_up),
	  .help = "records after which a detail is over" },
	{ 0 },
};

static const struct skep_plugin plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_PROBE,
	.name = "detail",
	.version = "1",
	.summary = "details for tests",
	.license = "Apache-2.0",
	.options = options,
	.option_size = sizeof(options[0]),
	.streams = streams,
	.n_streams = N_STREAMS,
	.state_size = sizeof(struct probe),
	.open = detail_open,
	.start = detail_start,
	.sample = detail_sample,
	.stop = detail_stop,
	.close = detail_close,
	.details = details,
	.detail_size = sizeof(details[0]),
	.n_details = N_DETAILS,
	.attach = detail_attach,
	.detach = detail_detach,
};
SKEP_PLUGIN(plugin, SKEP_KIND_PROBE, "detail", "1")
