/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A self-contained HTML file: the page, d3 and the data.  The parts of the page are embedded in
 * this program at build time.  Names from the recording occur in the data only, which the page
 * parses as JSON and inserts as text.
 */
#include "report/html/page_data.h"
#include "report/views/view.h"

/* From report/html/page and node-d3. */
extern const char th_page_head[], th_page_style[], th_page_body[], th_page_d3[],
	th_page_script[];

void
th_view_flamegraph_diff(
	FILE *file, const struct th_profile *old_profile, const struct th_profile *profile)
{
	fputs(th_page_head, file);
	fputs("<style>\n", file);
	fputs(th_page_style, file);
	fputs("</style>\n", file);
	fputs(th_page_body, file);
	fputs("<script type=\"application/json\" id=\"data\">\n", file);
	th_page_data_print(file, profile, old_profile);
	fputs("</script>\n<script>\n", file);
	fputs(th_page_d3, file);
	fputs("</script>\n<script>\n", file);
	fputs(th_page_script, file);
	fputs("</script>\n</body>\n</html>\n", file);
}

void
th_view_flamegraph(FILE *file, const struct th_profile *profile)
{
	th_view_flamegraph_diff(file, NULL, profile);
}
