/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/live/live.h - a line of live figures at the bottom of the terminal, while `skep run` runs a command.  The line
 * leaves the command's own output alone.
 */
#ifndef SKEP_CLI_LIVE_H
#define SKEP_CLI_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/collect/collector.h"

struct live;

/*
 * fd: the stream that may be a terminal (stderr).  0; -ENOTTY: not a terminal, not our controlling terminal, or TERM
 * names one without these functions; or -errno.  Writes nothing yet.
 */
int live_new(int fd, struct live **ret);
/* Call it a few times a second: gives the terminal back as soon as another program uses it. */
void live_check(struct live *);
/* Shows these figures if the terminal is ours at the moment. NULL is fine for live. */
void live_draw(struct live *, const struct collector_live *);
/* That group has the terminal by our gift: the line stays. */
void live_follow(struct live *, pid_t group);
/* Call it after the terminal has changed its size. */
void live_resize(struct live *);
/* Erases the line and gives its row back, before skep stops or prints; live_draw() draws the line again. */
void live_clear(struct live *);
/* As live_clear(), and frees live. Waits up to a second for a terminal that Ctrl-S has stopped. Returns NULL. */
struct live *live_free(struct live *);

/* Returns the line's text for that many columns; the caller frees it; NULL when memory runs out. */
char *live_text(const struct collector_live *, size_t columns, bool unicode);

#endif
