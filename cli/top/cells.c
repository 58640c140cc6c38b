/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/top/cells.c - the texts of the columns.
 */
#include "cli/top/cells.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *title;
	unsigned width;
	unsigned rank; /* the column with the highest rank gives way first */
} cells[TOP_COLUMNS] = {
	[TOP_NAME] = { "name", 0, 0 },
	[TOP_STATE] = { "S", 1, 1 },
	[TOP_CORES] = { "cores", 5, 2 },
	[TOP_CPU] = { "CPU", 6, 3 },
	[TOP_QUEUED] = { "queued", 6, 4 },
	[TOP_RSS] = { "RSS", 5, 5 },
	[TOP_ALIVE] = { "alive", 5, 6 },
	[TOP_BLOCKED] = { "block", 6, 7 },
	[TOP_FAILED] = { "fail", 4, 8 },
	[TOP_READ] = { "read", 5, 9 },
	[TOP_WRITTEN] = { "write", 5, 10 },
	[TOP_ENDED] = { "ended", 5, 11 },
	[TOP_NET] = { "net", 5, 12 },
};

const enum top_column top_cells_order[TOP_COLUMNS] = {
	TOP_STATE, TOP_CORES, TOP_CPU,   TOP_QUEUED, TOP_BLOCKED, TOP_RSS,  TOP_READ,
	TOP_WRITTEN, TOP_NET, TOP_ALIVE, TOP_ENDED,  TOP_FAILED,  TOP_NAME,
};

const char *top_cell_title(enum top_column column)
{
	return cells[column].title;
}

unsigned top_cell_width(enum top_column column)
{
	return cells[column].width;
}

unsigned top_cells_fit(unsigned width, bool ret_shown[TOP_COLUMNS])
{
	unsigned used = 0, rank = 0;

	for (unsigned c = 0; c < TOP_COLUMNS; c++) {
		ret_shown[c] = true;
		used += c == TOP_NAME ? 0 : cells[c].width + 1;
		rank = cells[c].rank > rank ? cells[c].rank : rank;
	}
	for (; rank > 0 && used + TOP_NAME_LEAST > width; rank--)
		for (unsigned c = 0; c < TOP_COLUMNS; c++)
			if (cells[c].rank == rank) {
				ret_shown[c] = false;
				used -= cells[c].width + 1;
			}
	return width > used ? width - used : 0;
}

/* Four digits, or thousands. */
static void count(uint64_t n, char buf[HUMAN_SIZE])
{
	if (n < 10000)
		snprintf(buf, HUMAN_SIZE, "%u", (unsigned)n);
	else if (n < 10000000)
		snprintf(buf, HUMAN_SIZE, "%uk", (unsigned)(n / 1000));
	else
		snprintf(buf, HUMAN_SIZE, "%lluM", (unsigned long long)(n / 1000000));
}

const char *top_cell_text(const struct top_row *r, enum top_column column, char buf[HUMAN_SIZE])
{
	const unsigned flags = HUMAN_SHORT | HUMAN_ASCII;
	const struct top_figures *f = &r->figures;

	switch (column) {
	case TOP_CORES:
		human_cores(r->cores, buf);
		break;
	case TOP_CPU:
		human_time(f->cpu_ns, flags, buf);
		break;
	case TOP_QUEUED:
		human_time(f->run_delay_ns, flags, buf);
		break;
	case TOP_BLOCKED:
		f->block_known ? human_time(f->block_delay_ns, flags, buf) : strcpy(buf, "-");
		break;
	case TOP_RSS:
		human_bytes(f->rss_bytes, flags, buf);
		break;
	case TOP_READ:
		human_bytes(f->read_bytes, flags, buf);
		break;
	case TOP_WRITTEN:
		human_bytes(f->write_bytes, flags, buf);
		break;
	case TOP_NET:
		f->net_known ? human_bytes(f->net_bytes, flags, buf) : strcpy(buf, "-");
		break;
	case TOP_ALIVE:
		count(r->alive, buf);
		break;
	case TOP_ENDED:
		count(r->ended, buf);
		break;
	case TOP_FAILED:
		count(r->failed, buf);
		break;
	case TOP_STATE:
		snprintf(buf, HUMAN_SIZE, "%c", r->state ? r->state : '-');
		break;
	default:
		buf[0] = '\0';
		break;
	}
	return buf;
}
