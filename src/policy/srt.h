/* SPDX-License-Identifier: Apache-2.0 */
/* policy/srt.h - settings of srt, checked as srt checks them, in its words
 *
 * Our own grammar takes more than srt's (single labels, ranges, further keys).
 * Who stands in for srt must refuse what srt refuses and ignore what srt
 * ignores, or a file would mean one thing here and another there.
 */

#ifndef POLICY_SRT_H
#define POLICY_SRT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct buf;

/* Check @root, a parsed settings file. Keys that srt does not know, or does
 * not look at, are taken out of it. Returns the number of problems, each
 * appended to @out as "PATH: what", with "; " between them; @out may be NULL.
 */
size_t srt_check(json_t *root, struct buf *out);

/* The two steps of it, for each other: what concerns several keys */
struct srt_issues;
void srt_cross_check(json_t *root, struct srt_issues *issues);

/**
 * struct srt_issues - What was found so far
 * @aborted:	Something has the wrong type: then nothing else is looked at
 */
struct srt_issues {
	struct buf *out;
	size_t count;
	bool aborted;
};

/* Add one: "PATH: words". An empty @path is the whole file. */
void srt_issue(struct srt_issues *issues, const char *path, const char *fmt,
	       ...) __attribute__((format(printf, 3, 4)));

/* Is @text a pattern of hosts, without a port? */
bool srt_is_host(const char *text);
/* With a port, as in allowedDomains */
bool srt_is_entry(const char *text);
/* The host of an entry, without its port; the caller frees */
char *srt_host_of(const char *entry);

#endif /* POLICY_SRT_H */
