/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firewall/ruleset.c - the ruleset as text for nft
 *
 * Theory of operation: two base chains (what this machine sends, what it
 * forwards) whose policy is drop. Loopback passes; then answers on connections
 * that others opened to us; then DNS, to the resolvers and to nothing else, not
 * even to an allowed address; then the sets. What is left is counted by kind
 * and rejected, so that a client fails at once instead of after two minutes.
 *
 * "Established" is not enough to pass: in the direction in which a connection
 * was opened the address must be in a set for every packet. A connection that
 * was open before, or whose address was taken out since, ends.
 *
 * Our table alone is replaced, in one transaction: "table" makes sure that
 * there is one to delete. A drop in one table is final whatever others accept.
 * A table that is up is filled anew instead: between the old rules and the new
 * elements of a new interval set the kernel has a moment in which neither
 * holds, and allowed packets would be refused in it.
 */

#include "firewall/firewall.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"

int range_list_add(struct range_list *list, const struct host_range *range)
{
	if (list->len == RULESET_RANGES_MAX)
		return -E2BIG;
	vec_push(list)->range = *range;
	return 0;
}

static struct host_range range_of(const struct host *address)
{
	struct host_range range = {
		.kind = address->kind,
		.bits = address->kind == HOST_IPV4 ? 32 : 128,
	};

	memcpy(range.address, address->address, sizeof(range.address));
	return range;
}

int range_list_add_host(struct range_list *list, const struct host *address)
{
	const struct host_range range = range_of(address);

	return range_list_add(list, &range);
}

/* Families apart, then by address, the larger network first */
static int compare_ranges(const void *a, const void *b)
{
	const struct host_range *x = &((const struct range *)a)->range;
	const struct host_range *y = &((const struct range *)b)->range;
	int r = (int)x->kind - (int)y->kind;

	if (!r)
		r = memcmp(x->address, y->address, sizeof(x->address));
	return r ? r : (int)x->bits - (int)y->bits;
}

/* Two networks are disjoint or one holds the other, which then comes first */
void range_list_tidy(struct range_list *list)
{
	size_t kept = 0;

	if (list->len)
		qsort(list->v, list->len, sizeof(*list->v), compare_ranges);
	for (size_t i = 0; i < list->len; i++) {
		const struct host_range *r = &list->v[i].range;
		struct host first = { .kind = r->kind };

		memcpy(first.address, r->address, sizeof(first.address));
		if (!kept || list->v[kept - 1].range.bits > r->bits ||
		    !host_range_has(&list->v[kept - 1].range, &first))
			list->v[kept++] = list->v[i];
	}
	list->len = kept;
}

bool range_list_has(const struct range_list *list, const struct host *address)
{
	for (size_t i = 0; i < list->len; i++) {
		if (host_range_has(&list->v[i].range, address))
			return true;
	}
	return false;
}

void range_list_done(struct range_list *list)
{
	free(list->v);
	*list = (struct range_list){ 0 };
}

int range_list_note(struct range_list *list, const char *name,
		    const struct host *address, int64_t now_ms)
{
	for (size_t i = 0; i < list->len; i++) {
		if (host_range_has(&list->v[i].range, address)) {
			list->v[i].seen_ms = now_ms;
			return 0;
		}
	}
	if (list->len == RULESET_ADDRESSES_MAX)
		return -E2BIG;
	*vec_push(list) = (struct range){ range_of(address), name, now_ms };
	return 1;
}

size_t range_list_expire(struct range_list *list, int64_t limit_ms)
{
	size_t kept = 0, gone;

	for (size_t i = 0; i < list->len; i++) {
		if (list->v[i].seen_ms >= limit_ms)
			list->v[kept++] = list->v[i];
	}
	gone = list->len - kept;
	list->len = kept;
	return gone;
}

#define TABLE	RULESET_FAMILY " " RULESET_TABLE

enum { COMMENT_MAX = 120 };	/* The kernel takes 128 bytes with its NUL */

/* By number: without /etc/protocols, as in a fresh container, nft has no name
 * for the second
 */
#define ICMP	"1, 58"

static const char reject[] = "reject with icmpx type admin-prohibited\n";

const char *const ruleset_sets[SETS] = {
	[SET_NAMES] = "names", [SET_RANGES] = "ranges", [SET_LAN] = "lan",
	[SET_RESOLVERS] = "resolvers",
};

static const enum host_kind kinds[] = { HOST_IPV4, HOST_IPV6 };

static const char *digit(enum host_kind kind)
{
	return kind == HOST_IPV4 ? "4" : "6";
}

/* What is of @kind, "" if nothing is. A name is letters, digits, dots, "-" and "_"
 * (host_parse()): safe in quotes.
 */
static void add_elements(struct buf *out, const struct range_list *list,
			 enum host_kind kind)
{
	const unsigned int most = kind == HOST_IPV4 ? 32 : 128;
	char text[INET6_ADDRSTRLEN];

	for (size_t i = 0; i < list->len; i++) {
		const struct host_range *r = &list->v[i].range;

		if (r->kind != kind)
			continue;
		buf_adds(out, out->len ? ",\n\t\t\t" : "");
		buf_adds(out, inet_ntop(kind == HOST_IPV4 ? AF_INET : AF_INET6,
					r->address, text, sizeof(text)));
		if (r->bits < most)
			buf_addf(out, "/%u", r->bits);
		if (list->v[i].name)
			buf_addf(out, " comment \"%.*s\"", COMMENT_MAX,
				 list->v[i].name);
	}
}

static void add_sets(struct buf *out, const struct ruleset *r)
{
	for (size_t i = 0; i < SETS * ARRAY_SIZE(kinds); i++) {
		const enum ruleset_set set = i / ARRAY_SIZE(kinds);
		const enum host_kind kind = kinds[i % ARRAY_SIZE(kinds)];
		auto_buf struct buf elements = { 0 };

		add_elements(&elements, &r->sets[set], kind);
		buf_addf(out, "\tset %s%s {\n\t\ttype ipv%s_addr\n%s",
			 ruleset_sets[set], digit(kind), digit(kind),
			 set == SET_NAMES ? "" : "\t\tflags interval\n");
		if (elements.len)
			buf_addf(out, "\t\telements = {\n\t\t\t%s\n\t\t}\n",
				 buf_str(&elements));
		buf_adds(out, "\t}\n");
	}
}

static void add_accept(struct buf *out, enum ruleset_set set)
{
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		buf_addf(out, "\t\t%s daddr @%s%s accept\n",
			 kinds[k] == HOST_IPV4 ? "ip" : "ip6", ruleset_sets[set],
			 digit(kinds[k]));
}

static void add_refused(struct buf *out)
{
	buf_adds(out, "\tchain refused {\n"
		 "\t\tmeta nfproto ipv4 counter name " RULESET_COUNTER "ipv4\n"
		 "\t\tmeta nfproto ipv6 counter name " RULESET_COUNTER "ipv6\n"
		 "\t\t");
	buf_adds(out, reject);
	buf_adds(out, "\t}\n");
}

static void add_allowed(struct buf *out)
{
	buf_adds(out, "\tchain dns {\n");
	add_accept(out, SET_RESOLVERS);
	buf_adds(out, "\t\tcounter name " RULESET_COUNTER "dns ");
	buf_adds(out, reject);
	buf_adds(out, "\t}\n\tchain " RULESET_OPEN " {\n"
		 "\t\tmeta l4proto { tcp, udp } th dport { 53, 853 } goto dns\n");
	add_accept(out, SET_NAMES);
	add_accept(out, SET_RANGES);
	add_accept(out, SET_LAN);
	buf_adds(out, "\t}\n");
}

static void add_base(const struct ruleset *r, const char *hook,
		     struct buf *out)
{
	buf_addf(out, "\tchain %s {\n"
		 "\t\ttype filter hook %s priority filter; policy drop;\n",
		 hook, hook);
	/* Without neighbours there is no IPv6, and they are on this link */
	if (!strcmp(hook, "output"))
		buf_adds(out, "\t\toifname \"lo\" accept\n"
			 "\t\ticmpv6 type { nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert } ip6 hoplimit 255 accept\n"
			 "\t\ticmpv6 type { mld-listener-report, mld-listener-done, mld2-listener-report } ip6 hoplimit 1 accept\n");
	buf_adds(out, "\t\tct state established ct direction reply accept\n"
		 "\t\tct state related meta l4proto { " ICMP " } accept\n");
	if (!r->deny_all)
		buf_adds(out, "\t\tjump " RULESET_OPEN "\n");
	buf_adds(out, "\t\tgoto refused\n\t}\n");
}

static void add_table(const struct ruleset *r, struct buf *out)
{
	buf_addf(out, "table " TABLE " {\n\tchain %s {\n\t}\n"
		 "\tcounter " RULESET_COUNTER "dns {\n\t}\n"
		 "\tcounter " RULESET_COUNTER "ipv4 {\n\t}\n"
		 "\tcounter " RULESET_COUNTER "ipv6 {\n\t}\n", r->id);
	if (!r->deny_all)
		add_sets(out, r);
	add_refused(out);
	if (!r->deny_all)
		add_allowed(out);
	add_base(r, "output", out);
	add_base(r, "forward", out);
	buf_adds(out, "}\n");
}

void ruleset_write(const struct ruleset *r, struct buf *out)
{
	buf_adds(out, "table " TABLE "\ndelete table " TABLE "\n");
	if (r)
		add_table(r, out);
}

void ruleset_write_over(const struct ruleset *r, const char *id,
			struct buf *out)
{
	static const char *const chains[] = {
		"refused", "dns", RULESET_OPEN, "output", "forward",
	};

	buf_addf(out, "delete chain " TABLE " %s\n", id);
	for (size_t i = 0; i < ARRAY_SIZE(chains); i++)
		buf_addf(out, "flush chain " TABLE " %s\n", chains[i]);
	for (size_t i = 0; i < SETS; i++)
		buf_addf(out, "flush set " TABLE " %s4\nflush set " TABLE " %s6\n",
			 ruleset_sets[i], ruleset_sets[i]);
	add_table(r, out);
}

void ruleset_write_names(const struct ruleset *r, struct buf *out)
{
	/* Empty anyway, but only there if the table is still ours */
	buf_addf(out, "flush chain " TABLE " %s\n", r->id);
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		auto_buf struct buf elements = { 0 };

		buf_addf(out, "flush set " TABLE " names%s\n",
			 digit(kinds[k]));
		add_elements(&elements, &r->sets[SET_NAMES], kinds[k]);
		if (elements.len)
			buf_addf(out, "add element " TABLE " names%s {\n\t\t\t%s\n}\n",
				 digit(kinds[k]), buf_str(&elements));
	}
}

void ruleset_done(struct ruleset *r)
{
	for (size_t i = 0; i < SETS; i++)
		range_list_done(&r->sets[i]);
}
