/* SPDX-License-Identifier: Apache-2.0 */
/* The checks: one function per row of checks.def, all pure. A finding starts as OK with empty texts. */
#pragma once

#include "cay/doctor/doctor.h"

#define CAY_CHECK(id, group, title, doc)                                                                     \
        void cay_doctor_judge_##id(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret);
#include "cay/doctor/checks.def"
#undef CAY_CHECK

void cay_doctor_find(struct cay_doctor_finding *ret, enum cay_doctor_status status, const char *fmt, ...)
        CAY_PRINTF(3, 4);
void cay_doctor_advise(struct cay_doctor_finding *ret, const char *fmt, ...) CAY_PRINTF(2, 3);
/* "reason; remedy", as foundation/sys/userns_why.h gives it. */
void cay_doctor_find_why(struct cay_doctor_finding *ret, enum cay_doctor_status status, const char *why);

/* Root of the machine (or of a container with its rights): needs no permission. */
static inline bool cay_doctor_is_root(const struct cay_doctor_facts *f)
{
        return f->uid == 0 && f->at.privileged && !f->at.nested;
}
