/* SPDX-License-Identifier: Apache-2.0 */
/* Runs all collectors in order. */
#include "cay/doctor/facts.h"

#include "foundation/base/str.h"
#include "cay/doctor/facts_priv.h"
#include "libcay/run.h"

void cay_doctor_collect(const struct cay_doctor_options *o, struct cay_doctor_facts *ret)
{
        memset(ret, 0, sizeof(*ret));
        ret->programs = *o->programs;
        snprintf(ret->program_dir, sizeof(ret->program_dir), "%s", o->run->program_dir);
        cay_doctor_collect_host(o->path, ret);
        cay_doctor_collect_cgroups(ret);
        cay_doctor_collect_namespaces(ret);
        cay_doctor_collect_kernel(ret);
        cay_doctor_collect_docker(o->docker_host, CAY_DOCTOR_DOCKER_MS, ret);
        cay_doctor_collect_screens(ret);
        cay_doctor_collect_runs(o->run, ret);
}
