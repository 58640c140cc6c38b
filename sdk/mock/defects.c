/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/mock/defects.c - records defects of the plugin and of the test, and refuses wrong requests of a test.
 */
#include <pthread.h>
#include <stdarg.h>
#include <string.h>

#include "sdk/mock/priv.h"

void *mock_need(void *p)
{
	if (!p) {
		fputs("skep mock: out of memory\n", stderr);
		abort();
	}
	return p;
}

void mock_misuse(const char *fmt, ...)
{
	va_list ap;

	fputs("skep mock: a mistake of the test: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	abort();
}

void mock_defect(struct skep_mock *m, const char *fmt, ...)
{
	struct skep_mock_priv *p = m->priv;
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	mock_need(text);
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->n_defects; i++) {
		/* Report a defect once: a plugin repeats it at each interval. */
		if (strcmp(p->defects[i], text) == 0) {
			free(text);
			text = NULL;
			break;
		}
	}
	if (text) {
		p->defects = mock_need(realloc(p->defects, (p->n_defects + 1) * sizeof(*p->defects)));
		p->defects[p->n_defects++] = text;
		m->defects = (unsigned)p->n_defects;
		if (!m->quiet)
			fprintf(stderr, "skep mock: defect of %s: %s\n", m->plugin->name, text);
	}
	pthread_mutex_unlock(&p->lock);
}

const char *skep_mock_defect(const struct skep_mock *m, unsigned i)
{
	return i < m->priv->n_defects ? m->priv->defects[i] : NULL;
}

int mock_refuse(struct skep_mock *m, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(m->why, sizeof(m->why), fmt, ap);
	va_end(ap);
	return err;
}
