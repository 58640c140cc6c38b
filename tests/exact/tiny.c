/* SPDX-License-Identifier: Apache-2.0 */
/* tests/exact/tiny.c - the shortest process: linked statically, returns at once. */
int main(void)
{
	return 0;
}
