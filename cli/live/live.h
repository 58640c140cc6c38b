/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/live/live.h - live figures in the title of the terminal's window, while `skep run` runs a command.  The screen
 * and the cursor stay the command's.
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
 * names one without a title; or -errno.  Writes nothing yet.
 */
int live_new(int fd, struct live **ret);
/* Call it a few times a second: gives the title back as soon as another program uses the terminal. */
void live_check(struct live *);
/* Shows these figures if the terminal is ours at the moment. NULL is fine for live. */
void live_draw(struct live *, const struct collector_live *);
/* That group has the terminal by our gift: the figures stay. */
void live_follow(struct live *, pid_t group);
/* Gives the title back, before skep stops or ends; live_draw() sets it again. */
void live_clear(struct live *);
/* As live_clear(), and frees live. Waits up to a second for a terminal that Ctrl-S has stopped. Returns NULL. */
struct live *live_free(struct live *);

/* Returns the title for that many columns; the caller frees it; NULL when memory runs out. */
char *live_text(const struct collector_live *, size_t columns, bool unicode);

#endif
