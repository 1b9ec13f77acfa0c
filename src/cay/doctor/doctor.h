/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay doctor`: what Cay can use on this machine, what it cannot, and what to do about it.
 *
 * Theory of operation. There are three separate steps, so that each can be tested alone. Collecting
 * (facts_*.c) reads the machine, or tries things in children that end at once and leave nothing (probe.h).
 * Judging (judge_*.c) is pure: it turns facts into one finding per row of checks.def, so that other machines
 * can be tested as text. Rendering prints findings as one screen or as JSON. Whether Cay works here is not
 * concluded from findings: the default run is really made.
 */
#pragma once

#include "foundation/base/buf.h"
#include "cay/doctor/facts.h"

enum cay_doctor_check {
#define CAY_CHECK(id, group, title, doc) CAY_CHECK_##id,
#include "cay/doctor/checks.def"
#undef CAY_CHECK
        CAY_CHECK_COUNT
};

enum cay_doctor_status {
        CAY_DOCTOR_OK,
        CAY_DOCTOR_NOTE,    /* less than possible; Cay works without it */
        CAY_DOCTOR_MISSING, /* missing, or forbidden */
        CAY_DOCTOR_BROKEN,  /* there, but does not work */
        CAY_DOCTOR_STATUS_COUNT
};

#define CAY_DOCTOR_TEXT 288 /* a whole cay_error fits */

struct cay_doctor_finding {
        enum cay_doctor_status status;
        char found[CAY_DOCTOR_TEXT];
        char remedy[CAY_DOCTOR_TEXT]; /* "": nothing to do, or it follows from another finding */
};

struct cay_doctor_report {
        struct cay_doctor_finding findings[CAY_CHECK_COUNT];
};

const char *cay_doctor_id(enum cay_doctor_check nr);
const char *cay_doctor_group(enum cay_doctor_check nr);
const char *cay_doctor_title(enum cay_doctor_check nr);
const char *cay_doctor_doc(enum cay_doctor_check nr);
const char *cay_doctor_status_word(enum cay_doctor_status status); /* "ok"; never NULL */

void cay_doctor_judge(const struct cay_doctor_facts *f, struct cay_doctor_report *ret);

struct cay_doctor_style {
        bool utf8;    /* marks beyond ASCII */
        bool colours; /* terminal escapes */
};

/* At most 40 lines of 100 columns. 0 or -errno. */
int cay_doctor_render_text(const struct cay_doctor_report *r, const struct cay_doctor_style *style,
                           struct cay_buf *out);
int cay_doctor_render_json(const struct cay_doctor_facts *f, const struct cay_doctor_report *r,
                           struct cay_buf *out);
