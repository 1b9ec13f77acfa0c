/* SPDX-License-Identifier: Apache-2.0 */
/* Result tables that several ops share; an op's own table is beside its row. */
#include "domain/ops/results.h"

#include "domain/ops/result_rows.h"

SHARED_RESULT(cay_result_destroyed, NULL, TEXT("sandbox_id"), TEXT("status"));
SHARED_RESULT(cay_result_exec_output, "ExecResult", ALSO(cay_result_exec), IF("stdout", TEXT),
              IF("stdout_base64", TEXT), IF("stderr", TEXT), IF("stderr_base64", TEXT),
              IF("stdout_truncated", BOOL), IF("stderr_truncated", BOOL), TEXT("execution_id"));
SHARED_RESULT(cay_result_file, "File", IF("name", TEXT), IF("name_base64", TEXT), TEXT("type"),
              NUMBER("size"), TEXT("mode"), NUMBER("uid"), NUMBER("gid"), TIME("modified_at"), TEXT("tag"),
              IF("target", TEXT), IF("target_base64", TEXT), IF("metadata", PAIRS));
