/* SPDX-License-Identifier: Apache-2.0 */
/* The report as one JSON object. */
#include "foundation/base/json_out.h"
#include "domain/model/limits.h"
#include "cay/doctor/doctor.h"

static void member(struct cay_json *j, const char *key, const char *text)
{
        cay_json_key(j, key);
        cay_json_text(j, text[0] != '\0' ? text : NULL);
}

static void put_checks(struct cay_json *j, const struct cay_doctor_report *r)
{
        cay_json_key(j, "checks");
        cay_json_begin_array(j);
        for (unsigned i = 0; i < CAY_CHECK_COUNT; i++) {
                const struct cay_doctor_finding *f = &r->findings[i];

                cay_json_begin_object(j);
                member(j, "id", cay_doctor_id(i));
                member(j, "group", cay_doctor_group(i));
                member(j, "status", cay_doctor_status_word(f->status));
                member(j, "found", f->found);
                member(j, "remedy", f->remedy);
                cay_json_end_object(j);
        }
        cay_json_end_array(j);
}

/* By the names of domain/model/limits.def; null: unknown, because no sandbox could be made. */
static void put_limits(struct cay_json *j, const struct cay_doctor_facts *f)
{
        cay_json_key(j, "limits");
        cay_json_begin_object(j);
        for (unsigned nr = 0; nr < CAY_LIMIT_NR_COUNT; nr++) {
                cay_json_key(j, cay_limit_word(nr));
                cay_json_begin_object(j);
                cay_json_key(j, "held");
                if (f->limits_known)
                        cay_json_bool(j, !(f->limits_missing & 1u << nr));
                else
                        cay_json_null(j);
                cay_json_key(j, "watched");
                cay_json_bool(j, f->limits_known && f->limits_watched & 1u << nr);
                cay_json_end_object(j);
        }
        cay_json_end_object(j);
}

static void put_versions(struct cay_json *j, const struct cay_doctor_facts *f)
{
        cay_json_key(j, "versions");
        cay_json_begin_object(j);
        member(j, "cay", CAY_VERSION);
        member(j, "kernel", f->kernel);
        member(j, "machine", f->machine);
        member(j, "distribution", f->distribution);
        member(j, "docker", f->docker.version);
        cay_json_end_object(j);
}

int cay_doctor_render_json(const struct cay_doctor_facts *f, const struct cay_doctor_report *r,
                           struct cay_buf *out)
{
        struct cay_json j;
        int rc;

        cay_json_init(&j, out);
        cay_json_begin_object(&j);
        cay_json_key(&j, "works");
        cay_json_bool(&j, f->works);
        put_checks(&j, r);
        put_limits(&j, f);
        put_versions(&j, f);
        cay_json_end_object(&j);
        rc = cay_json_end(&j);
        return rc < 0 ? rc : cay_buf_putc(out, '\n');
}
