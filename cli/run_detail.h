/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run_detail.h - details of a run without a daemon: `skep run --detail NAME` attaches
 * them to the run before its command starts, and prints what they gave after the report.
 */
#ifndef SKEP_CLI_RUN_DETAIL_H
#define SKEP_CLI_RUN_DETAIL_H

#include <stdio.h>

#include "core/collector.h"

struct run_detail;

/* One more; name is borrowed. 0 or -ENOMEM. */
int run_detail_add(struct run_detail **list, const char *name);
/*
 * All of them to that live run. 0, or what collector_attach gave, with which one and why in
 * words (to be freed; NULL: no memory).
 */
int run_detail_attach(struct run_detail *list, struct collector *, const char *run_id, char **ret_why);
/* 0 or -ENOMEM */
int run_detail_print(const struct run_detail *list, FILE *out);
struct run_detail *run_detail_free(struct run_detail *list);

#endif
