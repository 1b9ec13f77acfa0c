/* SPDX-License-Identifier: Apache-2.0 */
/* What a run came to, handed out one question at a time (cay.h): a struct could not grow. */
#include <string.h>

#include "libcay/api_priv.h"

static const char *const code_texts[] = {
#define CAY_CODE(name, word, doc) [CAY_##name] = doc,
#include "foundation/base/error_codes.def"
#undef CAY_CODE
};

const char *cay_version(void)
{
        return CAY_VERSION;
}

const char *cay_error_word(int code)
{
        return code >= 0 ? cay_code_word((enum cay_code)code) : "unknown";
}

const char *cay_error_text(int code)
{
        return code >= 0 && code < CAY_CODE_COUNT ? code_texts[code] : "unknown";
}

/* Whole names only. */
static void describe_blocked(struct cay_result *result)
{
        size_t at = 0;

        for (unsigned i = 0; i < result->run.blocked_count && i < CAY_RUN_BLOCKED_MAX; i++) {
                const struct cay_run_blocked *b = &result->run.blocked[i];
                char port[16] = "", text[sizeof(b->name) + 32];
                int n;

                if (b->is_failure)
                        continue;
                if (b->port > 0)
                        snprintf(port, sizeof(port), ":%u", b->port);
                n = snprintf(text, sizeof(text), "%s%s%s", at > 0 ? ", " : "", b->name, port);
                if (n < 0 || (size_t)n >= sizeof(result->blocked) - at)
                        return;
                memcpy(result->blocked + at, text, (size_t)n + 1);
                at += (size_t)n;
        }
}

void cay_result_describe(struct cay_result *result)
{
        size_t at = 0;

        for (unsigned cause = 0; cause < CAY_CAUSE_COUNT; cause++) {
                int n;

                if (!(result->run.verdict.hints & 1u << cause))
                        continue;
                n = snprintf(result->hints + at, sizeof(result->hints) - at, "%s%s", at > 0 ? ", " : "",
                             cay_cause_word(cause));
                at += n > 0 && (size_t)n < sizeof(result->hints) - at ? (size_t)n : 0;
        }
        cay_limit_mask_text(result->run.skipped, result->skipped, sizeof(result->skipped));
        cay_limit_mask_text(result->run.watched, result->watched, sizeof(result->watched));
        describe_blocked(result);
}

void cay_result_free(struct cay_result *result)
{
        if (result == NULL)
                return;
        cay_buf_done(&result->kept[0]);
        cay_buf_done(&result->kept[1]);
        free(result);
}

const char *cay_result_id(const struct cay_result *result)
{
        return result->run.id;
}

int cay_result_status(const struct cay_result *result)
{
        return result->run.status;
}

int cay_result_exit_code(const struct cay_result *result)
{
        return result->run.exit_code;
}

int cay_result_signal(const struct cay_result *result)
{
        return result->run.signal;
}

const char *cay_result_cause(const struct cay_result *result)
{
        return cay_cause_word(result->run.verdict.cause);
}

const char *cay_result_text(const struct cay_result *result)
{
        return result->run.verdict.text;
}

const char *cay_result_advice(const struct cay_result *result)
{
        return result->run.verdict.advice;
}

const char *cay_result_hints(const struct cay_result *result)
{
        return result->hints;
}

const char *cay_result_skipped(const struct cay_result *result)
{
        return result->skipped;
}

const char *cay_result_watched(const struct cay_result *result)
{
        return result->watched;
}

const char *cay_result_blocked(const struct cay_result *result)
{
        return result->blocked;
}

const char *cay_result_changes_error(const struct cay_result *result)
{
        return result->run.changes_error.msg;
}

const char *cay_result_leftover(const struct cay_result *result)
{
        return result->run.cleanup.msg;
}

const void *cay_result_output(const struct cay_result *result, int stream, size_t *ret_len)
{
        bool known = stream == CAY_STDOUT || stream == CAY_STDERR;

        if (ret_len != NULL)
                *ret_len = known ? result->kept[stream - 1].len : 0;
        return known ? cay_buf_data(&result->kept[stream - 1]) : "";
}

static uint64_t us_between(uint64_t from_ns, uint64_t to_ns)
{
        return from_ns != 0 && to_ns > from_ns ? (to_ns - from_ns) / 1000 : 0;
}

uint64_t cay_result_number(const struct cay_result *result, enum cay_number which)
{
        const struct cay_run_result *r = &result->run;

        switch (which) {
        case CAY_NUMBER_MEMORY_PEAK_BYTES:
                return r->memory_peak_bytes;
        case CAY_NUMBER_CPU_US:
                return r->cpu_us;
        case CAY_NUMBER_START_US:
                return us_between(r->start_ns, r->exec_ns);
        case CAY_NUMBER_RUN_US:
                return us_between(r->exec_ns, r->end_ns);
        case CAY_NUMBER_TOTAL_US:
                return us_between(r->start_ns, r->gone_ns);
        case CAY_NUMBER_STDOUT_BYTES:
                return r->out_bytes;
        case CAY_NUMBER_STDERR_BYTES:
                return r->err_bytes;
        case CAY_NUMBER_CUT_BYTES:
                return r->cut_bytes;
        case CAY_NUMBER_DENIED_CALLS:
                return r->denied_count;
        case CAY_NUMBER_CHANGES:
                return r->changes_entries;
        case CAY_NUMBER_CHANGES_LEFT_OUT:
                return r->changes_left_out;
        }
        return 0;
}
