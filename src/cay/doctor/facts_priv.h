/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collectors, one file each. Each writes only its own part of the facts; later ones may read earlier
 * parts.
 */
#pragma once

#include "cay/doctor/facts.h"

void cay_doctor_collect_host(const char *path, struct cay_doctor_facts *f); /* versions, who and where, ids */
void cay_doctor_collect_cgroups(struct cay_doctor_facts *f);
void cay_doctor_collect_namespaces(struct cay_doctor_facts *f);
void cay_doctor_collect_kernel(struct cay_doctor_facts *f); /* confinement and files */
void cay_doctor_collect_docker(const char *docker_host, unsigned deadline_ms, struct cay_doctor_facts *f);
void cay_doctor_collect_screens(struct cay_doctor_facts *f); /* programs for browsers and desktops */
void cay_doctor_collect_runs(const struct cay_run_options *run, struct cay_doctor_facts *f);

/* Long: hanging is rare, but a busy machine is not. */
#define CAY_DOCTOR_PROBE_MS 30000
#define CAY_DOCTOR_DOCKER_MS 20000

/* For probes: a user namespace in which we are root, with nothing else mapped. 0 or -errno. */
int cay_doctor_enter_userns(void);
/* A mount namespace of our own and an empty tmpfs in it, named by *ret_dir. */
int cay_doctor_enter_scratch(const char **ret_dir);
