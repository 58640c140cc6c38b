/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/live/live.h - one line at the bottom of the terminal while a command runs, that
 * leaves the command's own output alone.
 */
#ifndef SKEP_CLI_LIVE_H
#define SKEP_CLI_LIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/collect/collector.h"

struct live;

/*
 * fd: the stream that may be a terminal (stderr).  0, or -ENOTTY: it is not one, not
 * ours, or TERM says that it cannot do this; or -errno.  Nothing is written yet.
 */
int live_new(int fd, struct live **ret);
/* Now and then (a few times a second): gives the terminal back as soon as another program uses it. */
void live_check(struct live *);
/* Shows these figures if the terminal is ours at the moment. NULL is fine for live. */
void live_draw(struct live *, const struct collector_live *);
/* The terminal has another size. */
void live_resize(struct live *);
/* Takes the line away and gives its row back; live_draw() brings it back. Before stopping, before other output. */
void live_clear(struct live *);
/* As live_clear(), waiting up to a second for a terminal that is held by Ctrl-S. Returns NULL. */
struct live *live_free(struct live *);

/* The line's text for that many columns, to free(); NULL when memory runs out. */
char *live_text(const struct collector_live *, size_t columns, bool unicode);

#endif
