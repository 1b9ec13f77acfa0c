/* SPDX-License-Identifier: Apache-2.0 */
/* Terminals of execs: a pair each, never shared. 0 or -errno. */
#pragma once

#include <stdbool.h>

/*
 * in_box: the box's own /dev/pts; else the machine's. The caller's file-system ids become the terminal's
 * owner.
 */
int cay_pty_open(bool in_box, unsigned rows, unsigned cols, int *ret_master, int *ret_slave);
int cay_pty_resize(int master, unsigned rows, unsigned cols);
/* The character that means "end of input" on this terminal now; -1 when none does (raw mode). */
int cay_pty_eof_char(int master);
