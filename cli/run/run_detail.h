/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/run_detail.h - details of a run: `skep run --detail NAME` attaches
 * them to the run before its command starts, and prints their sums after the report.
 */
#ifndef SKEP_CLI_RUN_DETAIL_H
#define SKEP_CLI_RUN_DETAIL_H

#include <jansson.h>
#include <stdio.h>

#include "core/collect/collector.h"

struct run_detail;

/* Adds a detail to the list; name is borrowed. 0 or -ENOMEM. */
int run_detail_add(struct run_detail **list, const char *name);
/*
 * Attaches all details to that live run. 0, or the error of collector_attach; *ret_why names the detail and the reason
 * (the caller frees it; NULL: no memory).
 */
int run_detail_attach(struct run_detail *list, struct collector *, const char *run_id, char **ret_why);
/*
 * For a run that skepd collects: the request that attaches the n-th detail (NULL: no more), its answer, and a record.
 * A detail may be attached again on another connection: the sums include the records of both.
 */
json_t *run_detail_request(struct run_detail *list, size_t n, const char *run_id);
void run_detail_answer(struct run_detail *list, size_t n, json_t *answer);
void run_detail_record(struct run_detail *list, json_t *record);
const char *run_detail_name(struct run_detail *list, size_t n);
/* 0 or -ENOMEM */
int run_detail_print(const struct run_detail *list, FILE *out);
struct run_detail *run_detail_free(struct run_detail *list);

#endif
