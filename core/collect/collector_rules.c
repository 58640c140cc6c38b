/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/collector_rules.c - evaluates known processes again when rules change, or when late names of users
 * arrive.
 */
#include <errno.h>

#include "core/base/magic.h"
#include "core/base/log.h"
#include "core/collect/collector_priv.h"
#include "core/rules/rules_file.h"

#define NAMES_FIRST_NS 1000000000ull
#define NAMES_MOST_NS 60000000000ull
#define NAMES_LATE_NS 10000000000ull

int collector_rules(struct collector *c, struct ruleset *set)
{
	int err;

	if (!c->rule_eval)
		return -ENOTSUP;
	err = rule_eval_use(c->rule_eval, set);
	if (err < 0 || !c->running)
		return err;
	track_reevaluate(c->track, clock_boot_ns());
	c->reevaluating = true;
	return 0;
}

struct track *collector_track(struct collector *c)
{
	return c->track;
}

struct rule_eval *collector_rule_eval(struct collector *c)
{
	return c->rule_eval;
}

/*
 * Clears old verdicts of processes that forked while the rules changed.  Then asks for a sweep, which evaluates the
 * processes that the old rules excluded.
 */
static void reevaluate_rest(struct collector *c)
{
	if (collector_sweeping(c)) /* this sweep began before the change, and may have passed excluded processes */
		return;
	rule_eval_forget_old(c->rule_eval);
	c->reevaluating = false;
	collector_sweep(c);
}

/*
 * Applies the same rules once more, as a reload does, when names of users arrive that these rules had asked for in
 * vain.
 */
static void reevaluate_names(struct collector *c, uint64_t now_ns)
{
	struct ruleset *rules = rule_eval_rules(c->rule_eval);

	if (!c->names_due || now_ns < c->names_next_ns || c->reload)
		return;
	/*
	 * A directory server that delivers one name each second must not cause an evaluation of all processes each
	 * second.
	 */
	if (now_ns - c->names_next_ns > NAMES_MOST_NS)
		c->names_wait_ns = 0;
	c->names_wait_ns = c->names_wait_ns ? 2 * c->names_wait_ns : NAMES_FIRST_NS;
	if (c->names_wait_ns > NAMES_MOST_NS)
		c->names_wait_ns = NAMES_MOST_NS;
	c->names_next_ns = now_ns + c->names_wait_ns;
	c->names_due = rules && collector_rules(c, rules) < 0;
}

static void look_at_names(struct collector *c)
{
	uint64_t late_ns = rule_eval_names_late_ns(c->rule_eval);

	if (late_ns >= NAMES_LATE_NS && !c->names_late)
		log_warning(
			"names of users and groups: a look-up has not returned for %llu s: "
			"a directory server in nsswitch.conf may not answer; "
			"rules with user or group do not hold for ids without a name",
			(unsigned long long)(late_ns / 1000000000u));
	else if (late_ns < NAMES_LATE_NS && c->names_late)
		log_notice("names of users and groups: look-ups return again");
	c->names_late = late_ns >= NAMES_LATE_NS;
}

void collector_names_came(void *arg)
{
	struct collector *c = MAGIC_OBJECT(collector, arg);

	c->names_due = true;
}

int collector_first_rules(struct collector *c, struct diag *diag)
{
	struct ruleset *rules = NULL;
	int err;

	if (!c->rule_eval)
		return 0;
	err = rules_load(c->config, diag, &rules);
	if (err == 0)
		err = collector_rules(c, rules);
	ruleset_unref(rules);
	if (err == 0 && rule_eval_rules(c->rule_eval) && rule_eval_kernel(c->rule_eval))
		log_info("rules are decided in user space only: %s", rule_eval_kernel(c->rule_eval));
	return err;
}

void collector_rules_tick(struct collector *c, uint64_t now_ns)
{
	if (c->rule_eval) {
		look_at_names(c);
		reevaluate_names(c, now_ns);
	}
	if (c->reevaluating)
		reevaluate_rest(c);
}
