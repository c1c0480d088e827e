/* SPDX-License-Identifier: Apache-2.0 */
/* policy/diagnostics.h - errors and notes of reading settings files (document.c) */

#ifndef POLICY_DIAGNOSTICS_H
#define POLICY_DIAGNOSTICS_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/asks.h"
#include "policy/origin.h"

/* Whether a file may widen the policy by itself (docs/threat-model.md) */
enum authority {
	AUTHORITY_FULL,		/* Of the user, the administrator or the command line */
	AUTHORITY_RECORDED,	/* --settings FILE that commands can write: its first use counts */
	AUTHORITY_REPOSITORY,	/* Denials apply; grants need approval */
};

enum note_level {
	NOTE_INFO,	/* A known key without effect here */
	NOTE_WARNING,	/* Valid, but probably a mistake */
	NOTE_UNKNOWN,	/* An unknown key, ignored; printed at every run */
	NOTE_ERROR,	/* Stops the run, unless a managed drop-in has it */
	NOTE_LEVELS,
};

enum {
	NOTES_MAX = 1000,	/* Kept in a report; more are only counted */
};

/**
 * struct settings_note - An error, a warning or a note
 * @text:	One line: "FILE:LINE:COLUMN: words"
 */
struct settings_note {
	enum note_level level;
	char *text;
};

enum file_state { FILE_MISSING, FILE_READ, FILE_BAD };

/**
 * struct settings_file - A path where settings were searched, strongest first
 */
struct settings_file {
	enum scope scope;
	enum file_state state;
	char *path;
};

/**
 * struct settings_source - A file whose requests need approval
 * @id:		The key of the approval
 * @name:	The file as seen from the repository
 * @asks:	All its grants, each approved or refused
 */
struct settings_source {
	enum authority authority;
	char *id, *name;
	struct asks asks;
};

/**
 * struct settings_report - Notes, files and requests of a load; zero-initialise it
 * @dropped:	Notes beyond NOTES_MAX
 */
struct settings_report {
	struct { struct settings_note *v; size_t len, cap; } notes;
	struct { struct settings_file *v; size_t len, cap; } files;
	struct { struct settings_source *v; size_t len, cap; } sources;
	size_t dropped;
};

void settings_note(struct settings_report *report, enum note_level level,
		   const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
size_t settings_errors(const struct settings_report *report);
void settings_report_done(struct settings_report *report);

#define auto_report	__attribute__((cleanup(settings_report_done)))

#endif /* POLICY_DIAGNOSTICS_H */
