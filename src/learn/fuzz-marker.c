/* SPDX-License-Identifier: Apache-2.0 */
/* learn/fuzz-marker.c - any bytes, as any kind of marker file, give hosts or nothing */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "learn/proposal.h"
#include "policy/host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first line is the name of the file */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\n', size);
	const size_t n = end ? (size_t)(end - data) : 0;
	char name[64] = "";
	struct proposal p = { 0 };

	if (!n || n >= sizeof(name))
		return 0;
	memcpy(name, data, n);
	for (const struct marker *m = marker_find(name, NULL); m;
	     m = marker_find(name, m))
		proposal_read(&p, m, name, (const char *)end + 1, size - n - 1, false);
	if (p.hosts.len > PROPOSAL_HOSTS_MAX || p.notes.len > PROPOSAL_NOTES_MAX)
		abort();
	for (size_t i = 0; i < p.hosts.len; i++) {
		const char *entry = p.hosts.v[i].entry;
		struct host host;

		/* What is written is one name, and never a pattern of more */
		if (host_parse_authority(entry, strlen(entry), 443, &host) < 0 ||
		    host.kind != HOST_NAME || host_is_localhost(&host) ||
		    strpbrk(entry, "*/@ \n") || p.hosts.v[i].own)
			abort();
	}
	proposal_done(&p);
	return 0;
}
