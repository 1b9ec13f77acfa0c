/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox of this API lives for one request; its limits are settings (SANDBOX_MAX_…). */
#include "dialects/sandbox_service/service_api.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "domain/model/sandbox_options.h"
#include "domain/settings/config.h"
#include "dialects/shared/foreign.h"
#include "domain/ops/browser_act.h"
#include "domain/ops/view.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/metrics.h"
#include "domain/ops/results.h"

#define TIMEOUT_MS 30000u
#define IDLE_MS 60000u /* the default time without use */

static uint64_t now(const struct cay_foreign *f)
{
        struct cay_clock_reading reading;

        f->world->clock->read(f->world->clock, &reading);
        return reading.wall_ms;
}

/* Health */

static void health_answer(const struct cay_foreign *f, const struct cay_json_value *answer,
                          struct cay_json *j)
{
        static const char *const figures[] = { "sandboxes", "alive",     "execs_running", "creates",
                                               "execs",     "engine_up", "started_at" };

        cay_op_key_text(j, "status", "healthy");
        cay_op_key_text(j, "service", "sandbox");
        cay_foreign_copy(j, "version", answer, "version");
        cay_op_key_time(j, "timestamp", now(f));
        cay_json_key(j, "resources");
        cay_json_begin_object(j);
        for (size_t i = 0; f->is_known && i < CAY_COUNT(figures); i++)
                cay_foreign_copy(j, figures[i], answer, figures[i]);
        cay_json_end_object(j);
}

static const struct cay_foreign_row health_row = { .dialect = CAY_OP_SERVICE,
                                                   .op = "health_ready",
                                                   .put_answer = health_answer };

/* Running */

struct execute_args {
        const char *sandbox_type, *action, *code, *url, *language, *execution_id, *confirm;
        const struct cay_json_value *metadata;
        uint64_t timeout_ms;
        struct cay_sandbox_options options;
};

#define AT(member) offsetof(struct execute_args, member)

static const struct cay_field execute_fields[] = {
        { "sandbox_type", CAY_FIELD_TEXT, AT(sandbox_type), 0, "code (default) or browser", .max = 63 },
        { "action", CAY_FIELD_TEXT, AT(action), 0,
          "execute (default); browser: also navigate, screenshot, dom, network, which do the same",
          .max = 63 },
        { "code", CAY_FIELD_TEXT, AT(code), 0,
          "what to run; browser: JavaScript in the page, may be left out", .max = 1024 * 1024 },
        { "url", CAY_FIELD_TEXT, AT(url), 0, "browser: where to go; code does not look at it", .max = 4096 },
        { "language", CAY_FIELD_TEXT, AT(language), 0, "of the code; default: python", .max = 63 },
        { "timeout", CAY_FIELD_DURATION, AT(timeout_ms), 0, "seconds; default: 30" },
#define CAY_SANDBOX_FIELD(kind, name, uses, head, doc)                                                       \
        CAY_OPTION_IF_ASKED_##uses(CAY_OPTION_ROW(kind, name, AT(options.name), doc), )
#include "domain/model/sandbox_fields.def"
#undef CAY_SANDBOX_FIELD
        { "metadata", CAY_FIELD_ANY, AT(metadata), 0, "comes back with the answer" },
        { "execution_id", CAY_FIELD_TEXT, AT(execution_id), 0, "single-use id", .min = 1,
          .max = CAY_SERVICE_CLAIM_MAX },
        { "confirm", CAY_FIELD_TEXT, AT(confirm), 0, "the token of a confirmation", .min = 1, .max = 128 },
        {},
};

static bool is_browser(const struct execute_args *a)
{
        return a->sandbox_type && strcmp(a->sandbox_type, "browser") == 0;
}

static bool knows_action(const struct execute_args *a)
{
        static const char *const of_browsers[] = { "navigate", "screenshot", "dom", "network" };

        if (!a->action || strcmp(a->action, "execute") == 0)
                return true;
        for (unsigned i = 0; is_browser(a) && i < CAY_COUNT(of_browsers); i++)
                if (strcmp(of_browsers[i], a->action) == 0)
                        return true;
        return false;
}

static int check_execute(const struct execute_args *a, const char **ret_field, struct cay_error *err)
{
        *ret_field = "sandbox_type";
        if (a->sandbox_type && !is_browser(a) && strcmp(a->sandbox_type, "code") != 0)
                return cay_fail(err, CAY_INVALID, "sandbox_type: '%.40s' must be code or browser",
                                a->sandbox_type);
        *ret_field = "action";
        if (!knows_action(a))
                return cay_fail(err, CAY_INVALID, "action: '%.40s' must be execute%s", a->action,
                                is_browser(a) ? ", navigate, screenshot, dom or network" : "");
        *ret_field = "url";
        if (is_browser(a) && (!a->url || a->url[0] == '\0'))
                return cay_fail(err, CAY_INVALID, "url: is required for a browser");
        *ret_field = "code";
        if (!is_browser(a) && (!a->code || a->code[0] == '\0'))
                return cay_fail(err, CAY_INVALID, "code: is required");
        *ret_field = NULL;
        return 0;
}

static const char *execute_choose(const struct cay_foreign *f)
{
        return is_browser(f->args) ? "browser_run" : "code_run";
}

/*
 * Threads of a browser count as processes: what is allowed for code would not let it start, so there the
 * template counts.
 */
static void put_limits(struct cay_json *j, const struct cay_config *config, bool for_browser)
{
        char cpus[32];

        snprintf(cpus, sizeof(cpus), "%" PRIu64 ".%03u", config->max_cpu / 1000,
                 (unsigned)(config->max_cpu % 1000));
        cay_json_key(j, "limits");
        cay_json_begin_object(j);
        cay_op_key_u64(j, "memory", config->max_memory);
        cay_op_key_text(j, "cpus", cpus);
        if (!for_browser)
                cay_op_key_u64(j, "pids", config->max_pids);
        cay_json_end_object(j);
}

#define PUT_BOOL cay_op_key_bool
#define PUT_NUMBER cay_op_key_u64
#define PUT_TEXT cay_op_key_text

static int browse_put(const struct cay_foreign *f, struct cay_json *j)
{
        const struct execute_args *a = f->args;

        cay_op_key_text(j, "url", a->url);
        cay_foreign_text(j, "expression", a->code && a->code[0] ? a->code : NULL);
        cay_foreign_ms(j, "timeout", a->timeout_ms ? a->timeout_ms : TIMEOUT_MS);
        cay_foreign_text(j, "execution_id", a->execution_id);
        put_limits(j, f->world->config, true);
        return 0;
}

static int execute_put(const struct cay_foreign *f, struct cay_json *j, const char **ret_field,
                       struct cay_error *err)
{
        const struct execute_args *a = f->args;

        if (check_execute(a, ret_field, err) < 0)
                return -1;
        if (is_browser(a))
                return browse_put(f, j);
        cay_op_key_text(j, "code", a->code);
        cay_foreign_text(j, "language", a->language);
        cay_foreign_ms(j, "timeout", a->timeout_ms ? a->timeout_ms : TIMEOUT_MS);
#define CAY_SANDBOX_FIELD(kind, name, uses, head, doc)                                                       \
        CAY_OPTION_IF_ASKED_##uses(if (a->options.name) PUT_##kind(j, #name, a->options.name);)
#include "domain/model/sandbox_fields.def"
#undef CAY_SANDBOX_FIELD
        cay_foreign_text(j, "execution_id", a->execution_id);
        cay_foreign_text(j, "confirm", a->confirm);
        put_limits(j, f->world->config, false);
        return 0;
}

static void browse_answer(const struct cay_foreign *f, const struct cay_json_value *answer,
                          struct cay_json *j)
{
        static const char *const same[] = { "sandbox_id", "url", "title", NULL };
        static const char *const picture[] = { "screenshot_type", "screenshot_base64", NULL };
        const struct execute_args *a = f->args;

        cay_op_key_bool(j, "success", true);
        cay_op_key_text(j, "status", "completed");
        cay_op_key_text(j, "sandbox_type", "browser");
        cay_foreign_copy_all(j, answer, same);
        cay_foreign_copy(j, "status_code", answer, "status");
        cay_foreign_copy(j, "result", answer, "value");
        cay_foreign_copy_all(j, answer, picture);
        cay_foreign_copy(j, "dom", answer, "html");
        cay_foreign_copy(j, "network_requests", answer, "requests");
        cay_foreign_copy(j, "console", answer, "messages");
        cay_foreign_copy(j, "duration_ms", answer, "took_ms");
        cay_foreign_text(j, "execution_id", a->execution_id);
        cay_foreign_put(j, "metadata", a->metadata);
}

static void execute_answer(const struct cay_foreign *f, const struct cay_json_value *answer,
                           struct cay_json *j)
{
        static const char *const same[] = { "sandbox_id", "cpu_us", "memory_peak_bytes", NULL };
        const struct execute_args *a = f->args;
        int64_t code = -1;
        bool ok = cay_json_value_i64(cay_json_value_find(answer, "exit_code"), &code) && code == 0;

        if (is_browser(a)) {
                browse_answer(f, answer, j);
                return;
        }
        cay_op_key_bool(j, "success", ok);
        cay_op_key_text(j, "status", ok ? "completed" : "failed");
        cay_op_key_text(j, "sandbox_type", "code");
        cay_foreign_copy_all(j, answer, same);
        cay_foreign_copy_run(j, answer);
        cay_foreign_put(j, "metadata", a->metadata);
}

static const struct cay_foreign_row execute_row = { .dialect = CAY_OP_SERVICE,
                                                    .op = "code_run",
                                                    .choose = execute_choose,
                                                    .fields = execute_fields,
                                                    .args_size = sizeof(struct execute_args),
                                                    .put_args = execute_put,
                                                    .put_answer = execute_answer };

/* Figures */

static void metrics_answer(const struct cay_foreign *f, const struct cay_json_value *answer,
                           struct cay_json *j)
{
        const struct cay_json_value *execs = cay_json_value_find(answer, "execs");
        const struct cay_json_value *creates = cay_json_value_find(answer, "creations");

        cay_op_key_text(j, "service", "sandbox");
        cay_op_key_time(j, "timestamp", now(f));
        cay_json_key(j, "executions");
        cay_json_begin_object(j);
        cay_foreign_copy(j, "started", execs, "started");
        cay_foreign_copy(j, "ended", execs, "ended");
        cay_foreign_copy(j, "running", execs, "running");
        cay_json_end_object(j);
        cay_foreign_copy(j, "causes", execs, "causes");
        cay_json_key(j, "latencies");
        cay_json_begin_object(j);
        cay_foreign_copy(j, "create", creates, "latency");
        cay_foreign_copy(j, "start", execs, "start_latency");
        cay_foreign_copy(j, "run", execs, "duration");
        cay_json_end_object(j);
        cay_foreign_copy(j, "sandboxes", answer, "sandboxes");
        cay_foreign_copy(j, "resources", answer, "resources");
}

static const struct cay_foreign_row metrics_row = { .dialect = CAY_OP_SERVICE,
                                                    .op = "metrics_get",
                                                    .put_answer = metrics_answer };

/* Cleanup */

struct cleanup_args {
        uint64_t idle_ms;
};

static const struct cay_field cleanup_fields[] = {
        { "idle_for", CAY_FIELD_DURATION, offsetof(struct cleanup_args, idle_ms), 0,
          "without use for so long (at least 1 s); default: 60", .min = 1000 },
        {},
};

static int cleanup_put(const struct cay_foreign *f, struct cay_json *j, const char **ret_field,
                       struct cay_error *err)
{
        const struct cleanup_args *a = f->args;

        (void)ret_field;
        (void)err;
        cay_foreign_ms(j, "idle_for", a->idle_ms ? a->idle_ms : IDLE_MS);
        return 0;
}

static void cleanup_answer(const struct cay_foreign *f, const struct cay_json_value *answer,
                           struct cay_json *j)
{
        (void)f;
        cay_op_key_text(j, "status", "success");
        cay_foreign_copy(j, "cleaned", answer, "destroyed");
        cay_foreign_copy(j, "failed", answer, "failed");
        cay_foreign_copy(j, "sandboxes", answer, "sandboxes");
}

static const struct cay_foreign_row cleanup_row = { .dialect = CAY_OP_SERVICE,
                                                    .op = "sandbox_cleanup",
                                                    .fields = cleanup_fields,
                                                    .args_size = sizeof(struct cleanup_args),
                                                    .put_args = cleanup_put,
                                                    .put_answer = cleanup_answer };

RESULT(result_service_resources, NULL, SOME("sandboxes", NUMBER), SOME("alive", NUMBER),
       SOME("execs_running", NUMBER), SOME("creates", NUMBER), SOME("execs", NUMBER), SOME("engine_up", BOOL),
       SOME("started_at", TIME));
RESULT(result_service_health, "ServiceHealth", TEXT("status"), TEXT("service"), TEXT("version"),
       TIME("timestamp"), OBJECT("resources", result_service_resources));

/* Of code, and of a browser: both have what is not optional. */
RESULT(result_service_run, "ServiceRun", BOOL("success"), TEXT("status"), TEXT("sandbox_type"),
       TEXT("sandbox_id"), WHATEVER("metadata"), IF("cpu_us", NUMBER), SOME("memory_peak_bytes", NUMBER),
       RESULT_ROW_("", ALSO, CAY_RESULT_OPTIONAL, &cay_foreign_result_run), IF("url", TEXT),
       IF("title", TEXT), SOME("status_code", NUMBER), IF("result", WHATEVER), IF("screenshot_type", TEXT),
       SOME("screenshot_base64", TEXT), IF("dom", TEXT),
       IF_LIST("network_requests", cay_result_browser_request),
       IF_LIST("console", cay_result_browser_message));

RESULT(result_service_executions, NULL, NUMBER("started"), NUMBER("ended"), NUMBER("running"));
RESULT(result_service_latencies, NULL, OBJECT("create", cay_result_histogram),
       OBJECT("start", cay_result_histogram), OBJECT("run", cay_result_histogram));
RESULT(result_service_metrics, "ServiceMetrics", TEXT("service"), TIME("timestamp"),
       OBJECT("executions", result_service_executions), COUNTS("causes"),
       OBJECT("latencies", result_service_latencies), OBJECT("sandboxes", cay_result_metric_sandboxes),
       OBJECT("resources", cay_result_metric_used));

RESULT(result_service_cleaned, NULL, TEXT("status"), NUMBER("cleaned"), NUMBER("failed"), TEXTS("sandboxes"));

/* In the order of the reference. */
#define HEALTH "Whether the service is up; with a token also figures"

static const struct cay_op listed[] = {
        {
                .name = "service_health",
                .route = "GET /health",
                .doc = HEALTH,
                .flags = CAY_OP_OPEN,
                .result = &result_service_health,
        },
        {
                .name = "service_healthz",
                .route = "GET /healthz",
                .doc = HEALTH,
                .flags = CAY_OP_OPEN,
                .result = &result_service_health,
        },
        {
                .name = "service_sandbox_health",
                .route = "GET /sandbox/health",
                .doc = HEALTH,
                .flags = CAY_OP_OPEN,
                .result = &result_service_health,
        },
        {
                .name = "service_execute",
                .route = "POST /sandbox/execute",
                .doc = "Runs code, or opens a page in a browser, in a sandbox made for it, within the "
                       "service's own limits "
                       "(SANDBOX_MAX_...)",
                .scope = CAY_SCOPE_EXEC,
                .flags = CAY_OP_STREAM,
                .fields = execute_fields,
                .result = &result_service_run,
        },
        {
                .name = "service_metrics",
                .route = "GET /sandbox/metrics",
                .doc = "Figures: executions, causes, latencies, what is in use",
                .scope = CAY_SCOPE_READ,
                .result = &result_service_metrics,
        },
        {
                .name = "service_cleanup",
                .route = "POST /sandbox/cleanup",
                .doc = "Destroys one's sandboxes that nobody has used for a while",
                .scope = CAY_SCOPE_EXEC,
                .flags = CAY_OP_DESTRUCTIVE,
                .fields = cleanup_fields,
                .result = &result_service_cleaned,
        },
};

#define ROW(nr, route, open, translation)                                                                    \
        {                                                                                                    \
                .row = route, .listed = &listed[nr], .is_open = (open), .handle = cay_foreign_handle,        \
                .owner = &(translation)                                                                      \
        }

const struct cay_rest_more cay_service_rows[] = {
        ROW(0, "GET /health", true, health_row),
        ROW(1, "GET /healthz", true, health_row),
        ROW(2, "GET /sandbox/health", true, health_row),
        ROW(3, "POST /sandbox/execute", false, execute_row),
        ROW(4, "GET /sandbox/metrics", false, metrics_row),
        ROW(5, "POST /sandbox/cleanup", false, cleanup_row),
};
const unsigned cay_service_count = CAY_COUNT(cay_service_rows);
