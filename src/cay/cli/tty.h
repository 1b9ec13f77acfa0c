/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The caller's terminal in raw mode, put back whatever way the process ends (SIGKILL aside). One per process.
 */
#pragma once

#include <stdbool.h>

bool cay_tty_raw(int fd);   /* false: not a terminal, or it would not change */
void cay_tty_restore(void); /* fine when nothing was changed */
bool cay_tty_size(int fd, unsigned *ret_rows, unsigned *ret_cols);
