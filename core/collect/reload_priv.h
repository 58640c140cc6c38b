/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/reload_priv.h - between the files of a reload: collector_reload.c (its phases),
 * reload_plan.c (what differs), reload_switch.c (plugins that change), reload_back.c (and back),
 * collector_leave.c (removed instances).
 */
#ifndef SKEP_CORE_RELOAD_PRIV_H
#define SKEP_CORE_RELOAD_PRIV_H

#include "core/collect/collector_priv.h"
#include "core/collect/reload_report.h"

enum change_what {
	CHANGE_NONE,
	CHANGE_RETRY,   /* nothing differs, but it has failed */
	CHANGE_APPLY,   /* reload() */
	CHANGE_RESTART,
	CHANGE_ADD,
	CHANGE_REMOVE,
};

/* One plugin's entry. */
struct change {
	enum change_what what;
	struct skep_instance *old;  /* NULL: added. In collector.instances until the reload is done for good */
	struct skep_instance *next; /* NULL: removed. Ours until then */
	bool required;              /* as it is wanted */
	struct sink_terms terms;     /* the same */
	bool started;               /* next runs beside old, or instead of it */
	bool last;                  /* next starts when all others have */
	bool in_turn;               /* the two cannot run side by side: old stops first */
	bool paused;                /* old's queue offers nothing */
	bool moved;                 /* the queue is next's */
	bool stopped;               /* old was asked to stop, to make room */
	bool applied;               /* reload() has taken it */
	char *options;              /* that differ; NULL: no memory to say */
};

/* How long a sink may take for its batches in flight, and a plugin for its work(). */
#define RELOAD_SETTLE_NS 5000000000ull

enum reload_phase { RELOAD_PLAN, RELOAD_APPLY, RELOAD_SWITCH, RELOAD_BACK, RELOAD_LEAVE };

struct reload {
	const struct config *next; /* borrowed */
	bool check;                /* only look */
	enum reload_phase phase;
	uint64_t began_ns, deadline_ns; /* of the phase's wait */
	struct change *changes;    /* in the order of next, probes first; those to be removed behind */
	size_t n;
	struct tools *tools;
	struct redact *redact;
	struct containers *containers;
	struct ruleset *rules;
	struct skep_instance *settled; /* instances that stay, in order */
	const struct skep_instance **removed; /* only to recognise them by */
	size_t n_removed;
	bool settled_all;          /* the switch is done; removed instances are still leaving */
	int err;                   /* why it does not take place */
	struct diag diag;
	struct reload_report report;
	collector_reload_done done;
	void *arg;
};

/* reload_plan.c */
/* Everything of the new configuration that can be known without touching what runs. 0, or -errno with errors added. */
int reload_plan(struct collector *, struct reload *);
void reload_say(struct reload *); /* adds each plugin's change to the report */
/* Frees the plan's unused parts. Opened instances leave in order. */
void reload_plan_free(struct collector *, struct reload *);

/* reload_switch.c */
/* Starts new instances; successors of another only open. 0 or -errno with errors added. */
int reload_start(struct collector *, struct reload *);
/* 1: done, 0: waits, or -errno with errors added. */
int reload_apply(struct collector *, struct reload *);
int reload_switch(struct collector *, struct reload *);
void reload_pause_queue(struct change *, bool paused); /* of a sink: nothing is offered meanwhile */
void reload_move_queue(struct skep_instance *from, struct skep_instance *to);

/* reload_back.c */
/* Undoes all changes so far. true: done, false: waits. */
bool reload_back(struct collector *, struct reload *);

#endif
