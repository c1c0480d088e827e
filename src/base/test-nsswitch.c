/* SPDX-License-Identifier: Apache-2.0 */
/* base/test-nsswitch.c - hosts lines that a static program can serve */

#include "base/nsswitch.h"

#include "test.h"

TEST(nsswitch_with_files_and_dns_is_built_in)
{
	CHECK(nss_is_built_in(""));
	CHECK(nss_is_built_in("passwd: files systemd\n"));
	CHECK(nss_is_built_in("hosts: files dns\n"));
	CHECK(nss_is_built_in("hosts:\tfiles dns # resolve\n"));
	CHECK(nss_is_built_in(" hosts : dns [!UNAVAIL=return] files"));
	CHECK(nss_is_built_in("# hosts: files mdns\nhosts:files\n"));
	CHECK(nss_is_built_in("hostsx: nis\n"));
}

TEST(nsswitch_with_other_modules_is_not_built_in)
{
	CHECK(!nss_is_built_in("hosts: files mdns4_minimal [NOTFOUND=return] dns"));
	CHECK(!nss_is_built_in("hosts: files resolve [!UNAVAIL=return] dns\n"));
	CHECK(!nss_is_built_in("hosts: files dns myhostname\n"));
	CHECK(!nss_is_built_in("hosts: dnsx\n"));
	CHECK(!nss_is_built_in("hosts: files[NOTFOUND=return]nis\n"));
	CHECK(!nss_is_built_in("passwd: files\n\n  hosts:\n\thosts: nis"));
	CHECK(!nss_is_built_in("hosts: files\nhosts: nis\n"));
}
