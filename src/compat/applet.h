/* SPDX-License-Identifier: Apache-2.0 */
/* cli/persona.h - programs that cloche stands in for, by name */

#ifndef CLI_PERSONA_H
#define CLI_PERSONA_H

/**
 * struct persona - One name
 * @name:	Of the program; installed in the libexec directory
 * @help:	One line
 * @run:	argv[0] is as it was called (a login shell's has a dash before
 *		it). Returns the exit status; what there is to say was said.
 */
struct persona {
	const char *name, *help;
	int (*run)(int argc, char **argv);
};

#define PERSONA(id, name, help) int persona_##id(int argc, char **argv);
#include "cli/personas.def"
#undef PERSONA

/* The one that @argv0 names, a path or not; NULL if it names none */
const struct persona *persona_find(const char *argv0);
/* The whole table, ending with an empty row */
const struct persona *persona_table(void);

#endif /* CLI_PERSONA_H */
