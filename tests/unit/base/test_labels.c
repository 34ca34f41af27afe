/* SPDX-License-Identifier: Apache-2.0 */
/* Labels, and the texts of OTEL_RESOURCE_ATTRIBUTES and OTEL_EXPORTER_OTLP_HEADERS. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/base/labels.h"

static void
later_values_win(void **state)
{
	struct th_labels labels = {0}, more = {0};

	(void)state;
	th_labels_set(&labels, "a", "1");
	th_labels_set(&labels, "b", "2");
	th_labels_set(&labels, "a", "");
	th_labels_set(&labels, "a", NULL);
	th_labels_set(&labels, "", "3");
	assert_string_equal(th_labels_get(&labels, "a"), "1");
	th_labels_set(&more, "a", "4");
	th_labels_add(&labels, &more);
	assert_int_equal(labels.items_count, 2);
	assert_string_equal(th_labels_get(&labels, "a"), "4");
	assert_string_equal(labels.items[0].key, "a");
	assert_null(th_labels_get(&labels, "c"));
	th_labels_deinit(&more);
	th_labels_deinit(&labels);
}

static void
texts_are_decoded(void **state)
{
	struct th_labels labels = {0};

	(void)state;
	th_labels_parse(&labels, NULL);
	th_labels_parse(&labels, " a = x%20y ,b=1=2,nothing,c=,%64=%zz%4,=e,");
	assert_int_equal(labels.items_count, 3);
	assert_string_equal(th_labels_get(&labels, "a"), "x y");
	assert_string_equal(th_labels_get(&labels, "b"), "1=2");
	assert_string_equal(th_labels_get(&labels, "d"), "%zz%4");
	th_labels_deinit(&labels);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(later_values_win),
		cmocka_unit_test(texts_are_decoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
