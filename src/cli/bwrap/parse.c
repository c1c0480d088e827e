/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bwrap/parse.c - the words of a command line, one option at a time */

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/bwrap/bwrap.h"

enum { CAPABILITY_MAX = 63 };	/* A set has so many bits */

int bwrap_capability(const char *name, unsigned int *ret)
{
	static const char *const names[] = {
#define CAPABILITY(name) name,
#include "cli/bwrap/capabilities.def"
#undef CAPABILITY
	};
	const char *plain = strncasecmp(name, "cap_", 4) ? name : name + 4;
	uint64_t number;

	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcasecmp(names[i], plain)) {
			*ret = i;
			return 0;
		}
	}
	/* Newer kernels have more of them than we have names for */
	if (text_to_u64(name, CAPABILITY_MAX, &number) < 0)
		return -EINVAL;
	*ret = (unsigned int)number;
	return 0;
}

static const struct bwrap_row *find(const char *name)
{
	const struct bwrap_row *row = bwrap_table();

	while (row->name && strcmp(row->name, name) != 0)
		row++;
	return row->name ? row : NULL;
}

static int few_words(const struct bwrap_row *row, struct err *err)
{
	static const char *const counts[] = {
		"", "an argument", "two arguments", "three arguments",
	};

	return fail(err, -EINVAL, "%s takes %s", row->name,
		    counts[row->count]);
}

static bool is_path(const char *kind, size_t n)
{
	static const char *const kinds[] = {
		"SRC", "DEST", "DIR", "PATH", "RWSRC", "WORKDIR",
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strlen(kinds[i]) == n && !memcmp(kinds[i], kind, n))
			return true;
	}
	return false;
}

/* A variable that was not set, more likely than a wish for the root */
static int check_paths(const struct bwrap_row *row, char *const *words,
		       struct err *err)
{
	const char *kind = row->words;

	for (int i = 0; i < row->count; i++) {
		const size_t n = strcspn(kind, " ");

		if (!*words[i] && is_path(kind, n))
			return fail(err, -EINVAL, "%s does not take an empty path argument",
				    row->name);
		kind += n + strspn(kind + n, " ");
	}
	return 0;
}

/* --perms, --size and --overlay-src speak of the option behind them; one that
 * has no use for them is not it
 */
static int check_modifiers(const struct bwrap *b, const char *name,
			   struct err *err)
{
	const bool modifies = !strcmp(name, "--perms") ||
			      !strcmp(name, "--size");

	if (!modifies && b->perms >= 0)
		return fail(err, -EINVAL, "--perms must be followed by an option that creates a file");
	if (!modifies && b->size)
		return fail(err, -EINVAL, "--size must be followed by --tmpfs");
	if (strcmp(name, "--overlay-src") != 0 && b->layers)
		return fail(err, -EINVAL, "--overlay-src must be followed by another --overlay-src or one of --overlay, --tmp-overlay, or --ro-overlay");
	return 0;
}

static int read_option(struct bwrap *b, char *const *words, size_t n,
		       size_t *used, struct err *err)
{
	const struct bwrap_row *row = find(words[*used]);
	int r;

	if (!row)
		return fail(err, -EINVAL, "Unknown option %s", words[*used]);
	if (n - *used - 1 < (size_t)row->count)
		return few_words(row, err);
	r = check_paths(row, words + *used + 1, err);
	if (r == 0)
		r = row->set(b, row, words + *used + 1, err);
	*used += (size_t)row->count + 1;
	return r < 0 || b->asked ? r : check_modifiers(b, row->name, err);
}

int bwrap_read(struct bwrap *b, char *const *words, size_t n, size_t *ret_used,
	       struct err *err)
{
	size_t used = 0;
	int r = 0;

	*ret_used = 0;
	b->words += n;
	if (b->words > BWRAP_WORDS_MAX)
		return fail(err, -E2BIG, "Exceeded maximum number of arguments %u",
			    BWRAP_WORDS_MAX);
	while (r == 0 && !b->asked && used < n && words[used][0] == '-') {
		if (!strcmp(words[used], "--")) {
			used++;
			break;
		}
		r = read_option(b, words, n, &used, err);
	}
	if (r == 0 && !b->asked && b->layers)
		r = check_modifiers(b, "", err);
	*ret_used = used;
	return r;
}

int bwrap_parse(struct bwrap *b, char *const *words, char *const *env,
		uint64_t caps, struct err *err)
{
	size_t n = 0, used;
	int r;

	*b = (struct bwrap){ .perms = -1 };
	frame_init(&b->frame, env);
	b->frame.caps = caps;
	while (words[n])
		n++;
	r = bwrap_read(b, words, n, &used, err);
	b->frame.argv = words + used;
	return r < 0 ? r : b->asked;
}
