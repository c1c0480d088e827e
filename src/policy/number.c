/* SPDX-License-Identifier: Apache-2.0 */
/* policy/number.c - numbers as settings write them */

#include "policy/number.h"

#include <errno.h>

#include "base/text.h"

static int whole(const json_t *value, uint64_t max, uint64_t *ret)
{
	const json_int_t n = json_integer_value(value);

	if (!json_is_integer(value) || n < 1 || (uint64_t)n > max)
		return -EINVAL;
	*ret = (uint64_t)n;
	return 0;
}

static int duration(const json_t *value, uint64_t *ret)
{
	const double seconds = json_number_value(value);

	if (json_is_string(value))
		return text_to_duration_ms(json_string_value(value), ret) < 0 ?
		       -EINVAL : 0;
	/* A year is longer than anybody waits */
	if (!json_is_number(value) || seconds < 0.001 || seconds > 366 * 86400)
		return -EINVAL;
	*ret = (uint64_t)(seconds * 1000);
	return 0;
}

int number_of(enum setting_type type, const json_t *value, uint64_t *ret)
{
	switch (type) {
	case TYPE_COUNT:
		return whole(value, INT32_MAX, ret);
	case TYPE_PORT:
		return whole(value, UINT16_MAX, ret);
	case TYPE_DEPTH:
		return whole(value, 10, ret);
	case TYPE_SIZE:
		if (json_is_string(value))
			return text_to_size(json_string_value(value), ret) < 0 ?
			       -EINVAL : 0;
		return whole(value, INT64_MAX, ret);
	case TYPE_DURATION:
		return duration(value, ret);
	default:
		return -EINVAL;
	}
}
