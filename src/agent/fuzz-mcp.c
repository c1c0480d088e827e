/* SPDX-License-Identifier: Apache-2.0 */
/* agent/fuzz-mcp.c - a byte for the format, then a file with MCP servers: what is found
 * stands where it is said to stand
 */

#include <stdint.h>
#include <string.h>

#include "agent/mcp.h"
#include "base/buf.h"
#include "fuzz.h"

static void check_span(struct mcp_span span, const struct buf *text)
{
	fuzz_want(span.from <= span.to && span.to <= text->len);
}

static void check(const struct mcp_server *s, const struct buf *text)
{
	fuzz_want(s->name);
	check_span(s->command, text);
	check_span(s->list, text);
	for (size_t i = 0; i < s->args.len; i++) {
		check_span(s->args.v[i], text);
		fuzz_want(s->args.v[i].from < s->args.v[i].to);
	}
	if (!s->command.to || s->odd)
		return;
	fuzz_want(s->words.len == s->args.len + 1);
	fuzz_want(strchr("\"'", text->p[s->command.from]));
	fuzz_want(!s->list.to || text->p[s->list.from] == '[');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char key[] = "mcp_servers", path[] = "file";
	struct mcp_file file = { .agent = "codex", .path = path, .keys = { key } };
	auto_servers struct mcp_servers all = { 0 };
	auto_buf struct buf text = { 0 };

	if (!size)
		return 0;
	file.toml = data[0] & 1;
	buf_add(&text, data + 1, size - 1);
	if (mcp_parse(&file, &text, &all, NULL) < 0)
		return 0;
	for (size_t i = 0; i < all.len; i++)
		check(&all.v[i], &text);
	return 0;
}
