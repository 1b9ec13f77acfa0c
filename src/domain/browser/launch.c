/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chromium's own sandbox is off: it needs namespaces of its own, which a sandbox of Cay does not allow.
 * SECURITY.md argues why that is the better of the two. Its log, its crash reporter and all that would call
 * home are off too. There is no --disk-cache-dir: Chromium's private contexts would share that folder, and
 * wait for one another for ever.
 */
#include "domain/browser/launch.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "domain/browser/launch_source.inc" /* made by tools/embed_text from launch.sh */
#include "foundation/base/cleanup.h"

#define OWN_PROFILE CAY_BROWSER_FOLDER "/profile"
#define AT_PROFILE 7 /* of argv */

static const char *const fixed[] = {
        "--headless",
        "--no-sandbox",
        "--remote-debugging-pipe",
        "--password-store=basic",
        "--use-mock-keychain",
        "--no-first-run",
        "--no-default-browser-check",
        "--no-service-autorun",
        "--disable-background-networking",
        "--disable-breakpad",
        "--disable-component-update",
        "--disable-default-apps",
        "--disable-gpu",
        "--disable-quic",
        "--disable-search-engine-choice-screen",
        "--disable-sync",
        "--hide-scrollbars",
        "--mute-audio",
};

/* launch.sh as a text. */
static const char *script(void)
{
        static char text[sizeof(launch_source) + 1];

        if (text[0] == '\0')
                memcpy(text, launch_source, sizeof(launch_source));
        return text;
}

void cay_browser_launch_make(struct cay_browser_launch *l, const struct cay_browser_options *o)
{
        bool keeps = o->profile && !o->copies_profile;
        unsigned n = 0;

        snprintf(l->profile, sizeof(l->profile), "%s", o->profile ? o->profile : "");
        snprintf(l->size, sizeof(l->size), "--window-size=%u,%u", o->width ? o->width : CAY_BROWSER_WIDTH,
                 o->height ? o->height : CAY_BROWSER_HEIGHT);
        l->argv[n++] = "/bin/sh";
        l->argv[n++] = "-c";
        l->argv[n++] = script();
        l->argv[n++] = "browser";
        l->argv[n++] = CAY_BROWSER_FOLDER;
        l->argv[n++] = CAY_BROWSER_DOWNLOADS;
        l->argv[n++] = CAY_BROWSER_UPLOADS;
        l->argv[n++] = keeps ? l->profile : OWN_PROFILE;
        l->argv[n++] = o->profile && o->copies_profile ? l->profile : "";
        for (unsigned i = 0; i < CAY_COUNT(fixed); i++)
                l->argv[n++] = fixed[i];
        if (o->isolates_sites)
                l->argv[n++] = "--site-per-process";
        if (o->ignore_certificate_errors)
                l->argv[n++] = "--ignore-certificate-errors";
        l->argv[n++] = l->size;
        l->argv[n++] = "about:blank";
        l->argv[n] = NULL;
        assert(n < CAY_BROWSER_ARGV_MAX);
}

bool cay_browser_launch_keeps(const char *const *argv)
{
        for (unsigned i = 0; i <= AT_PROFILE; i++)
                if (!argv[i])
                        return false;
        return argv[AT_PROFILE][0] == '/' && strcmp(argv[AT_PROFILE], OWN_PROFILE) != 0;
}
