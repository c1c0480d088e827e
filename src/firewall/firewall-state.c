/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firewall/firewall-state.c - what is in force, read from the kernel
 *
 * The kernel's table is the truth: it is there, or not, for each network
 * namespace, and carries its own mark. The file below /run is a hint for
 * callers that may not ask the kernel, and remembers what to verify.
 */

#include "firewall/firewall.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/firewall-mark.h"

const char *const state_counters[STATE_COUNTERS] = {
	[COUNTER_DNS] = "dns", [COUNTER_IPV4] = "ipv4", [COUNTER_IPV6] = "ipv6",
};

const char *state_mode_name(enum firewall_mode mode)
{
	static const char *const names[] = {
		[FIREWALL_DOWN] = "down", [FIREWALL_UP] = "up",
		[FIREWALL_DENY_ALL] = "deny-all",
		[FIREWALL_FOREIGN] = "foreign",
	};

	return names[mode];
}

uint64_t state_refused(const struct state *state)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < STATE_COUNTERS; i++)
		sum += state->packets[i];
	return sum;
}

void state_time(int64_t seconds, char ret[32])
{
	const time_t t = (time_t)seconds;
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(ret, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

static const char *name_of(const json_t *object)
{
	const char *name = json_get_text(object, "name");

	return name ? name : "";
}

static void read_chain(const json_t *chain, struct state *s)
{
	const char *name = name_of(chain);
	const size_t n = strlen(RULESET_MARK);

	if (!strcmp(name, RULESET_OPEN) && s->mode == FIREWALL_DENY_ALL)
		s->mode = FIREWALL_UP;
	if (strncmp(name, RULESET_MARK, n) != 0)
		return;
	if (s->mode == FIREWALL_FOREIGN)
		s->mode = FIREWALL_DENY_ALL;
	snprintf(s->ruleset.id, sizeof(s->ruleset.id), "%s", name);
	s->since = strtoll(name + n, NULL, 10);
}

static void read_counter(const json_t *counter, struct state *s)
{
	const char *name = name_of(counter);
	const size_t n = strlen(RULESET_COUNTER);

	for (size_t i = 0; i < STATE_COUNTERS; i++) {
		if (strncmp(name, RULESET_COUNTER, n) != 0 ||
		    strcmp(name + n, state_counters[i]) != 0)
			continue;
		s->packets[i] = (uint64_t)json_integer_value(
			json_object_get(counter, "packets"));
		s->bytes[i] = (uint64_t)json_integer_value(
			json_object_get(counter, "bytes"));
	}
}

/* "1.2.3.4", { "prefix": { "addr": "1.2.3.0", "len": 24 } }, or with a comment
 * { "elem": { "val": "1.2.3.4" } }
 */
static void read_element(json_t *value, struct range_list *list)
{
	const char *text = NULL;
	char network[64] = "";
	struct host_range range;
	int bits;

	(void)json_unpack(value, "{s:{s:o}}", "elem", "val", &value);
	if (json_unpack(value, "{s:{s:s, s:i}}", "prefix", "addr", &text, "len",
			&bits) == 0)
		snprintf(network, sizeof(network), "%s/%d", text, bits);
	text = network[0] ? network : json_string_value(value);
	if (text && host_range_parse(text, strlen(text), &range) == 0)
		(void)range_list_add(list, &range);
}

static void read_set(const json_t *set, struct state *s)
{
	const json_t *elements = json_object_get(set, "elem");
	const char *name = name_of(set);
	size_t i, k = 0;
	json_t *value;

	s->sets++;
	s->elements += json_array_size(elements);
	while (k < SETS && strncmp(name, ruleset_sets[k],
				   strlen(ruleset_sets[k])) != 0)
		k++;
	if (k == SETS)
		return;
	json_array_foreach(elements, i, value)
		read_element(value, &s->ruleset.sets[k]);
}

/* The mark is read before the other chains: it decides what they mean */
void state_parse(const json_t *list, struct state *ret)
{
	size_t i;
	json_t *value;

	*ret = (struct state){ .mode = FIREWALL_FOREIGN };
	for (int round = 0; round < 2; round++) {
		json_array_foreach(list, i, value)
			read_chain(json_object_get(value, "chain"), ret);
	}
	json_array_foreach(list, i, value) {
		const json_t *set = json_object_get(value, "set");

		read_counter(json_object_get(value, "counter"), ret);
		if (set)
			read_set(set, ret);
	}
}

static bool is_listed(const json_t *tables)
{
	size_t i;
	json_t *value;

	json_array_foreach(tables, i, value) {
		const json_t *table = json_object_get(value, "table");
		const char *family = json_get_text(table, "family");

		if (family && !strcmp(family, RULESET_FAMILY) &&
		    !strcmp(name_of(table), RULESET_TABLE))
			return true;
	}
	return false;
}

int state_read(struct state *ret, struct err *err)
{
	static const char *const all[] = { "tables", NULL };
	static const char *const ours[] = {
		"table", RULESET_FAMILY, RULESET_TABLE, NULL,
	};
	auto_json json_t *tables = NULL, *list = NULL;
	int r = nft_check(err);

	*ret = (struct state){ .mode = FIREWALL_DOWN };
	if (r < 0)
		return r;
	tables = nft_list(all, err);
	if (!tables)
		return err->code;
	if (!is_listed(tables))
		return 0;
	list = nft_list(ours, err);
	if (!list)
		return err->code;
	state_parse(list, ret);
	return 0;
}

void state_done(struct state *state)
{
	ruleset_done(&state->ruleset);
}

static int write_document(const json_t *document, struct err *err)
{
	auto_free char *dir = path_parent(FIREWALL_MARK);
	auto_close int fd = fs_open_dir_p(dir, 0755, err);
	auto_free char *text = json_dumps(document, JSON_INDENT(2));
	auto_buf struct buf out = { 0 };

	if (fd < 0)
		return fd;
	buf_addf(&out, "%s\n", text ? text : "{}");
	return fs_replace(fd, path_base(FIREWALL_MARK), out.p, out.len, 0644,
			  err);
}

int state_leave(json_t *document, struct err *err)
{
	auto_free char *dir = path_parent(FIREWALL_MARK);
	json_t *before;
	int r;

	if (document) {
		(void)json_object_set_new(document, "network",
					  firewall_mark_network());
		r = write_document(document, err);
		json_decref(document);
		return r;
	}
	before = firewall_mark_read();
	if (!before)
		return 0;
	json_decref(before);
	if (unlink(FIREWALL_MARK) < 0 && errno != ENOENT)
		return fail_errno(err, "cannot remove '%s'", FIREWALL_MARK);
	(void)rmdir(dir);	/* Unless something else is in there */
	return 0;
}
