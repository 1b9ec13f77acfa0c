/* SPDX-License-Identifier: Apache-2.0 */
/* Why a browser cannot start, or has ended, in words for clients. */
#include <stdio.h>
#include <string.h>

#include "domain/browser/browser_priv.h"

int cay_browser_check_limits(const struct cay_sandbox_view *view, struct cay_error *err)
{
        char text[32];

        if (view->limits->pids > 0 && view->limits->pids < CAY_BROWSER_PIDS_MIN)
                return cay_fail(
                        err, CAY_LIMIT,
                        "limits.pids: %llu is too few for a browser, which has about 60 threads with one "
                        "tab; use at least %u, better 512 (the template 'browser' does)",
                        (unsigned long long)view->limits->pids, CAY_BROWSER_PIDS_MIN);
        if (view->limits->memory_bytes > 0 && view->limits->memory_bytes < CAY_BROWSER_MEMORY_MIN)
                return cay_fail(
                        err, CAY_LIMIT,
                        "limits.memory: %s is too little for a browser; use at least 256 MiB, better 1 GiB "
                        "(the template 'browser' does)",
                        cay_limit_value_text(CAY_LIMIT_NR_memory_bytes, view->limits->memory_bytes, text,
                                             sizeof(text)));
        return 0;
}

/* The last line that it printed, without the place in Chromium's source. */
static const char *last_line(const struct cay_browser *b, char *ret, size_t size)
{
        const char *end = b->tail + b->tail_len, *at, *colon;

        while (end > b->tail && (end[-1] == '\n' || end[-1] == '\r'))
                end--;
        at = end;
        while (at > b->tail && at[-1] != '\n')
                at--;
        colon = at < end && *at == '[' ? memchr(at, ']', (size_t)(end - at)) : NULL;
        if (colon && colon + 2 < end)
                at = colon + 2;
        snprintf(ret, size, "%.*s", (int)(end - at), at);
        return ret;
}

static bool lacks_pids(const struct cay_browser *b, const struct cay_exec_view *view)
{
        return view->cause == CAY_CAUSE_PIDS || (view->hints & (1u << CAY_CAUSE_PIDS)) ||
               strstr(b->tail, "pthread_create: Resource temporarily unavailable") ||
               strstr(b->tail, "fork: Resource temporarily unavailable");
}

void cay_browser_explain(const struct cay_browser *b, const struct cay_exec_view *view, struct cay_error *ret)
{
        const char *when = cay_browser_is_ready(b) ? "the browser ended" : "the browser ended at its start";
        char line[160];

        *ret = (struct cay_error){ 0 };
        if (view->exit_code == 127)
                cay_fail(ret, CAY_UNSUPPORTED,
                         "this sandbox has no browser; install one on the machine (apt-get install "
                         "chromium-headless-shell), or use a template with Chromium");
        else if (cay_browser_is_closing(b))
                cay_fail_because(ret, CAY_CONFLICT, CAY_REASON_CLOSED, "the browser was stopped");
        else if (view->cause == CAY_CAUSE_MEMORY)
                cay_fail(ret, CAY_LIMIT, "%s: out of memory; give its sandbox more (limits.memory)", when);
        else if (lacks_pids(b, view))
                cay_fail(ret, CAY_LIMIT,
                         "%s: too few processes and threads; raise limits.pids (512 is enough)", when);
        else if (view->cause == CAY_CAUSE_DISK)
                cay_fail(ret, CAY_LIMIT, "%s: its sandbox's disk is full; raise limits.disk", when);
        else if (view->cause == CAY_CAUSE_EXITED && view->exit_code == 0)
                cay_fail_because(ret, CAY_CONFLICT, CAY_REASON_CLOSED, "the browser was closed");
        else if (view->cause == CAY_CAUSE_SANDBOX_GONE || view->cause == CAY_CAUSE_KILLED)
                cay_fail(ret, CAY_CONFLICT, "the browser ended: %.120s", view->cause_text);
        else
                cay_fail(ret, CAY_CONFLICT, "%s (%.80s): %s", when, view->cause_text,
                         last_line(b, line, sizeof(line)));
}
