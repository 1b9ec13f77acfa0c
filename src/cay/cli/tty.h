/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The caller's terminal in raw mode, restored however the process ends (except by SIGKILL). One per process.
 */
#pragma once

#include <stdbool.h>

bool cay_tty_raw(int fd);   /* false: not a terminal, or it could not be changed */
void cay_tty_restore(void); /* also if nothing was changed */
bool cay_tty_size(int fd, unsigned *ret_rows, unsigned *ret_cols);
