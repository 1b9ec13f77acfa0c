/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the host: versions, user, place, programs, ids. */
#include <inttypes.h>

#include "cay/doctor/judge_priv.h"

#define IDS_LEAST 2048 /* of a range: what the warden gives one box */
#define USUAL_FOLDER "/usr/bin/"

void cay_doctor_judge_versions(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        cay_doctor_find(ret, CAY_DOCTOR_OK, "cay %s, Linux %s %s%s%s", CAY_VERSION, f->kernel, f->machine,
                        f->distribution[0] != '\0' ? ", " : "", f->distribution);
}

static const char *const containers[] = {
        [SYS_CONTAINER_NONE] = "",
        [SYS_CONTAINER_DOCKER] = ", in a container (Docker)",
        [SYS_CONTAINER_PODMAN] = ", in a container (podman)",
        [SYS_CONTAINER_OTHER] = ", in a container",
};

void cay_doctor_judge_place(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        char who[120];

        if (!f->at.ids_mapped)
                snprintf(who, sizeof(who), "a user without a name, in a user namespace without a map");
        else if (f->uid == 0 && f->at.nested)
                snprintf(who, sizeof(who), "root of a user namespace");
        else if (f->uid == 0)
                snprintf(who, sizeof(who), f->at.privileged ? "root" : "root without root's rights");
        else
                snprintf(who, sizeof(who), "ordinary user %s%s%u%s%s", f->user, f->user[0] ? " (" : "",
                         f->uid, f->user[0] ? ")" : "", f->at.nested ? ", in a user namespace" : "");
        cay_doctor_find(ret, f->at.in_cay || f->at.wsl1 ? CAY_DOCTOR_NOTE : CAY_DOCTOR_OK, "%s%s%s%s%s", who,
                        f->at.in_cay ? ", inside a Cay sandbox" : containers[f->at.container],
                        f->at.chroot ? ", in a chroot" : "", f->at.wsl1 ? ", under WSL 1" : "",
                        f->at.seccomp && !f->at.in_cay ? ", under a seccomp filter" : "");
}

void cay_doctor_judge_programs(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        if (f->programs.code == CAY_OK) {
                cay_doctor_find(ret, CAY_DOCTOR_OK, "cay-init and cay-warden in %.200s", f->program_dir);
                return;
        }
        cay_doctor_find(ret, CAY_DOCTOR_MISSING, "%s", f->programs.msg);
        cay_doctor_advise(ret,
                          "put cay-init and cay-warden beside cay, or install all three with make install");
}

static void judge_ranges(const struct cay_doctor_facts *f, const struct cay_doctor_ranges *r,
                         const char *file, const char *option, struct cay_doctor_finding *ret)
{
        if (f->maps_any) {
                cay_doctor_find(ret, CAY_DOCTOR_OK, "not needed by root");
                return;
        }
        if (r->ids >= IDS_LEAST) {
                cay_doctor_find(ret, CAY_DOCTOR_OK, "%" PRIu64 " ids, from %" PRIu64 " on", r->ids, r->first);
                return;
        }
        if (r->ids > 0)
                cay_doctor_find(ret, CAY_DOCTOR_NOTE, "%" PRIu64 " ids are too few: a sandbox has one id",
                                r->ids);
        else
                cay_doctor_find(ret, CAY_DOCTOR_NOTE, "%s: a sandbox has one id",
                                r->has_file ? "no ids for this user" : "no such file");
        if (f->free_ids == 0)
                cay_doctor_advise(ret, "as root, give this user %u ids in %s that nobody has",
                                  CAY_DOCTOR_RANGE, file);
        else if (f->user[0] != '\0')
                cay_doctor_advise(ret,
                                  "as root: usermod --add-%s %" PRIu64 "-%" PRIu64 " %s (a range nobody has)",
                                  option, f->free_ids, f->free_ids + CAY_DOCTOR_RANGE - 1, f->user);
        else
                cay_doctor_advise(ret, "as root, add to %s: %u:%" PRIu64 ":%u (a range nobody has)", file,
                                  f->uid, f->free_ids, CAY_DOCTOR_RANGE);
}

void cay_doctor_judge_subuid(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        judge_ranges(f, &f->subuid, "/etc/subuid", "subuids", ret);
}

void cay_doctor_judge_subgid(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        judge_ranges(f, &f->subgid, "/etc/subgid", "subgids", ret);
}

static void judge_helper(const struct cay_doctor_facts *f, const struct cay_doctor_helper *h,
                         struct cay_doctor_finding *ret)
{
        if (f->maps_any) {
                cay_doctor_find(ret, CAY_DOCTOR_OK, "not needed by root");
        } else if (h->path[0] == '\0') {
                cay_doctor_find(ret, CAY_DOCTOR_NOTE, "not installed: a sandbox has one id");
                cay_doctor_advise(ret,
                                  "install the package uidmap (Debian, Ubuntu), shadow-utils (Fedora) or "
                                  "shadow (Arch)");
        } else if (strncmp(h->path, USUAL_FOLDER, strlen(USUAL_FOLDER)) != 0) {
                cay_doctor_find(ret, CAY_DOCTOR_NOTE, "%s is not where Cay looks (%s)", h->path,
                                USUAL_FOLDER);
                cay_doctor_advise(ret, "as root: ln -s %s %s", h->path, USUAL_FOLDER);
        } else if (!h->set_id && !h->has_cap && f->at.nested) {
                cay_doctor_find(ret, CAY_DOCTOR_NOTE, "%s cannot act in this user namespace", h->path);
                cay_doctor_advise(ret, "run Cay outside of it");
        } else if (!h->set_id && !h->has_cap) {
                cay_doctor_find(ret, CAY_DOCTOR_BROKEN, "%s has neither the set-id bit nor its capability",
                                h->path);
                cay_doctor_advise(ret, "as root: chmod u+s %s", h->path);
        } else if (h->nosuid) {
                cay_doctor_find(ret, CAY_DOCTOR_BROKEN, "%s is on a mount with nosuid", h->path);
                cay_doctor_advise(ret, "mount it without nosuid");
        } else if (f->no_new_privs) {
                cay_doctor_find(ret, CAY_DOCTOR_BROKEN, "%s cannot act: no_new_privs is set here", h->path);
                cay_doctor_advise(ret, "start the shell without it (Docker: not with no-new-privileges)");
        } else {
                cay_doctor_find(ret, CAY_DOCTOR_OK, "%s, %s", h->path,
                                h->set_id ? "set-user-id root" : "with its capability");
        }
}

void cay_doctor_judge_newuidmap(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        judge_helper(f, &f->newuidmap, ret);
}

void cay_doctor_judge_newgidmap(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        judge_helper(f, &f->newgidmap, ret);
}
