/* SPDX-License-Identifier: Apache-2.0 */
/* tls/test-scrub.c - an echoed value is replaced by its placeholder */

#include "tls/scrub.h"

#include "base/own.h"
#include "gate/bound-secret.h"
#include "test.h"

static const char value[] = "s3cr3t-Value-0x";
static const char fake[] = "PLACE-holder-1y";

/* @text scrubbed, handed over in two pieces */
static const char *scrubbed(const char *text, size_t cut)
{
	static struct buf out;
	struct scrub s = { 0 };

	buf_done(&out);
	scrub_add(&s, value, fake, sizeof(value) - 1);
	scrub_add(&s, value, fake, sizeof(value) - 1);
	CHECK_INT(s.len, SCRUB_FORMS);
	scrub_step(&s, text, cut, false, &out);
	scrub_step(&s, text + cut, strlen(text) - cut, false, &out);
	scrub_step(&s, NULL, 0, true, &out);
	scrub_done(&s);
	return buf_str(&out);
}

TEST(a_value_split_at_any_byte_is_replaced)
{
	static const char text[] =
		"you sent s3cr3t-Value-0x; s3cr3t-Value-0xs3cr3t-Value-0x!";

	for (size_t cut = 0; cut < sizeof(text); cut++)
		CHECK_STR(
			scrubbed(text, cut),
			"you sent PLACE-holder-1y; PLACE-holder-1yPLACE-holder-1y!");
}

TEST(base64_of_a_value_is_replaced_at_every_alignment)
{
	static const char *const before[] = { "", "u", "us", "user:" };

	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		char plain[64], real[128], expected[128];

		snprintf(plain, sizeof(plain), "%s%s!", before[i], value);
		base64_encode(plain, strlen(plain), real);
		CHECK(!strstr(scrubbed(real, 5), "czNjcjN0"));
		/* What the value shares with its neighbours may stay */
		snprintf(plain, sizeof(plain), "%s%s!", before[i], fake);
		base64_encode(plain, strlen(plain), expected);
		CHECK_INT(strlen(scrubbed(real, 5)), strlen(expected));
		CHECK(!memmem(scrubbed(real, 7), strlen(real), real + 8, 12));
	}
}

TEST(other_text_is_not_scrubbed)
{
	CHECK_STR(scrubbed("s3cr3t-Value-0", 3), "s3cr3t-Value-0");
	CHECK_STR(scrubbed("", 0), "");
	CHECK_STR(scrubbed("S3CR3T-VALUE-0X", 4), "S3CR3T-VALUE-0X");
}
