/* SPDX-License-Identifier: Apache-2.0 */
/* END of an exec as facts (box_client_end.h). */
#include "links/box/box_client_end.h"

#include <signal.h>

#include "foundation/base/str.h"
#include "domain/model/syscall_name.h"

void cay_box_clean_text(struct cay_view msg, char *buf, size_t size)
{
        size_t at = 0;

        for (uint32_t i = 0; i < msg.len && at + 1 < size; i++) {
                unsigned char c = (unsigned char)msg.ptr[i];

                buf[at++] = c >= 0x20 && c < 0x7f ? (char)c : '?';
        }
        buf[at] = '\0';
}

bool cay_box_end_is_plausible(const struct cay_box_end *end)
{
        const struct cay_box_exec_end *e = &end->exec;

        if (end->code != CAY_OK)
                return end->code < CAY_CODE_COUNT;
        return (e->exit_code >= 0 && e->exit_code <= 255 && e->signal == 0) ||
               (e->exit_code == -1 && e->signal > 0 && e->signal <= SIGRTMAX);
}

static enum cay_cause killed_cause(uint32_t killed)
{
        static const enum cay_cause causes[CAY_KILLED_COUNT] = {
                [CAY_KILLED_WALL_TIME] = CAY_CAUSE_WALL_TIME, [CAY_KILLED_CPU_TIME] = CAY_CAUSE_CPU_TIME,
                [CAY_KILLED_OUTPUT] = CAY_CAUSE_OUTPUT,       [CAY_KILLED_SYSCALL] = CAY_CAUSE_SYSCALL,
                [CAY_KILLED_ASKED] = CAY_CAUSE_KILLED,        [CAY_KILLED_MEMORY] = CAY_CAUSE_MEMORY,
        };

        return killed < CAY_KILLED_COUNT ? causes[killed] : CAY_CAUSE_NONE;
}

/* Status 127 or 126, as a shell has it, for what the caller can correct; else an internal failure. */
static int not_started(const struct cay_box_end *end, const char *argv0, struct cay_box_facts *ret,
                       struct cay_error *err)
{
        char why[96], name[49];

        cay_box_clean_text(end->msg, why, sizeof(why));
        cay_box_clean_text((struct cay_view){ argv0, (uint32_t)strlen(argv0) }, name, sizeof(name));
        switch (end->code) {
        case CAY_NOT_FOUND:
                ret->start_status = 127;
                break;
        case CAY_DENIED:
        case CAY_INVALID:
        case CAY_UNSUPPORTED:
                ret->start_status = 126;
                break;
        default:
                return cay_fail(err, end->code < CAY_CODE_COUNT ? (enum cay_code)end->code : CAY_INTERNAL,
                                "start '%s': %s", name, why);
        }
        snprintf(ret->not_started, sizeof(ret->not_started), "%s: %s", name, why);
        ret->facts.not_started = ret->not_started;
        ret->facts.exit_code = ret->start_status;
        return 0;
}

static void note_denied(const struct cay_box_exec_end *e, struct cay_box_facts *ret)
{
        const char *name = cay_syscall_name(e->last_denied);

        for (unsigned i = 0; i < e->denied_count && i < CAY_BOX_DENIED_MAX; i++)
                ret->denied_count += e->denied[i].count;
        ret->facts.denied_count = ret->denied_count;
        if (e->last_denied < 0)
                return;
        if (name != NULL)
                cay_str_copy(ret->denied_name, sizeof(ret->denied_name), name);
        else
                snprintf(ret->denied_name, sizeof(ret->denied_name), "number %d", e->last_denied);
        ret->facts.denied_syscall = ret->denied_name;
}

int cay_box_end_facts(const struct cay_box_end *end, const char *argv0, struct cay_box_facts *ret,
                      struct cay_error *err)
{
        const struct cay_box_exec_end *e = &end->exec;
        struct cay_cause_facts *f = &ret->facts;

        *ret = (struct cay_box_facts){ .facts.exit_code = -1 };
        if (end->code != CAY_OK)
                return not_started(end, argv0, ret, err);
        f->exit_code = e->exit_code;
        f->signal = e->signal;
        f->killed_by_us = killed_cause(e->killed);
        f->disk_blocks_full =
                e->disk_full & 1 || e->signal == SIGXFSZ; /* SIGXFSZ: the limit on one file is a disk limit */
        f->disk_inodes_full = e->disk_full & 2;
        f->volumes_full = e->disk_full / CAY_BOX_END_VOLUME0;
        f->oom_kills = e->disk_full & CAY_BOX_END_OOM ? 1 : 0;
        f->memory_peak = e->memory_peak_bytes;
        f->pids_refused = e->pids_hits;
        f->output_hit = e->cut_bytes > 0 || e->killed == CAY_KILLED_OUTPUT;
        note_denied(e, ret);
        return 0;
}
