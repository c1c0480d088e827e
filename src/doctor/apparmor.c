/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/apparmor.c - the profile that lets cloche make user namespaces
 *
 * It confines nothing: AppArmor's restriction is on programs without a profile,
 * and what cloche runs is confined by cloche. `make install` puts the same text
 * with the place of the installed program.
 */

#include "base/buf.h"
#include "doctor/doctor.h"
#include "installed.h"

/* A path in a profile: quoted, with what is a pattern there escaped */
static void add_path(struct buf *out, const char *path)
{
	buf_addc(out, '"');
	for (; *path; path++) {
		switch (*path) {
		case '"': case '\\': case '*': case '?': case '[': case ']':
		case '{': case '}': case '^': case '@': case ',':
			buf_addc(out, '\\');
			break;
		default:
			break;
		}
		buf_addc(out, *path);
	}
	buf_addc(out, '"');
}

static void add_rules(struct buf *out)
{
	buf_adds(out,
		 " flags=(unconfined) {\n"
		 "  userns,\n"
		 "  include if exists <local/cloche>\n"
		 "}\n");
}

void doctor_print_apparmor(const char *path, struct buf *out)
{
	buf_adds(out,
		 "# AppArmor profile of cloche: it may make user namespaces, in which it\n"
		 "# confines what it runs. Put it at /etc/apparmor.d/cloche and load it with\n"
		 "# \"apparmor_parser -r /etc/apparmor.d/cloche\".\n"
		 "abi <abi/4.0>,\n"
		 "include <tunables/global>\n"
		 "\n"
		 "profile cloche ");
	add_path(out, path);
	add_rules(out);
	/* A program of its own, and AppArmor goes by the path */
	buf_adds(out, "\nprofile cloche-bwrap ");
	add_path(out, CLOCHE_LIBEXECDIR "/drop-in/bwrap");
	add_rules(out);
}
