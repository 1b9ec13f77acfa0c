/* SPDX-License-Identifier: Apache-2.0 */
/* Result tables that several ops share, also used by dialects. */
#pragma once

#include "domain/ops/result.h"

extern const struct cay_result_table cay_result_limits;
extern const struct cay_result_table cay_result_options;       /* of sandboxes: struct cay_sandbox_options */
extern const struct cay_result_table cay_result_asked_options; /* of templates */
extern const struct cay_result_table cay_result_sandbox;
extern const struct cay_result_table cay_result_destroyed;
extern const struct cay_result_table cay_result_image;
extern const struct cay_result_table cay_result_exec;
extern const struct cay_result_table cay_result_exec_output;
extern const struct cay_result_table cay_result_file;
extern const struct cay_result_table cay_result_histogram;
extern const struct cay_result_table cay_result_metric_sandboxes;
extern const struct cay_result_table cay_result_metric_used;
