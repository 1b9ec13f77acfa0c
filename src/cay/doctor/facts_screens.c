/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that sandboxes of the host's own /usr need for a browser and for a desktop. Only looks whether
 * they are there.
 */
#include <unistd.h>

#include "cay/doctor/facts_priv.h"
#include "foundation/base/str.h"

/* As domain/browser/launch.sh looks for them, in its order. */
static const char *const browsers[] = {
        "/usr/lib/chromium/chromium-headless-shell",
        "/usr/lib/chromium/chromium",
        "/usr/lib/chromium-browser/chromium-browser",
        "/usr/lib64/chromium-browser/chromium-browser",
        "/usr/bin/headless-shell",
        NULL,
};

/* As domain/desktop/desktop.sh does. */
static const char *const servers[] = { "/usr/bin/Xtigervnc", "/usr/bin/Xvnc", NULL };
static const char *const managers[] = { "/usr/bin/openbox",
                                        "/usr/bin/icewm",
                                        "/usr/bin/fluxbox",
                                        "/usr/bin/jwm",
                                        "/usr/bin/twm",
                                        "/usr/bin/matchbox-window-manager",
                                        NULL };
static const char *const terminals[] = { "/usr/bin/xterm", "/usr/bin/lxterminal", "/usr/bin/xfce4-terminal",
                                         NULL };

static void find(const char *const *paths, char ret[CAY_DOCTOR_PROGRAM])
{
        for (; *paths; paths++) {
                if (access(*paths, X_OK) != 0)
                        continue;
                cay_str_copy(ret, CAY_DOCTOR_PROGRAM, *paths);
                return;
        }
}

void cay_doctor_collect_screens(struct cay_doctor_facts *f)
{
        find(browsers, f->browser);
        find(servers, f->desktop_server);
        find(managers, f->desktop_manager);
        find(terminals, f->desktop_terminal);
}
