/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/log_diag.h - logs the errors and warnings about an input, for a daemon.
 */
#ifndef SKEP_CORE_LOG_DIAG_H
#define SKEP_CORE_LOG_DIAG_H

#include "core/base/diag.h"

/*
 * If stderr is the journal, logs an entry for each error or warning with its priority, so that `journalctl -p err`
 * finds it.  Else prints all to stderr, as diag_print() does.
 */
void log_diag(const struct diag *);

#endif
