/* SPDX-License-Identifier: Apache-2.0 */
/* The tables, next to nothing else: what writes the members is view.c and each op's own file. */
#include "domain/ops/answers.h"

#include <string.h>

#include "domain/ops/metrics.h"

/* clang-format off */
#define TEXT(n)      { n, CAY_ANSWER_TEXT }
#define TIME(n)      { n, CAY_ANSWER_TIME, CAY_ANSWER_NULLABLE }
#define NUMBER(n)    { n, CAY_ANSWER_NUMBER }
#define BOOL(n)      { n, CAY_ANSWER_BOOL }
#define TEXTS(n)     { n, CAY_ANSWER_TEXTS }
#define MAYBE(n, k)  { n, CAY_ANSWER_##k, CAY_ANSWER_NULLABLE }
#define IF(n, k)     { n, CAY_ANSWER_##k, CAY_ANSWER_OPTIONAL }
#define SOME(n, k)   { n, CAY_ANSWER_##k, CAY_ANSWER_OPTIONAL | CAY_ANSWER_NULLABLE }
#define OBJECT(n, s) { n, CAY_ANSWER_OBJECT, 0, &s }
#define LIST(n, s)   { n, CAY_ANSWER_LIST, 0, &s }
#define ALSO(s)      { "", CAY_ANSWER_ALSO, 0, &s }
#define SHAPE(var, text, ...)                                                                                \
        static const struct cay_answer_shape var = { text, (const struct cay_answer_field[]){ __VA_ARGS__, { NULL } } }

#define CAY_LIMIT(field, word, kind, min, max, doc) NUMBER(#field),
static const struct cay_answer_field limit_fields[] = {
#include "domain/model/limits.def"
        { NULL },
};
#undef CAY_LIMIT
static const struct cay_answer_shape limits = { "Limits", limit_fields };

/* Sandboxes */
SHAPE(workspace, "Workspace", TEXT("inside"), BOOL("mapped"), IF("mode", TEXT), IF("path", TEXT));
SHAPE(port, "PublishedPort", NUMBER("inside"), MAYBE("host", NUMBER));
SHAPE(volume, "Volume", TEXT("name"), TEXT("at"), BOOL("read_only"));
SHAPE(sandbox, "Sandbox",
      TEXT("sandbox_id"), MAYBE("name", TEXT), MAYBE("project_name", TEXT), TEXT("owner"), TEXT("template"),
      TEXT("engine"), TEXT("status"), MAYBE("cause", TEXT), TEXT("cause_text"), TEXT("advice"),
      TEXT("busy_with"), BOOL("kept"), BOOL("linked"), { "labels", CAY_ANSWER_PAIRS }, { "metadata", CAY_ANSWER_PAIRS },
      OBJECT("limits", limits), TEXTS("limits_skipped"), TEXTS("limits_watched"), TEXT("network"), TEXT("init"),
      LIST("ports", port), LIST("volumes", volume), OBJECT("workspace", workspace), BOOL("read_only"), BOOL("own_user_only"), TIME("created_at"),
      TIME("started_at"), TIME("changed_at"), MAYBE("expires_in_ms", NUMBER), NUMBER("idle_limit_ms"), MAYBE("idle_expires_in_ms", NUMBER),
      NUMBER("idle_ms"), NUMBER("execs_running"), NUMBER("execs_known"));
SHAPE(created, "CreatedSandbox", ALSO(sandbox), TEXT("execution_id"));
SHAPE(sandboxes, NULL, LIST("sandboxes", sandbox), MAYBE("next", TEXT));
SHAPE(destroyed, NULL, TEXT("sandbox_id"), TEXT("status"));
SHAPE(cleaned, NULL, BOOL("dry_run"), TEXTS("sandboxes"), NUMBER("destroyed"), NUMBER("failed"),
      MAYBE("first_failure", TEXT), BOOL("more"));
SHAPE(point, "StatsPoint", TIME("at"), NUMBER("cpu_milli"), NUMBER("memory_bytes"), NUMBER("pids"),
      NUMBER("rx_bytes_per_s"), NUMBER("tx_bytes_per_s"), NUMBER("loopback_bytes_per_s"));
SHAPE(stats, NULL, NUMBER("memory_bytes"), NUMBER("memory_peak_bytes"), NUMBER("oom_kills"), NUMBER("pids"),
      NUMBER("pids_refused"), NUMBER("cpu_us"), NUMBER("rx_bytes"), NUMBER("tx_bytes"), NUMBER("loopback_bytes"),
      { "history", CAY_ANSWER_LIST, CAY_ANSWER_OPTIONAL, &point });
SHAPE(event, "Event", NUMBER("seq"), TEXT("kind"), TEXT("sandbox_id"), TEXT("owner"), TIME("at"),
      MAYBE("detail", ANY));
SHAPE(events, NULL, LIST("events", event));

/* Templates */
SHAPE(image, "Image", TEXT("state"), MAYBE("image", TEXT), MAYBE("context", TEXT), NUMBER("size_bytes"), TIME("built_at"),
      MAYBE("step", TEXT), MAYBE("error", TEXT));
SHAPE(built, NULL, TEXT("template"), ALSO(image), BOOL("up_to_date"), TEXT("output"), NUMBER("took_ms"));
SHAPE(image_removed, NULL, TEXT("template"), NUMBER("removed"));
SHAPE(template_row, "Template",
      TEXT("name"), TEXT("description"), BOOL("available"), MAYBE("why", TEXT), TEXT("root"), TEXT("engine"),
      { "triggers", CAY_ANSWER_WORDS }, TEXT("network"), TEXT("init"), BOOL("read_only"), BOOL("needs_confirm"),
      BOOL("auto_cleanup"), OBJECT("limits", limits), NUMBER("life_time_ms"), NUMBER("idle_time_ms"),
      NUMBER("max_concurrent"), NUMBER("pool"), TEXTS("env"), { "command", CAY_ANSWER_WORDS },
      { "interpreter", CAY_ANSWER_WORDS }, BOOL("has_system"),
      { "build", CAY_ANSWER_OBJECT, CAY_ANSWER_OPTIONAL, &image });
SHAPE(template_list, NULL, LIST("templates", template_row), TEXT("origin"), TIME("loaded_at"), NUMBER("max_concurrent"),
      BOOL("auto_cleanup"), NUMBER("waiting"));
SHAPE(template_whole, NULL, ALSO(template_row), MAYBE("system", TEXT));

/* Messages */
SHAPE(intent_code, "IntentCode", TEXT("text"), MAYBE("language", TEXT), BOOL("guessed"), TEXT("kind"), NUMBER("block"),
      NUMBER("blocks"));
SHAPE(intent_template, "IntentTemplate", TEXT("name"), TEXT("matched_by"), BOOL("available"), BOOL("needs_confirm"));
SHAPE(intent_phrase, "IntentPhrase", TEXT("text"), TEXT("means"), NUMBER("weight"));
SHAPE(intent_danger, "IntentDanger", TEXT("what"), TEXT("text"), TEXT("where"));
SHAPE(intent, "Intent", TEXT("decision"), BOOL("execute"), BOOL("needs_confirm"), NUMBER("confidence"), TEXT("reason"),
      MAYBE("obstacle", TEXT), MAYBE("speech", TEXT),
      { "danger", CAY_ANSWER_OBJECT, CAY_ANSWER_OPTIONAL, &intent_danger }, { "code", CAY_ANSWER_OBJECT, CAY_ANSWER_OPTIONAL, &intent_code },
      { "template", CAY_ANSWER_OBJECT, CAY_ANSWER_OPTIONAL, &intent_template }, LIST("phrases", intent_phrase),
      { "scores", CAY_ANSWER_COUNTS });

/* Commands */
SHAPE(exec_lost, "OutputLost", NUMBER("from"), NUMBER("to"));
SHAPE(exec, "Exec",
      TEXT("exec_id"), TEXT("sandbox_id"), TEXT("status"), { "command", CAY_ANSWER_WORDS }, TEXT("workdir"), TEXT("user"),
      BOOL("tty"), BOOL("background"), NUMBER("pid"), TIME("started_at"), TIME("ended_at"),
      MAYBE("exit_code", NUMBER), MAYBE("signal", TEXT), MAYBE("cause", TEXT), TEXT("cause_text"),
      TEXT("advice"), TEXTS("hints"), NUMBER("duration_ms"), NUMBER("wall_us"), NUMBER("cpu_us"),
      MAYBE("memory_peak_bytes", NUMBER), NUMBER("stdout_bytes"), NUMBER("stderr_bytes"), NUMBER("cut_bytes"),
      NUMBER("output_first"), NUMBER("output_end"), BOOL("output_gone"), LIST("output_lost", exec_lost),
      MAYBE("deadline_in_ms", NUMBER), BOOL("open_stdin"), NUMBER("watchers"), NUMBER("idle_limit_ms"),
      NUMBER("idle_ms"));
SHAPE(exec_output, "ExecResult", ALSO(exec), IF("stdout", TEXT), IF("stdout_base64", TEXT), IF("stderr", TEXT),
      IF("stderr_base64", TEXT), IF("stdout_truncated", BOOL), IF("stderr_truncated", BOOL), TEXT("execution_id"));
SHAPE(run_output, "RunResult", ALSO(exec_output), TEXT("template"), BOOL("kept"), MAYBE("expires_in_ms", NUMBER),
      MAYBE("sandbox_idle_limit_ms", NUMBER));
SHAPE(execs, NULL, LIST("execs", exec));
SHAPE(screen, NULL, NUMBER("cursor"), NUMBER("end"), TEXT("begin"));
SHAPE(fed, NULL, NUMBER("bytes"), IF("offset", NUMBER));

/* Files */
SHAPE(file, "File", IF("name", TEXT), IF("name_base64", TEXT), TEXT("type"), NUMBER("size"), TEXT("mode"),
      NUMBER("uid"), NUMBER("gid"), TIME("modified_at"), TEXT("tag"), IF("target", TEXT), IF("target_base64", TEXT));
SHAPE(files, NULL, IF("path", TEXT), IF("path_base64", TEXT), LIST("entries", file), BOOL("more"));
SHAPE(found_files, NULL, TEXT("path"), LIST("entries", file), BOOL("more"), MAYBE("why", TEXT));
SHAPE(match, "Match", IF("name", TEXT), IF("name_base64", TEXT), NUMBER("line"), IF("text", TEXT), IF("text_base64", TEXT),
      BOOL("cut"));
SHAPE(matches, NULL, TEXT("path"), LIST("matches", match), NUMBER("files"), NUMBER("bytes"), BOOL("more"),
      MAYBE("why", TEXT));
SHAPE(written, NULL, IF("path", TEXT), IF("path_base64", TEXT), NUMBER("bytes"), TEXT("tag"));
SHAPE(unpacked, NULL, IF("path", TEXT), IF("path_base64", TEXT), TEXT("format"), NUMBER("bytes"), NUMBER("entries"));
SHAPE(changed, NULL, IF("path", TEXT), IF("path_base64", TEXT), NUMBER("entries"));
SHAPE(process, "Process", IF("cpu_ms", NUMBER), IF("memory_bytes", NUMBER), { "pid", CAY_ANSWER_EITHER, CAY_ANSWER_NULLABLE },
      { "parent", CAY_ANSWER_EITHER, CAY_ANSWER_NULLABLE }, { "channel", CAY_ANSWER_EITHER, CAY_ANSWER_NULLABLE },
      { "state", CAY_ANSWER_EITHER, CAY_ANSWER_NULLABLE }, MAYBE("command", TEXT));
SHAPE(processes, NULL, LIST("processes", process));
SHAPE(ports, NULL, { "ports", CAY_ANSWER_NUMBERS });
SHAPE(port_link, NULL, TEXT("url"), NUMBER("port"), TIME("expires_at"));
SHAPE(mcp_link, NULL, TEXT("url"), TIME("expires_at"));

/* The daemon */
SHAPE(live, NULL, TEXT("status"), TEXT("version"));
SHAPE(ready, NULL, TEXT("status"), TEXT("version"), IF("engine_up", BOOL),
      { "engine_why", CAY_ANSWER_TEXT, CAY_ANSWER_OPTIONAL | CAY_ANSWER_NULLABLE }, IF("sandboxes", NUMBER),
      IF("alive", NUMBER), IF("links_lost", NUMBER), IF("execs_running", NUMBER), IF("channels", NUMBER),
      IF("watchers", NUMBER), IF("creates", NUMBER), IF("create_failures", NUMBER), IF("execs", NUMBER),
      IF("adoptions", NUMBER), IF("relinks", NUMBER), IF("store_queued", NUMBER), IF("store_full", BOOL), IF("store_damaged", BOOL), IF("files_unclaimed", NUMBER),
      IF("store_bytes", NUMBER), IF("started_at", TIME), IF("engines_down", TEXTS));
SHAPE(files_left, "FilesLeft", TEXT("sandbox_id"), TEXT("engine"), BOOL("busy"));
SHAPE(files_list, NULL, LIST("files", files_left));
SHAPE(version, NULL, TEXT("name"), TEXT("version"));
SHAPE(engine, "Engine", TEXT("name"), BOOL("available"), BOOL("default"), BOOL("up"), MAYBE("why", TEXT),
      MAYBE("chosen", TEXT), IF("isolates", BOOL), IF("users", BOOL), IF("keeps", BOOL), IF("pauses", BOOL),
      IF("bridges", BOOL), IF("ports", BOOL), IF("volumes", BOOL), IF("runs_once", BOOL), IF("limits", TEXTS), IF("alive", NUMBER));
SHAPE(engines, NULL, LIST("engines", engine));
SHAPE(setting, "Setting", TEXT("value"), TEXT("source"), TEXT("doc"));
SHAPE(settings, NULL, { "*", CAY_ANSWER_MAP, 0, &setting });
SHAPE(bucket, NULL, NUMBER("le_ms"), NUMBER("count"));
SHAPE(histogram, "Histogram", NUMBER("count"), NUMBER("sum_us"), LIST("buckets", bucket));
SHAPE(metric_minute, NULL, NUMBER("ago"), NUMBER("count"), NUMBER("p50_us"), NUMBER("p99_us"), NUMBER("max_us"));
SHAPE(metric_recent, "LastHour", NUMBER("count"), NUMBER("p50_us"), NUMBER("p99_us"), NUMBER("max_us"),
      LIST("minutes", metric_minute));
SHAPE(metric_hour, NULL, OBJECT("create", metric_recent), OBJECT("exec_start", metric_recent),
      OBJECT("exec_run", metric_recent));
SHAPE(metric_sandboxes, NULL, NUMBER("known"), NUMBER("alive"), NUMBER("links_lost"), { "states", CAY_ANSWER_COUNTS },
      { "engines", CAY_ANSWER_COUNTS });
SHAPE(metric_creations, NULL, NUMBER("started"), NUMBER("failed"), IF("waiting", NUMBER), OBJECT("latency", histogram));
SHAPE(metric_execs, NULL, NUMBER("started"), NUMBER("running"), NUMBER("ended"), { "causes", CAY_ANSWER_COUNTS },
      OBJECT("start_latency", histogram), OBJECT("duration", histogram), NUMBER("cpu_us"));
SHAPE(metric_used, NULL, NUMBER("sandboxes"), NUMBER("memory_bytes"), NUMBER("memory_limit_bytes"), NUMBER("cpu_us"),
      NUMBER("pids"));
SHAPE(metric_pool, NULL, NUMBER("ready"));
SHAPE(metric_daemon, NULL, BOOL("engine_up"), NUMBER("adoptions"), NUMBER("relinks"), NUMBER("store_bytes"),
      NUMBER("store_queued"), TIME("started_at"));
SHAPE(metrics, "Metrics", TEXT("covers"), OBJECT("sandboxes", metric_sandboxes), OBJECT("creations", metric_creations),
      OBJECT("execs", metric_execs), OBJECT("last_hour", metric_hour), OBJECT("resources", metric_used), OBJECT("pool", metric_pool),
      { "http_answers", CAY_ANSWER_COUNTS, CAY_ANSWER_OPTIONAL },
      { "daemon", CAY_ANSWER_OBJECT, CAY_ANSWER_OPTIONAL, &metric_daemon });

/* Who */
SHAPE(whoami, NULL, TEXT("owner"), TEXT("scope"), TEXT("door"), MAYBE("id", TEXT));
SHAPE(login, NULL, TEXT("login"), TEXT("link"), TEXT("owner"), TEXT("scope"), NUMBER("expires_in_ms"));
SHAPE(session, NULL, TEXT("owner"), TEXT("scope"), TIME("expires_at"));
SHAPE(nothing, NULL, { NULL });
SHAPE(token, NULL, TEXT("token"), TEXT("owner"), TEXT("scope"), TIME("expires_at"));
SHAPE(key, "Key", TEXT("key_id"), TEXT("owner"), TEXT("scope"), TEXT("label"), TIME("created_at"), TIME("used_at"),
      TIME("revoked_at"));
SHAPE(key_made, NULL, ALSO(key), TEXT("key"));
SHAPE(keys, NULL, LIST("keys", key));

/* Other dialects' (dialect/containers, dialect/service): what a run came to, then each answer */
SHAPE(foreign_run, NULL, TEXT("execution_id"), MAYBE("exit_code", NUMBER), MAYBE("signal", TEXT), MAYBE("cause", TEXT),
      TEXT("cause_text"), TEXT("advice"), NUMBER("duration_ms"), BOOL("stdout_truncated"), BOOL("stderr_truncated"),
      IF("stdout", TEXT), IF("stdout_base64", TEXT), IF("stderr", TEXT), IF("stderr_base64", TEXT));
SHAPE(container_security, NULL, TEXT("network_mode"), BOOL("read_only"), BOOL("needs_confirm"));
SHAPE(container_row, "ContainerEnvironment", TEXT("name"), TEXT("description"), { "triggers", CAY_ANSWER_WORDS },
      BOOL("available"), MAYBE("reason", TEXT), TEXT("build"), TEXT("source"), OBJECT("security", container_security),
      OBJECT("limits", limits), BOOL("auto_cleanup"), NUMBER("max_concurrent"), BOOL("has_system"));
SHAPE(container_settings, NULL, BOOL("auto_cleanup"), NUMBER("max_concurrent"));
SHAPE(container_list, NULL, LIST("containers", container_row), OBJECT("settings", container_settings));
SHAPE(container_life, NULL, MAYBE("expires_in_ms", NUMBER), MAYBE("idle_limit_ms", NUMBER));
SHAPE(container_exec, "ContainerRun", TEXT("container_id"), TEXT("status"), TEXT("exec_id"), ALSO(foreign_run));
SHAPE(container_run, "ContainerStart", TEXT("container"), ALSO(container_exec), BOOL("removed"), ALSO(container_life));
SHAPE(container_made, "ContainerMade", TEXT("container"), TEXT("container_id"), TEXT("status"), TEXT("execution_id"),
      ALSO(container_life), MAYBE("idle_expires_in_ms", NUMBER), BOOL("removed"));
SHAPE(container_stopped, NULL, TEXT("container_id"), TEXT("status"));
SHAPE(container_active, "Container", TEXT("container_id"), TEXT("container"), MAYBE("name", TEXT), TEXT("status"),
      OBJECT("limits", limits), TIME("created_at"), NUMBER("idle_ms"), NUMBER("execs_running"), ALSO(container_life),
      MAYBE("idle_expires_in_ms", NUMBER));
SHAPE(container_status, NULL, LIST("containers", container_active), NUMBER("active"), MAYBE("next", TEXT));
SHAPE(container_cleaned, NULL, NUMBER("cleaned"), NUMBER("failed"), TEXTS("containers"), BOOL("more"));
SHAPE(service_resources, NULL, SOME("sandboxes", NUMBER), SOME("alive", NUMBER), SOME("execs_running", NUMBER),
      SOME("creates", NUMBER), SOME("execs", NUMBER), SOME("engine_up", BOOL), SOME("started_at", TIME));
SHAPE(service_health, "ServiceHealth", TEXT("status"), TEXT("service"), TEXT("version"), TIME("timestamp"),
      OBJECT("resources", service_resources));
SHAPE(service_run, "ServiceRun", BOOL("success"), TEXT("status"), TEXT("sandbox_type"), TEXT("sandbox_id"), NUMBER("cpu_us"),
      MAYBE("memory_peak_bytes", NUMBER), ALSO(foreign_run), { "metadata", CAY_ANSWER_WHATEVER });
SHAPE(service_executions, NULL, NUMBER("started"), NUMBER("ended"), NUMBER("running"));
SHAPE(service_latencies, NULL, OBJECT("create", histogram), OBJECT("start", histogram), OBJECT("run", histogram));
SHAPE(service_metrics, "ServiceMetrics", TEXT("service"), TIME("timestamp"), OBJECT("executions", service_executions),
      { "causes", CAY_ANSWER_COUNTS }, OBJECT("latencies", service_latencies), OBJECT("sandboxes", metric_sandboxes),
      OBJECT("resources", metric_used));
SHAPE(service_cleaned, NULL, TEXT("status"), NUMBER("cleaned"), NUMBER("failed"), TEXTS("sandboxes"));

#define OK CAY_OP_OK, CAY_OP_OK
#define CREATED CAY_OP_CREATED, CAY_OP_CREATED
static const struct cay_answer answers[] = {
        { "sandbox_create", CREATED, &created },      { "sandbox_list", OK, &sandboxes },
        { "sandbox_get", OK, &sandbox },              { "sandbox_start", OK, &sandbox },
        { "sandbox_stop", OK, &sandbox },             { "sandbox_pause", OK, &sandbox },
        { "sandbox_resume", OK, &sandbox },           { "sandbox_extend", OK, &sandbox },
        { "sandbox_destroy", OK, &destroyed },        { "sandbox_cleanup", OK, &cleaned },
        { "sandbox_stats", OK, &stats },              { "sandbox_events", OK, &events },
        { "event_list", OK, &events },                { "template_list", OK, &template_list },
        { "intent_detect", OK, &intent },
        { "template_get", OK, &template_whole },      { "code_run", OK, &run_output },
        { "template_build", OK, &built },             { "template_remove", OK, &image_removed },
        { "exec_run", CAY_OP_OK, CAY_OP_ACCEPTED, &exec_output },
        { "exec_list", OK, &execs },                  { "exec_get", OK, &exec },
        { "exec_attach", OK, NULL, "application/octet-stream" },
        { "exec_screen", OK, &screen },
        { "exec_input", OK, &fed },                   { "exec_resize", OK, &exec },
        { "exec_signal", OK, &exec },                 { "exec_kill", OK, &exec },
        { "file_read", OK, NULL, "application/octet-stream" },
        { "file_write", OK, &written },               { "file_list", OK, &files },
        { "file_find", OK, &found_files },            { "file_search", OK, &matches },
        { "file_stat", OK, &file },                   { "file_mkdir", OK, &changed },
        { "file_move", OK, &changed },                { "file_remove", OK, &changed },
        { "file_watch", OK, NULL },
        { "archive_get", OK, NULL, "application/x-tar application/gzip application/zstd" },
        { "archive_put", OK, &unpacked },             { "process_list", OK, &processes },
        { "port_list", OK, &ports },                  { "port_link", CREATED, &port_link },
        { "mcp_link", CREATED, &mcp_link },
        { "health_live", OK, &live },                 { "health_ready", OK, &ready },
        { "metrics_get", OK, &metrics },              { "metrics_text", OK, NULL, "text/plain" },
        { "version_get", OK, &version },              { "engine_list", OK, &engines },
        { "config_get", OK, &settings },              { "whoami", OK, &whoami },
        { "login_make", CREATED, &login },            { "login_use", OK, &session },
        { "logout", OK, &nothing },                   { "token_make", CREATED, &token },
        { "key_make", CREATED, &key_made },           { "key_list", OK, &keys },
        { "key_revoke", OK, &key },
        { "recover_list", OK, &files_list },          { "recover_adopt", CREATED, &sandbox },
        { "recover_remove", OK, &destroyed },
        { "containers_list", OK, &container_list },   { "containers_exec", OK, &container_exec },
        { "containers_start", CAY_OP_OK, CAY_OP_CREATED, &container_run, NULL, &container_made },
        { "containers_stop", OK, &container_stopped }, { "containers_status", OK, &container_status },
        { "containers_cleanup", OK, &container_cleaned },
        { "service_health", OK, &service_health },    { "service_healthz", OK, &service_health },
        { "service_sandbox_health", OK, &service_health },
        { "service_execute", OK, &service_run },      { "service_metrics", OK, &service_metrics },
        { "service_cleanup", OK, &service_cleaned },
};
/* clang-format on */

const struct cay_answer *cay_answer_find(const char *op)
{
        for (size_t i = 0; i < CAY_COUNT(answers); i++)
                if (strcmp(answers[i].op, op) == 0)
                        return &answers[i];
        return NULL;
}
