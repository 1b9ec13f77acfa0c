/* SPDX-License-Identifier: Apache-2.0 */
/* Result tables that several ops share; an op's own table is beside its row. */
#include "domain/ops/results.h"

#include "domain/model/sandbox_options.h"
#include "domain/ops/result_rows.h"

#define NULLABLE_BOOL 0
#define NULLABLE_NUMBER 0
#define NULLABLE_TEXT CAY_RESULT_NULLABLE

#define CAY_LIMIT(field, word, kind, min, max, doc) NUMBER(#field),
static const struct cay_result_field limit_fields[] = {
#include "domain/model/limits.def"
        { NULL },
};
#undef CAY_LIMIT
const struct cay_result_table cay_result_limits = { "Limits", limit_fields };

/* Single values of sandboxes, and those of them that templates have too. */
static const struct cay_result_field option_fields[] = {
#define CAY_SANDBOX_FIELD(kind, name, uses, head, doc)                                                       \
        CAY_OPTION_IF_SHOWN_##uses(MEMBER_AS(#name, kind, NULLABLE_##kind, struct cay_sandbox_options,       \
                                             name), )
#include "domain/model/sandbox_fields.def"
#undef CAY_SANDBOX_FIELD
        { NULL },
};
static const struct cay_result_field asked_fields[] = {
#define CAY_SANDBOX_FIELD(kind, name, uses, head, doc)                                                       \
        CAY_OPTION_IF_ASKED_##uses(MEMBER_AS(#name, kind, NULLABLE_##kind, struct cay_sandbox_options,       \
                                             name), )
#include "domain/model/sandbox_fields.def"
#undef CAY_SANDBOX_FIELD
        { NULL },
};
const struct cay_result_table cay_result_options = { NULL, option_fields };
const struct cay_result_table cay_result_asked_options = { NULL, asked_fields };

RESULT(result_workspace, "Workspace", TEXT("inside"), BOOL("mapped"), IF("mode", TEXT), IF("path", TEXT));
RESULT(result_port, "PublishedPort", NUMBER("inside"), MAYBE("host", NUMBER));
RESULT(result_volume, "Volume", TEXT("name"), TEXT("at"), BOOL("read_only"));
SHARED_RESULT(cay_result_sandbox, "Sandbox", TEXT("sandbox_id"), MAYBE("name", TEXT),
              MAYBE("project_name", TEXT), TEXT("owner"), TEXT("template"), TEXT("engine"), TEXT("status"),
              MAYBE("cause", TEXT), TEXT("cause_text"), TEXT("advice"), TEXT("busy_with"), BOOL("kept"),
              BOOL("linked"), PAIRS("labels"), PAIRS("metadata"), OBJECT("limits", cay_result_limits),
              TEXTS("limits_skipped"), TEXTS("limits_watched"), TEXT("network"), TEXT("init"),
              LIST("ports", result_port), LIST("volumes", result_volume),
              OBJECT("workspace", result_workspace), ALSO(cay_result_options), TIME("created_at"),
              TIME("started_at"), TIME("changed_at"), MAYBE("expires_in_ms", NUMBER), NUMBER("idle_limit_ms"),
              MAYBE("idle_expires_in_ms", NUMBER), NUMBER("idle_ms"), NUMBER("execs_running"),
              NUMBER("execs_known"), IF("memory_freed_bytes", NUMBER));
SHARED_RESULT(cay_result_destroyed, NULL, TEXT("sandbox_id"), TEXT("status"));
SHARED_RESULT(cay_result_image, "Image", TEXT("state"), MAYBE("image", TEXT), MAYBE("context", TEXT),
              NUMBER("size_bytes"), TIME("built_at"), MAYBE("step", TEXT), MAYBE("error", TEXT));
RESULT(result_exec_lost, "OutputLost", NUMBER("from"), NUMBER("to"));
RESULT(result_blocked, "NetworkBlocked", TEXT("host"), NUMBER("port"), NUMBER("count"), BOOL("allowed"));
SHARED_RESULT(cay_result_exec, "Exec", TEXT("exec_id"), TEXT("sandbox_id"), TEXT("status"), WORDS("command"),
              TEXT("workdir"), TEXT("user"), BOOL("tty"), BOOL("background"), NUMBER("pid"),
              TIME("started_at"), TIME("ended_at"), MAYBE("exit_code", NUMBER), MAYBE("signal", TEXT),
              MAYBE("cause", TEXT), TEXT("cause_text"), TEXT("advice"), TEXTS("hints"),
              LIST("network_blocked", result_blocked), BOOL("lacks_network"), TEXTS("network_hints"),
              NUMBER("duration_ms"), NUMBER("wall_us"), NUMBER("cpu_us"), MAYBE("memory_peak_bytes", NUMBER),
              NUMBER("stdout_bytes"), NUMBER("stderr_bytes"), NUMBER("cut_bytes"), NUMBER("output_first"),
              NUMBER("output_end"), BOOL("output_gone"), LIST("output_lost", result_exec_lost),
              MAYBE("deadline_in_ms", NUMBER), BOOL("open_stdin"), NUMBER("watchers"),
              NUMBER("idle_limit_ms"), NUMBER("idle_ms"));
SHARED_RESULT(cay_result_exec_output, "ExecResult", ALSO(cay_result_exec), IF("stdout", TEXT),
              IF("stdout_base64", TEXT), IF("stderr", TEXT), IF("stderr_base64", TEXT),
              IF("stdout_truncated", BOOL), IF("stderr_truncated", BOOL), TEXT("execution_id"));
SHARED_RESULT(cay_result_file, "File", IF("name", TEXT), IF("name_base64", TEXT), TEXT("type"),
              NUMBER("size"), TEXT("mode"), NUMBER("uid"), NUMBER("gid"), TIME("modified_at"), TEXT("tag"),
              IF("target", TEXT), IF("target_base64", TEXT));
RESULT(result_bucket, NULL, NUMBER("le_ms"), NUMBER("count"));
SHARED_RESULT(cay_result_histogram, "Histogram", NUMBER("count"), NUMBER("sum_us"),
              LIST("buckets", result_bucket));
SHARED_RESULT(cay_result_metric_sandboxes, NULL, NUMBER("known"), NUMBER("alive"), NUMBER("links_lost"),
              COUNTS("states"), COUNTS("engines"));
SHARED_RESULT(cay_result_metric_used, NULL, NUMBER("sandboxes"), NUMBER("memory_bytes"),
              NUMBER("memory_limit_bytes"), NUMBER("cpu_us"), NUMBER("pids"));
