/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of Docker, of the limits, and of the decisive run. */
#include "domain/model/limits.h"
#include "cay/doctor/judge_priv.h"

void cay_doctor_judge_docker(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        const struct cay_docker *d = &f->docker;

        switch (d->state) {
        case CAY_DOCKER_ANSWERS:
                cay_doctor_find(ret, CAY_DOCTOR_OK, "%s%s%s%s at %s", d->version,
                                d->api[0] != '\0' ? " (API " : "", d->api, d->api[0] != '\0' ? ")" : "",
                                d->where);
                return;
        case CAY_DOCKER_ABSENT:
                cay_doctor_find(ret, d->asked_for ? CAY_DOCTOR_BROKEN : CAY_DOCTOR_NOTE, "nothing at %s",
                                d->where);
                cay_doctor_advise(ret, d->asked_for
                                               ? "start Docker there, or unset DOCKER_HOST"
                                               : "the default run needs none; to have it: install docker.io "
                                                 "and start it, or set DOCKER_HOST");
                return;
        case CAY_DOCKER_DENIED:
                cay_doctor_find(ret, CAY_DOCTOR_NOTE, "%s is not open to this user", d->where);
                cay_doctor_advise(ret,
                                  "as root: usermod -aG docker %s; members of that group have root's rights",
                                  f->user[0] != '\0' ? f->user : "NAME");
                return;
        case CAY_DOCKER_DEAD:
                cay_doctor_find(ret, CAY_DOCTOR_BROKEN, "no answer at %s%s%s", d->where,
                                d->sys != 0 ? ": " : "", d->sys != 0 ? strerror(-d->sys) : "");
                cay_doctor_advise(ret,
                                  d->asked_for ? "start Docker there, or unset DOCKER_HOST" : "start Docker");
                return;
        case CAY_DOCKER_ODD:
                cay_doctor_find(ret, CAY_DOCTOR_BROKEN, "the server at %s is not Docker", d->where);
                cay_doctor_advise(ret, "set DOCKER_HOST to Docker's address");
                return;
        case CAY_DOCKER_UNKNOWN:
                cay_doctor_find(ret, CAY_DOCTOR_NOTE, "not asked: %s is neither unix:// nor tcp://",
                                d->where);
                cay_doctor_advise(ret, "set DOCKER_HOST to unix:///var/run/docker.sock or tcp://HOST:PORT");
                return;
        }
}

void cay_doctor_judge_limits(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        unsigned watched = f->limits_watched & ~f->limits_missing;
        unsigned held = CAY_LIMIT_MASK_ALL & ~CAY_LIMIT_MASK_NETWORK & ~f->limits_missing & ~watched;
        char yes[160], no[160], seen[160];

        if (!f->limits_known) {
                cay_doctor_find(ret, CAY_DOCTOR_NOTE, "not known: no sandbox could be made");
                return;
        }
        cay_limit_mask_text(held, yes, sizeof(yes));
        cay_limit_mask_text(f->limits_missing, no, sizeof(no));
        cay_limit_mask_text(watched, seen, sizeof(seen));
        cay_doctor_find(ret, f->limits_missing != 0 ? CAY_DOCTOR_MISSING : CAY_DOCTOR_OK,
                        "enforced: %s%s%s%s%s", yes,
                        watched != 0 ? ". Watched (may be exceeded for a moment): " : "", seen,
                        f->limits_missing != 0 ? ". Not enforced: " : "", no);
        if (f->limits_missing == 0)
                return;
        cay_doctor_advise(ret, "see cgroups and disk images above, or skip them: --allow-missing %s", no);
        for (char *at = strstr(ret->remedy, "--allow-missing "); (at = strstr(at, ", ")) != NULL;)
                memmove(at + 1, at + 2, strlen(at + 1)); /* as the option takes it: without spaces */
}

void cay_doctor_judge_run(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        if (f->works) {
                cay_doctor_find(ret, CAY_DOCTOR_OK, "works: a sandbox was made, ran /bin/true and is gone");
                return;
        }
        cay_doctor_find(ret, CAY_DOCTOR_BROKEN, "%s", f->run.msg);
        if (f->limits_known && f->limits_missing != 0) {
                cay_doctor_advise(ret, "without the limits that do not hold (--allow-missing) it works");
                return;
        }
        cay_doctor_advise(
                ret, "fix what is marked above; this shows where it fails: cay run --trace -- /bin/true");
}
