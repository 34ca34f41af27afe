/* SPDX-License-Identifier: Apache-2.0 */
/* Like libreload_small.c, with a larger frame. */
int call_through(int (*callback)(void));

int
call_through(int (*callback)(void))
{
	volatile char block[3000];

	block[0] = 1;
	return callback() + block[0];
}
