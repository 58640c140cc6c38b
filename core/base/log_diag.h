/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/log_diag.h - logs the errors and warnings about an input, for a daemon.
 */
#ifndef SKEP_CORE_LOG_DIAG_H
#define SKEP_CORE_LOG_DIAG_H

#include "core/base/diag.h"

/*
 * To the journal, where stderr is the journal: an entry each, with its priority, so that `journalctl -p
 * err` has them; else as diag_print() to stderr.
 */
void log_diag(const struct diag *);

#endif
