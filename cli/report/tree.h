/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/tree.h - every process of a run, indented under its parent.
 */
#ifndef SKEP_CLI_TREE_H
#define SKEP_CLI_TREE_H

#include "cli/base/paint.h"
#include "analysis/family.h"

/* 0 or -ENOMEM. */
int tree_print(const struct paint *, const struct family *);

#endif
