/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/run_detail.h - details of a run: `skep run --detail NAME` attaches
 * them to the run before its command starts, and prints what they gave after the report.
 */
#ifndef SKEP_CLI_RUN_DETAIL_H
#define SKEP_CLI_RUN_DETAIL_H

#include <jansson.h>
#include <stdio.h>

#include "core/collect/collector.h"

struct run_detail;

/* One more; name is borrowed. 0 or -ENOMEM. */
int run_detail_add(struct run_detail **list, const char *name);
/*
 * All of them to that live run. 0, or what collector_attach gave, with which one and why in
 * words (to be freed; NULL: no memory).
 */
int run_detail_attach(struct run_detail *list, struct collector *, const char *run_id, char **ret_why);
/*
 * The same by skepd: the request that attaches the n-th of them (NULL: there are no more), what its answer says, and a
 * record. A detail can be attached again on another connection: its records are put together.
 */
json_t *run_detail_request(struct run_detail *list, size_t n, const char *run_id);
void run_detail_answer(struct run_detail *list, size_t n, json_t *answer);
void run_detail_record(struct run_detail *list, json_t *record);
const char *run_detail_name(struct run_detail *list, size_t n);
/* 0 or -ENOMEM */
int run_detail_print(const struct run_detail *list, FILE *out);
struct run_detail *run_detail_free(struct run_detail *list);

#endif
