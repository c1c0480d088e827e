/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/cmd-events.c - cloche events export: records to the collector that a fleet has
 *
 * Theory of operation: a cursor file says how far the record store was exported. A batch
 * of records is read behind it and delivered; only then the cursor is replaced, so that a
 * record is delivered once more if the exporter is killed in between, and never left out.
 * Its id tells the copies apart. Counters of Prometheus stand in the cursor file itself and
 * change with it. No run knows of any of this.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/terminal.h"
#include "cli/command-line.h"
#include "cli/http-post.h"
#include "report/event.h"
#include "report/violation-store.h"

enum {
	BATCH_RECORDS = 1000,		/* Delivered at once, and */
	BATCH_BYTES = 2 << 20,		/* so many bytes of lines at most */
	CURSOR_BYTES = 64 << 10,	/* A cursor file is smaller */
	SEND_SECONDS = 10,		/* journald must take a datagram within, and answer */
	SYNC_BYTES = 256,		/* Of that answer */
	TIMEOUT_MS = 10000,		/* The default of OTEL_EXPORTER_OTLP_TIMEOUT */
	RETRY_MS = 250,			/* The first wait for a collector, doubled up to */
	RETRY_MS_MAX = 60000,
};

struct export;

/**
 * struct format - One row for --format
 * @deliver:	Send the batch; 0, or a negative errno with a message: it is sent again
 */
struct format {
	const char *name;
	int (*deliver)(struct export *x, struct err *err);
};

/**
 * struct export - One call of the verb
 * @to:		Where to, or NULL for the default of the format
 * @output:	A file, or NULL
 * @dir, @name:	The cursor file
 * @lock:	Held as long as this export uses the cursor
 * @counts:	For Prometheus, of everything up to @cursor
 * @batch:	Records behind @cursor, up to @next
 * @retry_ms:	The collector asks to be left alone for so long
 */
struct export {
	const struct format *format;
	const char *to, *output;
	char host[HOST_NAME_MAX + 1];
	int dir, lock;
	char *name;
	struct store_cursor cursor, next;
	json_t *counts;
	struct { struct event *v; size_t len, cap; } batch;
	size_t bytes;
	int64_t retry_ms;
};

/* A socket on which no call waits longer than SEND_SECONDS; or -1 with errno */
static int connect_to(const char *path, int type)
{
	auto_close int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	const struct timeval most = { .tv_sec = SEND_SECONDS };
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(to.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(to.sun_path, path, strlen(path));
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most)) < 0 ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return -1;
	return take_fd(&fd);
}

/* A datagram that journald has not read when it ends is lost. On the socket beside its
 * own, which is root's, it answers when all that came before is written: then the batch was
 * delivered. Others cannot know.
 */
static int sync_journal(const char *path, struct err *err)
{
	static const char call[] = "{\"method\":\"io.systemd.Journal.Synchronize\"}";
	auto_free char *beside = mem_printf("%.*sio.systemd.journal",
					    (int)(path_base(path) - path), path);
	auto_close int fd = connect_to(beside, SOCK_STREAM);
	char answer[SYNC_BYTES];
	ssize_t n = 0;

	if (fd < 0 && (errno == ENOENT || errno == EACCES || errno == ENAMETOOLONG))
		return 0;
	if (fd >= 0 && send(fd, call, sizeof(call), MSG_NOSIGNAL) == (ssize_t)sizeof(call))
		n = recv(fd, answer, sizeof(answer), 0);
	if (n <= 0 || memmem(answer, (size_t)n, "\"error\"", 7))
		return fail(err, -EAGAIN, "the journal at '%s' does not say that it has written the records",
			    path);
	return 0;
}

static int deliver_journal(struct export *x, struct err *err)
{
	const char *path = x->to ? x->to : "/run/systemd/journal/socket";
	auto_close int fd = connect_to(path, SOCK_DGRAM);

	if (fd < 0)
		return fail_errno(err, "cannot reach the journal at '%s'", path);
	for (size_t i = 0; i < x->batch.len; i++) {
		auto_buf struct buf datagram = { 0 };

		event_to_journal(&x->batch.v[i], &datagram);
		if (send(fd, datagram.p, datagram.len, MSG_NOSIGNAL) < 0)
			return errno == EAGAIN ?
				fail(err, -EAGAIN, "the journal at '%s' takes no records", path) :
				fail_errno(err, "the journal at '%s' takes no records", path);
	}
	return sync_journal(path, err);
}

/* "name=value,name=value", percent-encoded, as lines of a request */
static int read_headers(const char *text, struct buf *out, struct err *err)
{
	while (*text) {
		const char *end = strchrnul(text, ',');
		const char *equals = memchr(text, '=', (size_t)(end - text));

		if (!equals)
			return fail(err, -EINVAL, "OTEL_EXPORTER_OTLP_HEADERS is not NAME=VALUE,...");
		buf_add(out, text, (size_t)(equals - text));
		buf_adds(out, ": ");
		for (const char *c = equals + 1; c < end; c++) {
			const char hex[3] = { c[0] == '%' && end - c > 2 ? c[1] : 0, c[2], 0 };
			char *stop = NULL;
			const char byte = *hex ? (char)strtoul(hex, &stop, 16) : *c;

			if ((unsigned char)byte < ' ' || (stop && *stop))
				return fail(err, -EINVAL, "OTEL_EXPORTER_OTLP_HEADERS holds a character that no header has");
			buf_addc(out, byte);
			c += stop ? 2 : 0;
		}
		buf_adds(out, "\r\n");
		text = *end ? end + 1 : end;
	}
	return 0;
}

/* The address of the logs, as the specification of OpenTelemetry has it */
static char *otlp_url(const struct export *x)
{
	const char *logs = getenv("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT");
	const char *base = x->to ? x->to : getenv("OTEL_EXPORTER_OTLP_ENDPOINT");
	size_t n;

	if (!x->to && logs && *logs)
		return mem_strdup(logs);
	base = base && *base ? base : "http://localhost:4318";
	n = strlen(base);
	while (n && base[n - 1] == '/')
		n--;
	return mem_printf("%.*s/v1/logs", (int)n, base);
}

static uint64_t otlp_timeout(void)
{
	const char *text = getenv("OTEL_EXPORTER_OTLP_TIMEOUT");
	const unsigned long ms = text ? strtoul(text, NULL, 10) : 0;

	return ms ? ms : TIMEOUT_MS;
}

/* A collector that has rejected records says so, and must not get them again */
static void print_rejected(const char *answer)
{
	static const char key[] = "\"rejectedLogRecords\"";
	const char *at = strstr(answer, key);

	at = at ? at + strlen(key) : NULL;
	at = at ? at + strspn(at, " :\"") : NULL;
	if (at && strtoul(at, NULL, 10))
		stderr_line("cloche: the collector has rejected %lu records", strtoul(at, NULL, 10));
}

static int deliver_otlp(struct export *x, struct err *err)
{
	const char *given = getenv("OTEL_EXPORTER_OTLP_HEADERS");
	auto_buf struct buf headers = { 0 }, answer_text = { 0 };
	auto_free char *url = otlp_url(x), *body = NULL;
	struct http_answer_text answer = { .text = &answer_text };
	auto_json json_t *request = NULL;
	json_t *records = json_array();
	int r = read_headers(given ? given : "", &headers, err);

	for (size_t i = 0; i < x->batch.len; i++)
		json_array_append_new(records, event_to_otlp(&x->batch.v[i]));
	request = otlp_request(records, x->host);
	body = json_dumps(request, JSON_COMPACT);
	if (r == 0)
		r = http_post_send(&(struct http_post){
			.url = url, .headers = buf_str(&headers), .body = body,
			.n = strlen(body), .timeout_ms = otlp_timeout() }, &answer, err);
	if (headers.len)
		explicit_bzero(headers.p, headers.len);
	if (r < 0)
		return r;
	x->retry_ms = (int64_t)answer.retry_after * 1000;
	if (answer.status >= 300)
		return fail(err, -EAGAIN, "the collector takes no records: HTTP status %d",
			    answer.status);
	print_rejected(buf_str(&answer_text));
	return 0;
}

static int deliver_ocsf(struct export *x, struct err *err)
{
	auto_close int file = x->output ? open(x->output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
					       0600) : -1;
	auto_buf struct buf text = { 0 };
	int r;

	if (x->output && file < 0)
		return fail_errno(err, "cannot write '%s'", x->output);
	for (size_t i = 0; i < x->batch.len; i++) {
		auto_json json_t *ocsf = event_to_ocsf(&x->batch.v[i], x->host);
		auto_free char *line = json_dumps(ocsf, JSON_COMPACT);

		buf_addf(&text, "%s\n", line);
	}
	r = fs_write_all(x->output ? file : STDOUT_FILENO, text.p, text.len);
	return r < 0 ? fail(err, r, "cannot write '%s': %s",
			    x->output ? x->output : "standard output", strerror(-r)) : 0;
}

/* The counters are stored with the cursor; the file is written from them */
static int deliver_counts(struct export *x, struct err *err)
{
	(void)err;
	for (size_t i = 0; i < x->batch.len; i++)
		event_count(&x->batch.v[i], x->counts);
	return 0;
}

static const struct format formats[] = {
	{ "journal", deliver_journal },
	{ "otlp", deliver_otlp },
	{ "ocsf", deliver_ocsf },
	{ "prometheus", deliver_counts },
	{ NULL, NULL },
};

/* path_parent() is for absolute paths */
static char *directory_of(const char *path)
{
	return strchr(path, '/') ? path_parent(path) : mem_strdup(".");
}

static int write_prometheus(const struct export *x, struct err *err)
{
	auto_free char *parent = directory_of(x->output);
	auto_close int dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_buf struct buf text = { 0 };

	if (dir < 0)
		return fail_errno(err, "cannot open '%s'", parent);
	counts_to_prometheus(x->counts, &text);
	/* Another user's node_exporter reads it: numbers of kinds, and no names */
	return fs_replace(dir, path_base(x->output), text.p, text.len, 0644, err);
}

static int save_cursor(struct export *x, struct err *err)
{
	json_t *files = json_array();
	auto_json json_t *root = NULL;
	auto_free char *text = NULL;

	for (size_t i = 0; i < VIOLATION_STORE_FILES; i++)
		json_array_append_new(files, json_pack("[I, I, I]",
			(json_int_t)x->cursor.files[i].inode, (json_int_t)x->cursor.files[i].born,
			(json_int_t)x->cursor.files[i].offset));
	root = json_pack("{s:i, s:o, s:O}", "version", 1, "files", files, "counts", x->counts);
	text = json_dumps(root, JSON_COMPACT);
	return fs_replace(x->dir, x->name, text, strlen(text), 0600, err);
}

static int parse_cursor(json_t *root, struct export *x)
{
	json_t *files = json_object_get(root, "files"), *counts = json_object_get(root, "counts");

	if (json_integer_value(json_object_get(root, "version")) != 1 ||
	    json_array_size(files) != VIOLATION_STORE_FILES || !json_is_object(counts))
		return -EINVAL;
	for (size_t i = 0; i < VIOLATION_STORE_FILES; i++) {
		json_int_t inode, born, offset;

		if (json_unpack(json_array_get(files, i), "[I, I, I]", &inode, &born, &offset) < 0 ||
		    offset < 0)
			return -EINVAL;
		x->cursor.files[i].inode = (uint64_t)inode;
		x->cursor.files[i].born = (uint64_t)born;
		x->cursor.files[i].offset = (uint64_t)offset;
	}
	json_object_update(x->counts, counts);
	return 0;
}

static int load_cursor(struct export *x, struct err *err)
{
	auto_close int fd = openat(x->dir, x->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	auto_free char *text = mem_zalloc(CURSOR_BYTES);
	auto_json json_t *root = NULL;
	ssize_t n;
	int r;

	if (fd < 0 && errno == ENOENT)
		return 0;
	n = fd < 0 ? -1 : read(fd, text, CURSOR_BYTES - 1);
	if (n < 0)
		return fail_errno(err, "cannot read the cursor '%s'", x->name);
	root = json_parse(text, (size_t)n, x->name, NULL);
	r = root ? parse_cursor(root, x) : -EINVAL;
	return r < 0 ? fail(err, r, "'%s' is not a cursor; without it everything is exported again",
			    x->name) : 0;
}

/* One export for each cursor: two would deliver everything twice */
static int open_cursor(struct export *x, const char *given, const char *state, struct err *err)
{
	auto_free char *path = given ? mem_strdup(given) :
			       mem_printf("%s/export-%s.json", state, x->format->name);
	auto_free char *parent = directory_of(path), *lock = NULL;

	x->dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (x->dir < 0)
		return fail_errno(err, "cannot open '%s'", parent);
	x->name = mem_strdup(path_base(path));
	lock = mem_printf("%s.lock", x->name);
	x->lock = openat(x->dir, lock, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (x->lock < 0)
		return fail_errno(err, "cannot open '%s.lock'", path);
	if (flock(x->lock, LOCK_EX | LOCK_NB) < 0)
		return fail(err, -EBUSY, "another export uses the cursor '%s'; --cursor FILE names one for this",
			    path);
	return load_cursor(x, err);
}

static void clear_batch(struct export *x)
{
	for (size_t i = 0; i < x->batch.len; i++)
		event_done(&x->batch.v[i]);
	x->batch.len = x->bytes = 0;
}

static int batch_line(void *arg, const char *line, size_t n, uint64_t offset)
{
	struct export *x = arg;
	struct event event;

	if (x->batch.len == BATCH_RECORDS || x->bytes > BATCH_BYTES)
		return 1;
	if (event_from_line(line, n, offset, &event) == 0) {
		*vec_push(&x->batch) = event;
		x->bytes += n;
	}
	return 0;
}

/* Read a batch and deliver it: 1 if there is more, 0 if not, or a negative errno */
static int export_batch(struct export *x, struct violation_store *store, struct err *err)
{
	bool lost;
	int more, r;

	clear_batch(x);
	x->next = x->cursor;
	x->retry_ms = 0;
	more = violation_store_read(store, &x->next, batch_line, x, &lost, err);
	if (more < 0)
		return more;
	if (lost)
		stderr_line("cloche: records were dropped from the store before they were exported");
	if (x->batch.len && (r = x->format->deliver(x, err)) < 0)
		return r;
	if (!memcmp(&x->cursor, &x->next, sizeof(x->cursor)))
		return more;
	x->cursor = x->next;
	if ((r = save_cursor(x, err)) < 0)
		return r;
	return more;
}

static int export_all(struct export *x, struct violation_store *store, struct err *err)
{
	int r;

	do
		r = export_batch(x, store, err);
	while (r > 0);
	if (r == 0 && x->format->deliver == deliver_counts)
		r = write_prometheus(x, err);
	return r;
}

/* What is not in the cursor yet is delivered again */
static void end_follower(int number)
{
	(void)number;
	_exit(0);
}

/* Until it is ended: each state of the collector is one line. As process 1 of a container
 * it would not get SIGTERM without a handler.
 */
static int export_for_ever(struct export *x, struct violation_store *store, struct err *err)
{
	auto_close int watch = violation_store_watch(store, err);
	int64_t wait_ms = RETRY_MS;
	bool failing = false;

	(void)signal(SIGTERM, end_follower);
	while (watch >= 0) {
		struct pollfd p = { .fd = watch, .events = POLLIN };
		struct err why = { 0 };
		char events[4096];
		const int r = export_all(x, store, &why);

		if (r == -EINVAL)	/* Waiting does not mend it */
			return fail(err, r, "%s", why.msg);
		if (r < 0) {
			if (!failing)
				stderr_line("cloche: %s; records wait in the store", why.msg);
			wait_ms = wait_ms > x->retry_ms ? wait_ms : x->retry_ms;
			(void)poll(NULL, 0, (int)wait_ms);
			wait_ms = wait_ms * 2 < RETRY_MS_MAX ? wait_ms * 2 : RETRY_MS_MAX;
		} else {
			if (failing)
				stderr_line("cloche: records are delivered again");
			wait_ms = RETRY_MS;
			if (poll(&p, 1, -1) > 0 && read(watch, events, sizeof(events)) < 0)
				return fail_errno(err, "cannot watch the record store");
		}
		failing = r < 0;
	}
	return watch;
}

static int find_format(struct export *x, const char *name, struct err *err)
{
	for (x->format = formats; x->format->name; x->format++) {
		if (!strcmp(x->format->name, name))
			break;
	}
	if (!x->format->name)
		return fail(err, -EINVAL, "--format is journal, otlp, ocsf or prometheus");
	if (x->format->deliver == deliver_counts && !x->output)
		return fail(err, -EINVAL, "--format prometheus needs -o FILE, below the directory of the textfile collector");
	return 0;
}

int cmd_events_export(struct call *call, struct err *err)
{
	struct export x = {
		.to = call_flag(call, "to"), .output = call_flag(call, "output"),
		.dir = -1, .lock = -1, .counts = json_object(),
	};
	const char *format = call_flag(call, "format");
	auto_free char *dir = violation_store_default_dir();
	struct violation_store *store = NULL;
	int r;

	(void)gethostname(x.host, sizeof(x.host) - 1);
	if ((r = find_format(&x, format ? format : "", err)) == 0 &&
	    (r = violation_store_open(true, &store, err)) == 0 &&
	    (r = open_cursor(&x, call_flag(call, "cursor"), dir, err)) == 0)
		r = call_flag(call, "follow") ? export_for_ever(&x, store, err)
					      : export_all(&x, store, err);
	clear_batch(&x);
	free(x.batch.v);
	free(x.name);
	json_decref(x.counts);
	close_fd(&x.dir);
	close_fd(&x.lock);
	violation_store_free(store);
	return r;
}
