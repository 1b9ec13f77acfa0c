/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runs. One requests every limit and allows each to be skipped: skipped limits do not work here. The
 * other is `cay run` with its defaults. Both happen in children, which give up their privileges as `cay run`
 * does once the engine has the plan.
 */
#include <errno.h>

#include "cay/doctor/facts_priv.h"
#include "cay/doctor/probe.h"
#include "libcay/run.h"
#include "foundation/sys/confine.h"

#define DEADLINE_MS 120000 /* the run has its own, shorter ones */
#define ANY_CPU_TIME_MS 60000

struct outcome {
        bool ran;
        int status;
        unsigned skipped, watched;
        struct cay_error err;
        char verdict[sizeof(((struct cay_verdict *)0)->text)];
};

static int confine(void *ctx, struct cay_error *err)
{
        int r = sys_self_confine();

        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "give up privileges") : 1;
}

static int probe_run(const void *arg, void *ret)
{
        const struct cay_run_options *o = arg;
        struct outcome *out = ret;
        struct cay_run_result result = { 0 };

        out->ran = cay_run_once(o, &result, &out->err) == 0;
        if (!out->ran)
                return 0;
        out->status = result.status;
        out->skipped = result.skipped;
        out->watched = result.watched;
        if (result.cleanup.code != CAY_OK)
                out->err = result.cleanup;
        snprintf(out->verdict, sizeof(out->verdict), "%s", result.verdict.text);
        return 0;
}

static void make_run(const struct cay_run_options *o, struct outcome *ret)
{
        int r = cay_doctor_probe(probe_run, o, ret, sizeof(*ret), DEADLINE_MS);

        if (r < 0)
                cay_fail_sys(&ret->err, CAY_INTERNAL, r, "make a run");
}

static void judge_default(const struct outcome *out, struct cay_doctor_facts *f)
{
        f->run = out->err;
        f->works = out->ran && out->status == 0 && out->err.code == CAY_OK;
        if (!f->works && f->run.code == CAY_OK)
                cay_fail(&f->run, CAY_INTERNAL, "/bin/true ended with status %d%s%s", out->status,
                         out->verdict[0] != '\0' ? ": " : "", out->verdict);
}

void cay_doctor_collect_runs(const struct cay_run_options *run, struct cay_doctor_facts *f)
{
        struct cay_run_options o = *run;
        struct outcome any = { 0 }, plain = { 0 };

        if (f->programs.code != CAY_OK) {
                f->run = f->programs;
                return;
        }
        o.on_started = confine;
        make_run(&o, &plain);
        judge_default(&plain, f);
        o.spec.may_skip = CAY_LIMIT_MASK_ALL;
        o.spec.limits.cpu_time_ms = ANY_CPU_TIME_MS;
        make_run(&o, &any);
        f->limits_known = any.ran && any.err.code == CAY_OK;
        f->limits_missing = any.skipped;
        f->limits_watched = any.watched;
}
