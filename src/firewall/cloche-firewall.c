/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/cloche-firewall.c - the program behind `cloche firewall` */

#include "firewall/firewall.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <signal.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "ipc/helper-program.h"

enum firewall_option {
#define FIREWALL_OPTION(id, name, argument, verbs, help) FIREWALL_##id,
#include "firewall/firewall-options.def"
#undef FIREWALL_OPTION
	FIREWALL_OPTIONS,
};

static const struct {
	const char *name, *argument, *verbs;
} options[] = {
#define FIREWALL_OPTION(id, name, argument, verbs, help) \
	{ name, argument, verbs },
#include "firewall/firewall-options.def"
#undef FIREWALL_OPTION
};

/**
 * struct call - The command line
 */
struct call {
	struct firewall f;
	bool json, dry_run, watch;
};

static int set(struct call *c, enum firewall_option id, const char *value,
	       struct err *err)
{
	switch (id) {
	case FIREWALL_ALLOW:
		return firewall_allow(&c->f, value, err);
	case FIREWALL_PRESET:
		return firewall_preset(&c->f, value, err);
	case FIREWALL_RANGES:
		return firewall_allow_file(&c->f, value, err);
	case FIREWALL_FETCH:
		if (strncmp(value, "https://", 8) != 0 && strncmp(value, "http://", 7) != 0)
			return fail(err, -EINVAL, "'%s' is not a URL with http or https",
				    value);
		c->f.fetch = value;
		return 0;
	case FIREWALL_RESOLVER:
		return firewall_resolver(&c->f, value, err);
	case FIREWALL_VERIFY_ALLOWED:
		return firewall_target(&c->f.must, value, err);
	case FIREWALL_VERIFY_DENIED:
		return firewall_target(&c->f.must_not, value, err);
	case FIREWALL_LAN:
		c->f.lan = true;
		return 0;
	case FIREWALL_NO_VERIFY:
		c->f.no_verify = true;
		return 0;
	case FIREWALL_DRY_RUN:
		c->dry_run = true;
		return 0;
	case FIREWALL_JSON:
		c->json = true;
		return 0;
	case FIREWALL_WATCH:
		c->watch = true;
		if (value && text_to_duration_ms(value, &c->f.watch_ms) < 0)
			return fail(err, -EINVAL, "'%s' is not a time like 30s or 5m",
				    value);
		return 0;
	case FIREWALL_OPTIONS:
		break;
	}
	return -EINVAL;
}

static enum firewall_option find(const char *name, size_t n)
{
	enum firewall_option id = 0;

	while (id < FIREWALL_OPTIONS && (strlen(options[id].name) != n ||
					 memcmp(options[id].name, name, n) != 0))
		id++;
	return id;
}

/* One option at argv[@i]; how many arguments it took, or -EINVAL with a message */
static int parse_one(int argc, char **argv, int i, struct call *c,
		     struct err *err)
{
	const char *verb = argv[1], *name = argv[i] + 2;
	const size_t n = strcspn(name, "=");
	const enum firewall_option id = find(name, n);
	const char *value = name[n] ? name + n + 1 : NULL;
	int used = 1, r;

	if (id == FIREWALL_OPTIONS || !text_has_word(options[id].verbs, verb))
		return fail(err, -EINVAL, "firewall %s: unknown option '%s'; 'cloche help firewall' lists them",
			    verb, argv[i]);
	if (options[id].argument && !value && i + 1 < argc)
		value = argv[i + used++];
	if (options[id].argument && !value)
		return fail(err, -EINVAL, "--%s needs %s", options[id].name,
			    options[id].argument);
	if (!options[id].argument && value && id != FIREWALL_WATCH)
		return fail(err, -EINVAL, "--%s takes no value",
			    options[id].name);
	r = set(c, id, value, err);
	if (r < 0)
		return value && err->code && id != FIREWALL_RANGES ?
			fail_in(err, r, "--%s", options[id].name) : r;
	return used;
}

static int parse(int argc, char **argv, struct call *c, struct err *err)
{
	for (int i = 2; i < argc;) {
		int used;

		if (strncmp(argv[i], "--", 2) != 0 || !argv[i][2])
			return fail(err, -EINVAL, "firewall %s: '%s' is not an option; 'cloche help firewall' lists them",
				    argv[1], argv[i]);
		used = parse_one(argc, argv, i, c, err);
		if (used < 0)
			return used;
		i += used;
	}
	return 0;
}

static int print_json(json_t *document)
{
	auto_free char *text = json_dumps(document, JSON_INDENT(2));

	printf("%s\n", text ? text : "{}");
	json_decref(document);
	return 0;
}

static void warn(const char *line)
{
	fprintf(stderr, "cloche: firewall: %s\n", line);
}

/* Lines of a trial: what went well to stdout, the rest where errors go */
static void print_report(const json_t *report, bool json)
{
	size_t i;
	json_t *line;

	json_array_foreach(report, i, line) {
		const char *text = json_string_value(line);

		if (strncmp(text, "ok: ", 4) != 0)
			warn(text);
		else if (!json)
			printf("%s\n", text);
	}
}

static void print_up(const struct call *c, const struct ruleset *r,
		     int result, json_t *report)
{
	if (c->json) {
		print_json(json_pack("{s:i, s:s, s:i, s:i, s:i, s:i, s:b, s:O}",
			"version", 1, "state", result ? "deny-all" : "up",
			"names", (int)c->f.names.len,
			"addresses", (int)r->sets[SET_NAMES].len,
			"ranges", (int)(r->sets[SET_RANGES].len + r->sets[SET_LAN].len),
			"resolvers", (int)r->sets[SET_RESOLVERS].len,
			"verified", !result && !c->f.no_verify,
			"checks", report));
	} else if (!result) {
		printf("firewall: up; %zu names (%zu addresses), %zu networks, %zu resolvers; %s\n",
		       c->f.names.len, r->sets[SET_NAMES].len,
		       r->sets[SET_RANGES].len + r->sets[SET_LAN].len, r->sets[SET_RESOLVERS].len,
		       c->f.no_verify ? "not verified" : "verified");
	}
	if (result)
		warn("the verification failed: nothing is let out now; fix it and run 'up' again, or 'cloche firewall down'");
	(void)fflush(stdout);
}

static int dry_run(const struct call *c, struct ruleset *r, struct err *err)
{
	auto_buf struct buf text = { 0 };
	const int result = firewall_plan(&c->f, r, err);

	if (result == 0) {
		ruleset_write(r, &text);
		fputs(buf_str(&text), stdout);
	}
	return result;
}

static int up(struct call *c, struct err *err)
{
	auto_json json_t *report = json_array();
	struct ruleset r = { 0 };
	int result;

	if (!c->f.watch_ms)
		c->f.watch_ms = FIREWALL_WATCH_MS;
	if (c->dry_run) {
		result = dry_run(c, &r, err);
	} else {
		result = firewall_up(&c->f, &r, report, err);
		print_report(report, c->json);
		if (result >= 0)
			print_up(c, &r, result, report);
		if (result == 0 && c->watch)
			result = firewall_watch(&c->f, &r, warn, err);
	}
	ruleset_done(&r);
	return result;
}

static int down(struct call *c, struct err *err)
{
	const int r = firewall_down(err);

	if (r < 0)
		return r;
	if (c->json)
		return print_json(json_pack("{s:i, s:s, s:b}", "version", 1,
					    "state", "down", "changed", !r));
	printf(r ? "firewall: it was not up\n" : "firewall: down\n");
	return 0;
}

static json_t *refused_json(const struct state *s)
{
	json_t *kinds = json_object();
	uint64_t packets = 0, bytes = 0;

	for (size_t i = 0; i < STATE_COUNTERS; i++) {
		(void)json_object_set_new(kinds, state_counters[i],
			json_pack("{s:I, s:I}",
				  "packets", (json_int_t)s->packets[i],
				  "bytes", (json_int_t)s->bytes[i]));
		packets += s->packets[i];
		bytes += s->bytes[i];
	}
	return json_pack("{s:I, s:I, s:o}", "packets", (json_int_t)packets,
			 "bytes", (json_int_t)bytes, "kinds", kinds);
}

static void print_state(const struct state *s, const char *since)
{
	if (s->mode == FIREWALL_DOWN) {
		printf("firewall: down\n");
		return;
	}
	if (s->mode == FIREWALL_FOREIGN) {
		printf("firewall: down; there is a table '" RULESET_FAMILY " " RULESET_TABLE "' that is not ours\n");
		return;
	}
	printf("firewall: %s since %s; %zu sets (%zu elements); %" PRIu64
	       " packets dropped",
	       s->mode == FIREWALL_UP ? "up" :
	       "deny-all (a verification failed)", since, s->sets,
	       s->elements, state_refused(s));
	for (size_t i = 0; i < STATE_COUNTERS; i++)
		printf("%s%s %" PRIu64, i ? ", " : " (", state_counters[i],
		       s->packets[i]);
	printf(")\n");
}

static int status(struct call *c, struct err *err)
{
	char since[32] = "";
	struct state s;
	json_t *document;
	int r = state_read(&s, err);

	if (r < 0)
		return r;
	if (s.since)
		state_time(s.since, since);
	if (!c->json) {
		print_state(&s, since);
	} else {
		document = json_pack("{s:i, s:s, s:i, s:i, s:o}", "version", 1,
			"state", state_mode_name(s.mode),
			"sets", (int)s.sets, "elements", (int)s.elements,
			"drops", refused_json(&s));
		if (s.since)
			(void)json_object_set_new(document, "since",
						  json_string(since));
		print_json(document);
	}
	state_done(&s);
	return s.mode == FIREWALL_UP ? 0 : 1;
}

static int verify(struct call *c, struct err *err)
{
	auto_json json_t *report = json_array();
	const int r = firewall_verify(&c->f, report, err);

	if (r >= 0 && c->json)
		print_json(json_pack("{s:i, s:b, s:O}", "version", 1, "ok", !r,
				     "checks", report));
	print_report(report, c->json);
	return r;
}

static int firewall(int argc, char **argv, struct err *err)
{
	static const struct {
		const char *name;
		int (*run)(struct call *c, struct err *err);
	} verbs[] = {
		{ "up", up }, { "down", down }, { "status", status },
		{ "verify", verify },
	};
	struct call c = { 0 };
	int r;

	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(verbs[i].name, argv[1]) != 0)
			continue;
		r = parse(argc, argv, &c, err);
		if (r == 0)
			r = verbs[i].run(&c, err);
		firewall_done(&c.f);
		return r;
	}
	return fail(err, -EINVAL, argc > 1 ?
		    "firewall: '%s' is not one of up, down, status, verify" :
		    "firewall needs one of up, down, status, verify",
		    argc > 1 ? argv[1] : "");
}

int main(int argc, char **argv)
{
	(void)signal(SIGCHLD, SIG_DFL);	/* nft is waited for */
	return helper_program_main(argc, argv, firewall);
}
