/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/tree.h - every process of a run, indented under its parent.
 */
#ifndef SKEP_CLI_TREE_H
#define SKEP_CLI_TREE_H

#include "cli/family.h"
#include "cli/paint.h"

/* 0 or -ENOMEM. */
int tree_print(const struct paint *, const struct family *);

#endif
