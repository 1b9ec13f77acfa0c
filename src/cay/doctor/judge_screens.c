/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of what sandboxes show: browsers and desktops. Cay works without both. */
#include "cay/doctor/judge_priv.h"

#define INSTALL "apt-get install --no-install-recommends "

void cay_doctor_judge_browser(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        if (f->browser[0] != '\0') {
                cay_doctor_find(ret, CAY_DOCTOR_OK, "%s", f->browser);
                return;
        }
        cay_doctor_find(ret, CAY_DOCTOR_NOTE, "no Chromium for sandboxes of this machine's /usr");
        cay_doctor_advise(ret, "as root: %schromium-headless-shell fonts-dejavu-core", INSTALL);
}

void cay_doctor_judge_desktop(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        bool has_server = f->desktop_server[0] != '\0', has_manager = f->desktop_manager[0] != '\0';

        if (has_server && has_manager && f->desktop_terminal[0] != '\0') {
                cay_doctor_find(ret, CAY_DOCTOR_OK, "%s, %s, %s", f->desktop_server, f->desktop_manager,
                                f->desktop_terminal);
                return;
        }
        cay_doctor_find(ret, CAY_DOCTOR_NOTE, "%s for sandboxes of this machine's /usr",
                        !has_server    ? "no Xvnc"
                        : !has_manager ? "no window manager"
                                       : "no terminal for desktops");
        cay_doctor_advise(ret, "as root: %s%s", INSTALL,
                          !has_server    ? "tigervnc-standalone-server openbox xterm"
                          : !has_manager ? "openbox"
                                         : "xterm");
}
