/* SPDX-License-Identifier: Apache-2.0 */
/* Of the same size as libreload_large.c, so that one can be loaded where the other was. */
int call_through(int (*callback)(void));

int
call_through(int (*callback)(void))
{
	volatile char block[40];

	block[0] = 1;
	return callback() + block[0];
}
