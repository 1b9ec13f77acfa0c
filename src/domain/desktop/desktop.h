/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The desktop of a sandbox: a shell script that runs in it. It starts TigerVNC's server on a unix socket, a
 * window manager and what is there of a panel; the socket gets its name when the desktop is ready.
 */
#pragma once

#include <stddef.h>

#define CAY_DESKTOP_SOCKET "/tmp/.cay-desktop/vnc.sock"
#define CAY_DESKTOP_DISPLAY ":1"
#define CAY_DESKTOP_WIDTH 1280u
#define CAY_DESKTOP_HEIGHT 800u
#define CAY_DESKTOP_SIDE_MIN 200u
#define CAY_DESKTOP_SIDE_MAX 4096u
/* How the script ends. */
#define CAY_DESKTOP_EXIT_MISSING 69 /* a program that it needs is not there */
#define CAY_DESKTOP_EXIT_FOLDER 70  /* its folder cannot be made */
#define CAY_DESKTOP_EXIT_START 71   /* the X server ended before it was ready */
#define CAY_DESKTOP_EXIT_SERVER 72  /* the X server ended */
#define CAY_DESKTOP_EXIT_WM 73      /* the window manager ended */
#define CAY_DESKTOP_MEMORY_MIB 256u /* the least that works, without a browser */
#define CAY_DESKTOP_INSTALL "apt-get install --no-install-recommends tigervnc-standalone-server openbox xterm"

/* For /bin/sh -s SIZE, on its standard input; the size is "1280x800". */
extern const unsigned char *const cay_desktop_script;
extern const size_t cay_desktop_script_len;
