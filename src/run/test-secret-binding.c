/* SPDX-License-Identifier: Apache-2.0 */
/* run/test-secret-binding.c - what binding a secret adds to a policy */

#include "run/run-secrets.h"

#include <errno.h>

#include "base/err.h"
#include "policy/policy.h"
#include "test.h"

static int expand(struct policy *policy, const char *const *texts,
		  struct err *err)
{
	const struct origin origin = origin_make(
		policy_add_source(policy, SCOPE_FLAG, "--secret", NULL, 0, "/"),
		NULL, NULL);

	for (; *texts; texts++)
		CHECK_INT(policy_add_string(policy, LIST_SECRETS, *texts,
					    origin, err),
			  0);
	return secret_bindings_expand(policy, err);
}

#define EXPAND(policy, err, ...) \
	expand(policy, (const char *const[]){ __VA_ARGS__, NULL }, err)

TEST(a_name_is_bound_once_with_all_its_hosts)
{
	auto_policy struct policy *policy = policy_new("/p", "/home/u");
	const struct list_rules *list = &policy->lists[LIST_SECRETS];
	struct err err = { 0 };

	CHECK_INT(EXPAND(policy, &err, "A@one.test", "B@two.test",
			 "A@*.three.test,four.test"),
		  0);
	CHECK_INT(list->len, 2);
	CHECK_STR(list->v[0].text, "A@one.test,*.three.test,four.test");
	CHECK_STR(list->v[1].text, "B@two.test");
	for (const char *const *h =
		     (const char *const[]){ "one.test", "two.test",
					    "*.three.test", "four.test", NULL };
	     *h; h++)
		CHECK(policy_has_string(policy, HOST_ALLOW, *h));
}

TEST(a_service_name_expands_to_its_variable_and_hosts)
{
	auto_policy struct policy *policy = policy_new("/p", "/home/u");
	const struct list_rules *list = &policy->lists[LIST_SECRETS];
	struct err err = { 0 };

	CHECK_INT(EXPAND(policy, &err, "github", "OPENAI_API_KEY"), 0);
	CHECK(!strncmp(list->v[0].text, "GITHUB_TOKEN@github.com,", 24));
	CHECK_STR(list->v[1].text, "OPENAI_API_KEY@api.openai.com");
}

TEST(a_binding_cannot_extend_the_managed_list_of_hosts)
{
	auto_policy struct policy *policy = policy_new("/p", "/home/u");
	struct err err = { 0 };

	policy_set_flag(policy, FLAG_MANAGED_DOMAINS_ONLY, true,
			origin_make(policy_add_source(policy, SCOPE_MANAGED,
						      "m", NULL, 0, "/"),
				    NULL, NULL));
	CHECK_INT(EXPAND(policy, &err, "A@one.test"), 0);
	CHECK(!policy_has_string(policy, HOST_ALLOW, "one.test"));
}

TEST(malformed_bindings_are_refused)
{
	static const char *const wrong[] = {
		"A",	       "A@",	      "A=v@one.test",
		"@one.test",   "1A@one.test", "A-B@one.test",
		"A@127.0.0.1", "A@[::1]",     "A@one.test,,two.test",
		"A@*",	       "A@one test",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		auto_policy struct policy *policy = policy_new("/p", "/home/u");
		struct err err = { 0 };

		if (EXPAND(policy, &err, "B@two.test", wrong[i],
			   "C@three.test") == 0)
			test_fail(__FILE__, __LINE__, "'%s' is taken",
				  wrong[i]);
		CHECK_INT(policy->lists[LIST_SECRETS].len, 3);
	}
}

TEST(an_aws_binding_covers_three_variables)
{
	auto_policy struct policy *policy = policy_new("/p", "/home/u");
	const struct list_rules *list = &policy->lists[LIST_SECRETS];
	struct err err = { 0 };

	CHECK_INT(EXPAND(policy, &err, "aws@sts.test"), 0);
	CHECK_INT(list->len, 3);
	CHECK_STR(list->v[0].text, "AWS_ACCESS_KEY_ID@sts.test");
	CHECK_STR(list->v[1].text, "AWS_SECRET_ACCESS_KEY@sts.test");
	CHECK_STR(list->v[2].text, "AWS_SESSION_TOKEN@sts.test");
	CHECK(list->v[2].detail && !list->v[1].detail);
}

TEST(an_aws_binding_requires_hosts)
{
	auto_policy struct policy *policy = policy_new("/p", "/home/u");
	struct err err = { 0 };

	CHECK_INT(EXPAND(policy, &err, "aws"), -EINVAL);
}
