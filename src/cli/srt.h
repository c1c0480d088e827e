/* SPDX-License-Identifier: Apache-2.0 */
/* cli/srt.h - the command line of srt */

#ifndef CLI_SRT_H
#define CLI_SRT_H

#include <stdbool.h>

/**
 * struct srt_call - What was asked for
 * @string:	Of -c, or NULL
 * @words:	The command, NULL-terminated
 * @settings, @control: As they were given, or NULL
 */
struct srt_call {
	const char *string, *settings, *control;
	char **words;
	bool debug, version;
};

/* Parse the words. Negative if there is something to do, with *@ret filled in;
 * else the exit status, and what there was to say was said.
 */
int srt_parse(int argc, char **argv, struct srt_call *ret);

#endif /* CLI_SRT_H */
