/* SPDX-License-Identifier: Apache-2.0 */
/* The table of checks, and the loop over it. */
#include "cay/doctor/doctor.h"

#include <stdarg.h>

#include "cay/doctor/judge_priv.h"

static const struct {
        const char *id, *group, *title, *doc;
        void (*judge)(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret);
} rows[] = {
#define CAY_CHECK(id, group, title, doc) { #id, group, title, doc, cay_doctor_judge_##id },
#include "cay/doctor/checks.def"
#undef CAY_CHECK
};

static const char *const words[] = {
        [CAY_DOCTOR_OK] = "ok",
        [CAY_DOCTOR_NOTE] = "note",
        [CAY_DOCTOR_MISSING] = "missing",
        [CAY_DOCTOR_BROKEN] = "broken",
};
_Static_assert(CAY_COUNT(words) == CAY_DOCTOR_STATUS_COUNT, "a word for every status");

const char *cay_doctor_id(enum cay_doctor_check nr)
{
        return rows[nr].id;
}

const char *cay_doctor_group(enum cay_doctor_check nr)
{
        return rows[nr].group;
}

const char *cay_doctor_title(enum cay_doctor_check nr)
{
        return rows[nr].title;
}

const char *cay_doctor_doc(enum cay_doctor_check nr)
{
        return rows[nr].doc;
}

const char *cay_doctor_status_word(enum cay_doctor_status status)
{
        return words[status];
}

void cay_doctor_find(struct cay_doctor_finding *ret, enum cay_doctor_status status, const char *fmt, ...)
{
        va_list args;

        ret->status = status;
        va_start(args, fmt);
        vsnprintf(ret->found, sizeof(ret->found), fmt, args);
        va_end(args);
}

void cay_doctor_advise(struct cay_doctor_finding *ret, const char *fmt, ...)
{
        va_list args;

        va_start(args, fmt);
        vsnprintf(ret->remedy, sizeof(ret->remedy), fmt, args);
        va_end(args);
}

void cay_doctor_find_why(struct cay_doctor_finding *ret, enum cay_doctor_status status, const char *why)
{
        const char *cut = strstr(why, "; ");

        if (cut == NULL) {
                cay_doctor_find(ret, status, "%s", why);
                return;
        }
        cay_doctor_find(ret, status, "%.*s", (int)(cut - why), why);
        cay_doctor_advise(ret, "%s", cut + 2);
}

void cay_doctor_judge(const struct cay_doctor_facts *f, struct cay_doctor_report *ret)
{
        memset(ret, 0, sizeof(*ret));
        for (unsigned i = 0; i < CAY_CHECK_COUNT; i++)
                rows[i].judge(f, &ret->findings[i]);
}
