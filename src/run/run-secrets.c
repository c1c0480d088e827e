/* SPDX-License-Identifier: Apache-2.0 */
/* run/run-secrets.c - the secrets of a run, which cloche-tls holds and the command
 * does not
 *
 * Theory of operation: a child of ours per secret writes the value into a pipe, from
 * the credential store (cloche-secret), a variable, a file or a command. cloche-tls has
 * the other ends. It answers with a placeholder for each value and with the certificate
 * of an authority that it made for this run; this process never reads a value that
 * was not in its environment.
 */

#include "run/run-secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "gate/local-url.h"
#include "gate/tls-wire.h"
#include "ipc/helper-program.h"
#include "ipc/socket.h"
#include "plan/network.h"
#include "plan/plan.h"
#include "policy/host.h"
#include "policy/policy.h"
#include "policy/schema.h"
#include "report/violation-store.h"
#include "run/options.h"

enum {
	KEY_SIZE = 32, /* Bytes that placeholders are made with */
	BUNDLE_MAX = 4 << 20, /* Bytes of the host's certificates */
	USED_MAX = 4 << 10, /* Bytes of names in the record of a run */
	SHAPE_TEXT_MAX = 16 << 10, /* Of one of them; values are no longer */
	SHAPES_MAX = 256 << 10, /* Bytes of the forms of stored secrets */
	READY_MS = 15000, /* cloche-tls itself waits 10 s for values */
};

static const char program_name[] = "cloche-tls";
static const char key_name[] = "placeholder-key";
static const char shapes_name[] = "placeholder-shapes";

/* Programs that replace the system's list of authorities by one of these get the
 * whole bundle; NODE_EXTRA_CA_CERTS and DENO_CERT add to theirs
 */
static const char *const bundle_variables[] = {
	"SSL_CERT_FILE",       "REQUESTS_CA_BUNDLE",
	"CURL_CA_BUNDLE",      "PIP_CERT",
	"GIT_SSL_CAINFO",      "AWS_CA_BUNDLE",
	"CARGO_HTTP_CAINFO",   "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
	"NIX_SSL_CERT_FILE",   "BUNDLE_SSL_CA_CERT",
	"NODE_EXTRA_CA_CERTS", "DENO_CERT",
};

/* Settings may bind a secret that is not there today; an option asks for it */
static bool is_option(const struct list_rule *rule)
{
	return rule->origin.source &&
	       rule->origin.source->scope == SCOPE_FLAG &&
	       !(rule->detail && strstr(rule->detail, "\"optional\""));
}

/* Where the value of secret number @row is, as --secret-from has it, or NULL */
static const char *source_of(const struct policy *policy,
			     const struct run_secrets *s, size_t row)
{
	const struct list_rules *list = &policy->lists[LIST_SECRET_SOURCES];
	const char *name = s->bound.v[row].name;
	const size_t n = strlen(name);
	const char *source = NULL;

	for (size_t i = 0; i < s->masked.len; i++) {
		if (s->masked.v[i].row == row)
			return s->masked.v[i].source;
	}
	/* The first that settings have, unless an option says otherwise */
	for (size_t i = list->len; i-- > 0;) {
		if (!strncmp(list->v[i].text, name, n) &&
		    list->v[i].text[n] == '=') {
			source = list->v[i].text + n + 1;
			if (is_option(&list->v[i]))
				break;
		}
	}
	return source;
}

static bool starts_with(const char *text, const char *prefix)
{
	return text && !strncmp(text, prefix, strlen(prefix));
}

static int check_sources(const struct policy *policy, struct err *err)
{
	const struct list_rules *list = &policy->lists[LIST_SECRET_SOURCES];

	for (size_t i = 0; i < list->len; i++) {
		const char *equals = strchr(list->v[i].text, '=');
		const char *from = equals ? equals + 1 : NULL;

		if (!starts_with(from, "env:") && !starts_with(from, "file:") &&
		    !starts_with(from, "command:"))
			return fail(
				err, -EINVAL,
				"--secret-from: write NAME=env:VARIABLE, NAME=file:PATH or NAME=command:LINE");
	}
	return 0;
}

static int open_state(struct err *err)
{
	auto_free char *state = violation_store_default_dir();
	const int dir = state ? fs_open_private_dir(state, err) : -ENOENT;

	return dir < 0 ? fail(err, dir, "--secret needs the state directory")
		       : dir;
}

/* Forms of stored secrets: what a placeholder is made from before the value is read */
static json_t *read_shapes(void)
{
	auto_close int dir = open_state(NULL);
	auto_buf struct buf text = { 0 };
	json_t *shapes = NULL;

	if (dir >= 0 && !fs_read(dir, shapes_name, SHAPES_MAX, &text, NULL))
		shapes = json_parse(buf_str(&text), text.len, shapes_name, NULL);
	return json_is_object(shapes) ? shapes : json_object();
}

static void keep_shape(struct run_secrets *s, size_t row, const char *text,
		       size_t n)
{
	auto_close int dir = open_state(NULL);
	auto_free char *all = NULL;

	if (row >= BOUND_SECRETS_MAX || row >= s->bound.len)
		return;
	json_object_set_new(s->shapes, s->bound.v[row].name,
			    json_stringn(text, n));
	all = json_dumps(s->shapes, JSON_COMPACT | JSON_SORT_KEYS);
	if (dir >= 0 && all && strlen(all) < SHAPES_MAX)
		(void)fs_replace(dir, shapes_name, all, strlen(all), 0600, NULL);
}

/* The key of this user's placeholders, as hexadecimal digits; made when it is needed
 * first. With it a placeholder can be recognised, and nothing else.
 */
static int read_key(char ret[2 * KEY_SIZE + 1], struct err *err)
{
	auto_close int dir = open_state(err);
	auto_buf struct buf text = { 0 };
	uint8_t bytes[KEY_SIZE];

	if (dir < 0)
		return dir;
	if (!fs_read(dir, key_name, 2 * KEY_SIZE, &text, NULL) &&
	    text.len == 2 * (size_t)KEY_SIZE) {
		memcpy(ret, text.p, 2 * KEY_SIZE);
		ret[2 * KEY_SIZE] = '\0';
		return 0;
	}
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return fail_errno(err, "cannot make a key");
	text_hex(bytes, sizeof(bytes), ret);
	return fs_replace(dir, key_name, ret, 2 * KEY_SIZE, 0600, err);
}

/* Which requests may carry it, as the settings say (policy/apply.c) */
static void limit(const struct list_rule *rule, struct bound_secret *secret)
{
	const struct {
		const char *key;
		char **value;
	} parts[] = {
		{ "header", &secret->header },
		{ "method", &secret->method },
		{ "path", &secret->path },
		{ "url", &secret->url },
	};
	auto_json json_t *root = rule->detail ? json_loads(rule->detail, 0, NULL)
					      : NULL;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const char *text =
			json_get_text(root, parts[i].key);

		if (text)
			*parts[i].value = mem_strdup(text);
	}
}

/* Append the secret @name, which is taken over, bound to @hosts, commas between. The
 * beginning of its row in the configuration.
 */
static json_t *add_secret(struct run_secrets *s, char *name, const char *hosts,
			  struct err *err)
{
	struct bound_secret *secret = vec_push(&s->bound);
	json_t *list = json_array();

	secret->name = name;
	secret->hosts = mem_zalloc(BOUND_HOSTS_MAX * sizeof(char *));
	secret->patterns = mem_zalloc(BOUND_HOSTS_MAX * sizeof(void *));
	while (*hosts && secret->n_hosts < BOUND_HOSTS_MAX) {
		const size_t n = strcspn(hosts, ",");
		auto_free char *one = mem_strndup(hosts, n);
		struct host_pattern *pattern =
			host_pattern_new(one, false, err);

		hosts += n + (hosts[n] == ',');
		if (!pattern)
			break;
		json_array_append_new(list, json_string(one));
		secret->patterns[secret->n_hosts] = pattern;
		secret->hosts[secret->n_hosts++] = take_ptr(one);
	}
	return json_pack("{s:o, s:o}", "name", json_text(name), "hosts", list);
}

/* What settings mask, behind the secrets; without a row it stays hidden */
static void add_masked(const struct policy *policy, struct run_secrets *s,
		       json_t *rows, struct err *err)
{
	masked_texts_find(policy, &s->masked);
	for (size_t i = 0; i < s->masked.len; i++) {
		struct masked_text *text = &s->masked.v[i];
		json_t *row;

		text->row = s->bound.len;
		if (!*text->hosts || text->row == BOUND_SECRETS_MAX) {
			text->row = SIZE_MAX;
			*vec_push(&s->notes) = mem_printf(
				"'%s' is masked and stays hidden: %s",
				text->label,
				*text->hosts
					? "there are too many secrets"
					: "injectHosts must name some of the allowed hosts");
			continue;
		}
		row = add_secret(s, mem_strdup(text->label), text->hosts, err);
		s->bound.v[text->row].masked = true;
		json_object_set_new(row, "optional", json_true());
		json_object_set_new(row, "mask",
				    json_loads(text->mask, 0, NULL));
		json_array_append_new(rows, row);
	}
}

/* Where its value is, and how long that is good */
static void add_source(const struct policy *policy, struct run_secrets *s,
		       const struct list_rule *rule, json_t *row)
{
	const size_t i = s->bound.len - 1;
	const char *name = s->bound.v[i].name;
	const char *from = source_of(policy, s, i);
	auto_json json_t *detail =
		rule->detail ? json_loads(rule->detail, 0, NULL) : NULL;
	uint64_t ttl;

	if (!schema_number(TYPE_DURATION, json_object_get(detail, "ttl"), &ttl))
		json_object_set_new(row, "ttl", json_integer((json_int_t)ttl));
	/* A variable is read anyway, and can be missing the next time */
	if (!from && !getenv(name)) {
		json_object_set_new(row, "stored", json_true());
		json_object_set(row, "shape", json_object_get(s->shapes, name));
	}
}

/* @policy's secrets into @s, and as the configuration for cloche-tls */
static json_t *describe(const struct policy *policy, struct run_secrets *s,
			struct err *err)
{
	const struct list_rules *list = &policy->lists[LIST_SECRETS];
	json_t *secrets = json_array();

	for (size_t i = 0; i < list->len; i++) {
		const char *at = strchr(list->v[i].text, '@');
		char *name = mem_strndup(list->v[i].text,
					 (size_t)(at - list->v[i].text));
		json_t *row = add_secret(s, name, at + 1, err);
		struct bound_secret *secret = &s->bound.v[s->bound.len - 1];

		limit(&list->v[i], secret);
		json_object_update_new(
			row, json_pack("{s:b, s:s*, s:s*, s:s*, s:s*}",
				       "optional", !is_option(&list->v[i]),
				       "header", secret->header, "method",
				       secret->method, "path", secret->path,
				       "url", secret->url));
		add_source(policy, s, &list->v[i], row);
		json_array_append_new(secrets, row);
	}
	add_masked(policy, s, secrets, err);
	return secrets;
}

static void run_program(int socket, const void *arg)
{
	char number[16];
	char *const argv[] = { (char *)(uintptr_t)program_name, number, NULL };
	char *const none[] = { NULL };

	(void)arg;
	snprintf(number, sizeof(number), "%d", socket);
	(void)fcntl(socket, F_SETFD, 0);
	(void)helper_program_exec(program_name, argv, none);
	_exit(127);
}

static json_t *list_authorities(const struct policy *policy)
{
	const struct list_rules *list = &policy->lists[LIST_SECRET_CAS];
	json_t *paths = json_array();

	for (size_t i = 0; i < list->len; i++)
		json_array_append_new(paths, json_text(list->v[i].text));
	return paths;
}

/* Pairs whose variables are not masked sign nothing */
static bool has_secret(const struct run_secrets *s, const char *name)
{
	for (size_t i = 0; i < s->bound.len; i++) {
		if (!strcmp(s->bound.v[i].name, name))
			return true;
	}
	return false;
}

static json_t *list_pairs(const struct policy *policy, struct run_secrets *s)
{
	static const char *const slots[] = { "accessKeyIdVar",
					     "secretAccessKeyVar",
					     "sessionTokenVar" };
	const struct list_rules *list = &policy->lists[LIST_AWS_PAIRS];
	json_t *pairs = json_array();

	for (size_t i = 0; i < list->len; i++) {
		json_t *pair = json_loads(list->v[i].text, 0, NULL);

		for (size_t k = 0; k < ARRAY_SIZE(slots); k++) {
			const char *name = json_get_text(pair, slots[k]);

			if (name && getenv(name) && !has_secret(s, name))
				*vec_push(&s->notes) = mem_printf(
					"credentials.awsPairs: '%s' must be a variable that credentials.envVars masks",
					name);
		}
		json_array_append_new(pairs, pair);
	}
	return pairs;
}

static int send_config(const struct policy *policy, struct run_secrets *s,
		       json_t *secrets, int gate_end, struct err *err)
{
	char key[2 * KEY_SIZE + 1];
	const struct tls_message m = { .kind = TLS_CONFIG };
	const char *sigv4 = policy->texts[TEXT_SIGV4].value;
	auto_json json_t *root = NULL;
	auto_free char *text = NULL;
	auto_buf struct buf out = { 0 };
	int fds[BOUND_SECRETS_MAX + 1] = { gate_end };
	size_t n = 1;
	int r = read_key(key, err);

	root = json_pack("{s:o, s:o, s:s, s:o, s:o, s:o*}", "secrets", secrets,
			 "project",
			 json_text(policy->project ? policy->project
						   : policy->cwd),
			 "key", key, "cas", list_authorities(policy), "pairs",
			 list_pairs(policy, s), "sigv4",
			 json_loads(sigv4 ? sigv4 : "{}", 0, NULL));
	text = json_dumps(root, JSON_COMPACT);
	buf_add(&out, &m, sizeof(m));
	buf_adds(&out, text ? text : "");
	for (size_t i = 0; !r && i < s->bound.len; i++) {
		const char *name = s->bound.v[i].name;
		const char *from = source_of(policy, s, i);

		s->from[i] = from ? mem_strdup(from) : NULL;
		/* What has a form is read when it is needed */
		fds[n] = json_object_get(json_array_get(secrets, i), "shape")
				 ? open("/dev/null", O_RDONLY | O_CLOEXEC)
				 : secret_source_open(name, from,
						      &s->sources[i]);
		if (fds[n] < 0)
			r = fail(err, fds[n],
				 "secret '%s': cannot start its source", name);
		else
			n++;
	}
	if (!r && socket_send(s->program.socket, out.p, out.len, fds, n) < 0)
		r = fail(err, -EPIPE,
			 "%s does not start; is it installed beside cloche?",
			 program_name);
	for (size_t i = 1; i < n; i++)
		close_fd(&fds[i]);
	return r;
}

static int take_answer(struct run_secrets *s, const char *text, size_t n,
		       struct buf *pem, struct err *err)
{
	auto_json json_t *root = json_parse(text, n, program_name, err);
	const json_t *list = json_object_get(root, "placeholders");
	const json_t *parts = json_object_get(root, "parts");
	const json_t *notes = json_object_get(root, "notes");
	const size_t n_parts = json_array_size(parts);
	int r = root && json_array_size(list) == s->bound.len + n_parts
			? 0
			: fail(err, -EPROTO, "%s sent an answer that cannot be parsed",
			       program_name);

	for (size_t i = 0; !r && i < n_parts; i++)
		(void)bound_secrets_add_like(
			&s->bound,
			(size_t)json_integer_value(json_array_get(parts, i)));
	for (size_t i = 0; !r && i < s->bound.len; i++) {
		const char *placeholder = json_string_value(json_array_get(list, i));

		if (placeholder)
			s->bound.v[i].placeholder = mem_strdup(placeholder);
	}
	for (size_t i = 0; !r && i < json_array_size(notes); i++)
		*vec_push(&s->notes) =
			mem_strdup(json_string_value(json_array_get(notes, i)));
	if (!r)
		buf_adds(pem, json_get_text(root, "ca"));
	return r;
}

/* What is shown inside, and forms of secrets, come before the answer: true for those */
static bool take_part(struct run_secrets *s, const struct tls_message *m,
		      const char *text, size_t n)
{
	switch (m->kind) {
	case TLS_SHOWN:
		masked_texts_show(&s->masked, m->id, text, n);
		return true;
	case TLS_SHAPE:
		keep_shape(s, m->id, text, n);
		return true;
	case TLS_JAVA:
		buf_add(&s->java, text, n);
		return s->java.len <= BUNDLE_MAX;
	default:
		return false;
	}
}

static int receive_answer(struct run_secrets *s, struct buf *pem,
			  struct err *err)
{
	struct {
		struct tls_message m;
		char text[TLS_TEXT_MAX + 1];
	} *in = mem_zalloc(sizeof(*in));
	struct pollfd p = { .fd = s->program.socket, .events = POLLIN };
	size_t none = 0, n = 0;
	ssize_t got = 0;
	int r = 0;

	do {
		got = 0;
		if (poll(&p, 1, READY_MS) == 1)
			got = socket_recv(s->program.socket, in,
					  sizeof(*in) - 1, NULL, &none);
		n = got < (ssize_t)sizeof(in->m) ? 0
						 : (size_t)got - sizeof(in->m);
	} while (n && take_part(s, &in->m, in->text, n));
	in->text[n] = '\0';
	if (!n)
		r = fail(
			err, -EPROTO,
			"%s is not there, or ended; is it installed beside cloche? (it needs OpenSSL 3: libssl.so.3)",
			program_name);
	else if (in->m.kind == TLS_FAILED)
		r = fail(err, -EIO, "%s", in->text);
	else
		r = take_answer(s, in->text, n, pem, err);
	free(in);
	return r;
}

/* The certificates of the user, else of the system, and the one of this run */
static int make_bundle(struct run_secrets *s, char *const *environ_,
		       struct err *err)
{
	const char *own = env_lookup(environ_, "SSL_CERT_FILE");
	auto_buf struct buf text = { 0 };
	/* Read while cloche-tls prepares itself */
	int r = fs_read(AT_FDCWD, own && *own ? own : RUN_SECRETS_BUNDLE,
			BUNDLE_MAX, &text, err);

	if (r < 0)
		return fail_in(err, r, "the system's certificates");
	buf_addc(&text, '\n');
	r = receive_answer(s, &text, err);
	s->bundle = buf_take(&text);
	return r;
}

/* Where the command finds the host of @secret without TLS: 0, or -EINVAL */
static int set_url(struct policy *policy, const struct bound_secret *secret,
		   struct origin origin, struct err *err)
{
	const size_t n = secret->url ? strcspn(secret->url, "/") : 0;
	auto_free char *entry = NULL;
	struct host host;

	if (!n || !secret->placeholder)
		return 0;
	if (!local_url_host(secret, &host))
		return fail(err, -EINVAL,
			    "secret '%s': \"url\" needs a first host without *",
			    secret->name);
	entry = mem_printf("%.*s=" NETWORK_HTTP_URL LOCAL_URL_PREFIX "%s%s",
			   (int)n, secret->url, secret->name, secret->url + n);
	return policy_add_string(policy, LIST_ENV_SET, entry, origin, err);
}

static int set_variables(struct policy *policy, struct run_secrets *s,
			 struct err *err)
{
	const struct origin origin = origin_make(
		policy_add_source(policy, SCOPE_FLAG, "--secret", NULL, 0, "/"),
		NULL, NULL);
	int r = 0;

	for (size_t i = 0; !r && i < s->bound.len; i++) {
		const char *text = s->bound.v[i].placeholder;
		auto_free char *entry = mem_printf("%s=%s", s->bound.v[i].name,
						   text ? text : "");

		if (text && !s->bound.v[i].masked)
			(void)policy_add_string(policy, LIST_ENV_SET, entry,
						origin, NULL);
		r = set_url(policy, &s->bound.v[i], origin, err);
	}
	for (size_t i = 0; i < s->masked.len; i++) {
		const struct masked_text *masked = &s->masked.v[i];
		auto_free char *entry = !masked->file.path && masked->file.text
						? mem_printf("%s=%s",
							     masked->label,
							     masked->file.text)
						: NULL;

		if (entry)
			(void)policy_add_string(policy, LIST_ENV_SET, entry,
						origin, NULL);
		else if (masked->file.text)
			*vec_push(&s->shown) = masked->file;
	}
	for (size_t i = 0; i < ARRAY_SIZE(bundle_variables); i++) {
		auto_free char *entry = mem_printf("%s=" RUN_SECRETS_BUNDLE,
						   bundle_variables[i]);

		(void)policy_add_string(policy, LIST_ENV_SET, entry, origin,
					NULL);
	}
	(void)policy_add_string(policy, LIST_ENV_SET, "UV_NATIVE_TLS=1", origin,
				NULL);
	return r;
}

/* Their values were read, or are not waited for any longer: @kill */
static void leave_sources(struct run_secrets *s, bool kill_them)
{
	for (size_t i = 0; i < BOUND_SECRETS_MAX; i++) {
		if (s->sources[i] <= 0)
			continue;
		if (kill_them)
			secret_source_end(s->sources[i]);
		else
			reap_later(s->sources[i]);
		s->sources[i] = 0;
	}
}

bool run_secrets_wanted(const struct policy *policy)
{
	struct masked_texts masked = { 0 };
	bool wanted = policy->lists[LIST_SECRETS].len;

	masked_texts_find(policy, &masked);
	for (size_t i = 0; i < masked.len; i++)
		wanted |= *masked.v[i].hosts != '\0';
	masked_texts_done(&masked);
	return wanted;
}

int run_secrets_start(struct policy *policy, struct run_secrets **ret,
		      struct err *err)
{
	struct run_secrets *s;
	int pair[2], r;
	json_t *secrets;

	*ret = NULL;
	if ((r = check_sources(policy, err)) < 0)
		return r;
	if ((r = socket_pair(pair)) < 0)
		return fail(err, r, "cannot make a socket");
	s = mem_zalloc(sizeof(*s));
	s->program = PROC_NONE;
	s->channel = pair[0];
	(void)fcntl(pair[0], F_SETFL, O_NONBLOCK);
	s->shapes = read_shapes();
	secrets = describe(policy, s, err);
	r = proc_spawn(program_name, 0, run_program, NULL, &s->program);
	if (r < 0) {
		(void)fail(err, r, "cannot start %s", program_name);
		json_decref(secrets);
	} else {
		r = send_config(policy, s, secrets, pair[1], err);
	}
	close_fd(&pair[1]);
	if (r < 0) {
		run_secrets_end(s);
		return r;
	}
	*ret = s;
	return 0;
}

int run_secrets_collect(struct run_secrets *s, struct policy *policy,
			const struct options *options, struct err *err)
{
	int r = make_bundle(s, options_env(options), err);

	if (r < 0)
		return r;
	leave_sources(s, false);
	return set_variables(policy, s, err);
}

/* cloche-tls needs the value of number @row now */
static void send_value(struct run_secrets *s, size_t row)
{
	const struct tls_message m = { .kind = TLS_VALUE, .id = (uint32_t)row };
	auto_close int fd = -1;

	if (row >= BOUND_SECRETS_MAX || row >= s->bound.len)
		return;
	if (s->sources[row] > 0)
		secret_source_end(s->sources[row]);
	s->sources[row] = 0;
	fd = secret_source_open(s->bound.v[row].name, s->from[row],
				&s->sources[row]);
	(void)socket_send(s->program.socket, &m, sizeof(m), &fd, fd >= 0);
}

static int on_program(void *arg)
{
	static struct {
		struct tls_message m;
		char text[SHAPE_TEXT_MAX];
	} in;
	struct run_secrets *s = arg;
	const ssize_t got = recv(s->program.socket, &in, sizeof(in),
				 MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got < (ssize_t)sizeof(in.m))
		loop_remove(s->loop, &s->source);
	else if (in.m.kind == TLS_FETCH)
		send_value(s, in.m.id);
	else if (in.m.kind == TLS_SHAPE)
		keep_shape(s, in.m.id, in.text, (size_t)got - sizeof(in.m));
	return 0;
}

int run_secrets_watch(struct run_secrets *s, struct loop *loop)
{
	if (!s)
		return 0;
	s->loop = loop;
	s->source = (struct loop_source){ s->program.socket, on_program, s };
	return loop_add(loop, &s->source, EPOLLIN);
}

void run_secrets_used(struct run_secrets *s, const char *text, size_t n)
{
	if (s->used.len + n >= USED_MAX)
		return;
	if (s->used.len)
		buf_addc(&s->used, ' ');
	buf_add(&s->used, text, n);
}

void run_secrets_end(struct run_secrets *s)
{
	if (!s)
		return;
	leave_sources(s, true);
	for (size_t i = 0; i < BOUND_SECRETS_MAX; i++)
		free(s->from[i]);
	json_decref(s->shapes);
	proc_end(&s->program, false);
	close_fd(&s->channel);
	bound_secrets_done(&s->bound);
	buf_done(&s->used);
	masked_texts_done(&s->masked);
	free(s->shown.v);
	strings_done(&s->notes);
	free(s->bundle);
	buf_done(&s->java);
	free(s);
}
