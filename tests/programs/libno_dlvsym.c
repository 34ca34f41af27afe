/* SPDX-License-Identifier: Apache-2.0 */
/* dlvsym of a tool that finds no function by version. */
void *dlvsym(void *handle, const char *name, const char *version);

void *
dlvsym(void *handle, const char *name, const char *version)
{
	(void)handle, (void)name, (void)version;
	return 0;
}
