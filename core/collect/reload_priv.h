/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/reload_priv.h - internals that the files of a reload share: collector_reload.c (its phases),
 * reload_plan.c (compares configurations), reload_switch.c (changes plugins), reload_back.c (undoes the changes),
 * collector_leave.c (removed instances).
 */
#ifndef SKEP_CORE_RELOAD_PRIV_H
#define SKEP_CORE_RELOAD_PRIV_H

#include "core/collect/collector_priv.h"
#include "core/collect/reload_report.h"

enum change_what {
	CHANGE_NONE,
	CHANGE_RETRY,   /* nothing differs, but the instance has failed */
	CHANGE_APPLY,   /* calls reload() */
	CHANGE_RESTART,
	CHANGE_ADD,
	CHANGE_REMOVE,
};

/* One plugin's entry. */
struct change {
	enum change_what what;
	struct skep_instance *old;  /* NULL: added.  In collector.instances until the commit of the reload */
	struct skep_instance *next; /* NULL: removed.  The reload owns it until then */
	bool required;              /* as the new configuration says */
	struct sink_terms terms;     /* as the new configuration says */
	bool started;               /* next runs beside old, or instead of it */
	bool last;                  /* next starts after all others */
	bool in_turn;               /* the two cannot run side by side: old stops first */
	bool paused;                /* the queue of old offers nothing */
	bool moved;                 /* next has the queue */
	bool stopped;               /* the reload has asked old to stop, to make room */
	bool applied;               /* reload() has applied the new options */
	char *options;              /* options that differ, in words; NULL: no memory */
};

/* The longest wait for a sink's batches in flight, and for work() of a plugin. */
#define RELOAD_SETTLE_NS 5000000000ull

enum reload_phase { RELOAD_PLAN, RELOAD_APPLY, RELOAD_SWITCH, RELOAD_BACK, RELOAD_LEAVE };

struct reload {
	const struct config *next; /* borrowed */
	bool check;                /* only report */
	enum reload_phase phase;
	uint64_t began_ns, deadline_ns; /* deadline: of the phase's wait */
	struct change *changes;    /* in the order of next, probes first; removals at the end */
	size_t n;
	struct tools *tools;
	struct redact *redact;
	struct containers *containers;
	struct recognizers *recognizers;
	struct ruleset *rules;
	struct skep_instance *settled; /* instances that stay, in order */
	const struct skep_instance **removed; /* compares pointers only */
	size_t n_removed;
	bool settled_all;          /* the changes are final; removed instances are still leaving */
	int err;                   /* why the reload fails; 0: it does not */
	struct diag diag;
	struct reload_report report;
	collector_reload_done done;
	void *arg;
};

/* reload_plan.c */
/* Plans all changes without touching running instances.  0, or -errno with errors added. */
int reload_plan(struct collector *, struct reload *);
void reload_say(struct reload *); /* adds each plugin's change to the report */
/* Frees the plan's unused parts. Opened instances leave in order. */
void reload_plan_free(struct collector *, struct reload *);

/* reload_switch.c */
/* Starts new instances; a life-cycle probe that replaces another only opens.  0 or -errno with errors added. */
int reload_start(struct collector *, struct reload *);
/* Call reload() of instances; exchange the others.  1: done, 0: waits, or -errno with errors added. */
int reload_apply(struct collector *, struct reload *);
int reload_switch(struct collector *, struct reload *);
void reload_pause_queue(struct change *, bool paused); /* pauses a sink's queue: it offers no batch meanwhile */
void reload_move_queue(struct skep_instance *from, struct skep_instance *to);

/* reload_back.c */
/* Undoes all changes so far. true: done, false: waits. */
bool reload_back(struct collector *, struct reload *);

#endif
