/* SPDX-License-Identifier: Apache-2.0 */
/* Result tables that several ops share, also used by dialects. */
#pragma once

#include "domain/ops/result.h"

extern const struct cay_result_table cay_result_limits;        /* struct cay_limits */
extern const struct cay_result_table cay_result_asked_options; /* of templates: struct cay_sandbox_options */
extern const struct cay_result_table cay_result_sandbox;       /* struct cay_sandbox_view */
extern const struct cay_result_table cay_result_destroyed;
extern const struct cay_result_table cay_result_image; /* struct cay_image */
extern const struct cay_result_table cay_result_exec;  /* struct cay_exec_view */
extern const struct cay_result_table cay_result_event; /* struct cay_store_event */
extern const struct cay_result_table cay_result_exec_output;
extern const struct cay_result_table cay_result_file;
