/* SPDX-License-Identifier: Apache-2.0 */
/* How a sandbox's browser is started: a shell script of ours (launch.sh) and the options it passes on. */
#pragma once

#include <stdbool.h>

#define CAY_BROWSER_FOLDER "/tmp/.browser"     /* in the sandbox: its profile and settings */
#define CAY_BROWSER_DOWNLOADS "/tmp/downloads" /* in the sandbox */
#define CAY_BROWSER_UPLOADS "/tmp/.uploads"    /* in the sandbox: what clients send for file inputs */
#define CAY_BROWSER_WIDTH 1280u
#define CAY_BROWSER_HEIGHT 800u
#define CAY_BROWSER_SIDE_MAX 4096u
#define CAY_BROWSER_PROFILE_MAX 255u /* bytes of a profile's path */
/* The least with which one page works (docs/browser.md has the measurements). */
#define CAY_BROWSER_PIDS_MIN 96u
#define CAY_BROWSER_MEMORY_MIN (256ull << 20)

struct cay_browser_options {    /* zeroed: defaults */
        unsigned width, height; /* of a tab, in pixels */
        bool ignore_certificate_errors;
        bool isolates_sites; /* frames of other sites have processes of their own */
        const char *profile; /* folder in the sandbox; NULL: one that ends with the sandbox */
        bool copies_profile; /* begins with a copy of `profile`, and leaves it as it is */
        bool logs;           /* what pages ask and print is noted from the start */
};

#define CAY_BROWSER_ARGV_MAX 40

struct cay_browser_launch {
        const char
                *argv[CAY_BROWSER_ARGV_MAX]; /* NULL-terminated; points into this struct and to constants */
        char size[40], profile[CAY_BROWSER_PROFILE_MAX + 1];
};

void cay_browser_launch_make(struct cay_browser_launch *l, const struct cay_browser_options *o);
/* Whether a browser that was started so keeps a profile of the caller's: argv of its command. */
bool cay_browser_launch_keeps(const char *const *argv);
