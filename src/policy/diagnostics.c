/* SPDX-License-Identifier: Apache-2.0 */
/* policy/diagnostics.c - what happened on the way from files to a policy */

#include "policy/diagnostics.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"

void settings_note(struct settings_report *report, enum note_level level,
		   const char *fmt, ...)
{
	const size_t max = level == NOTE_ERROR ? 2 * NOTES_MAX : NOTES_MAX;
	char text[ERR_MSG_MAX];
	va_list ap;

	if (!report)
		return;
	/* Errors have a limit of their own, so that notes cannot crowd them out */
	if (report->notes.len >= max) {
		report->dropped++;
		return;
	}
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	*vec_push(&report->notes) = (struct settings_note){
		.level = level, .text = mem_strdup(text),
	};
}

size_t settings_errors(const struct settings_report *report)
{
	size_t n = 0;

	for (size_t i = 0; i < report->notes.len; i++)
		n += report->notes.v[i].level == NOTE_ERROR;
	return n;
}

void settings_report_done(struct settings_report *report)
{
	for (size_t i = 0; i < report->notes.len; i++)
		free(report->notes.v[i].text);
	for (size_t i = 0; i < report->files.len; i++)
		free(report->files.v[i].path);
	for (size_t i = 0; i < report->sources.len; i++) {
		free(report->sources.v[i].id);
		free(report->sources.v[i].name);
		asks_done(&report->sources.v[i].asks);
	}
	free(report->sources.v);
	free(report->notes.v);
	free(report->files.v);
	*report = (struct settings_report){ 0 };
}
