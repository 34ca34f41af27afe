/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same code as libreload_large.c except for the size of a frame: loaded at the same
 * address, it has the same return addresses.
 */
int call_through(int (*callback)(void));

int
call_through(int (*callback)(void))
{
	volatile char block[1000];

	block[0] = 1;
	return callback() + block[0];
}
