/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of cause.h, and the words for each outcome. */
#include "domain/model/cause.h"

#include <inttypes.h>
#include <signal.h>

#include "domain/model/limits.h"

static const struct {
        const char *word, *advice;
} rows[CAY_CAUSE_COUNT] = {
        [CAY_CAUSE_NONE] = { "none", "" },
#define CAY_CAUSE(name, word, advice) [CAY_CAUSE_##name] = { word, advice },
#include "domain/model/cause.def"
#undef CAY_CAUSE
};

static bool has_ended_badly(const struct cay_cause_facts *f)
{
        return f->signal != 0 || f->exit_code != 0;
}

/* Everything that was hit, as a bit set. */
static unsigned hits(const struct cay_cause_facts *f)
{
        unsigned bits = 0;

        if (f->oom_kills > 0)
                bits |= 1u << CAY_CAUSE_MEMORY;
        if (f->pids_refused > 0)
                bits |= 1u << CAY_CAUSE_PIDS;
        if (f->disk_blocks_full || f->disk_inodes_full || f->volumes_full)
                bits |= 1u << CAY_CAUSE_DISK;
        if (f->output_hit)
                bits |= 1u << CAY_CAUSE_OUTPUT;
        if (f->network_hit)
                bits |= 1u << CAY_CAUSE_NETWORK;
        if (f->denied_count > 0 || f->denied_syscall != NULL || f->signal == SIGSYS)
                bits |= 1u << CAY_CAUSE_SYSCALL;
        return bits;
}

static enum cay_cause choose(const struct cay_cause_facts *f, unsigned hit)
{
        static const enum cay_cause order[] = { CAY_CAUSE_MEMORY, CAY_CAUSE_PIDS, CAY_CAUSE_DISK,
                                                CAY_CAUSE_NETWORK };

        if (f->lost != CAY_CAUSE_NONE && f->killed_by_us == CAY_CAUSE_NONE)
                return f->lost == CAY_CAUSE_SANDBOX_GONE && f->oom_kills > 0 ? CAY_CAUSE_MEMORY : f->lost;
        if (f->not_started != NULL)
                return CAY_CAUSE_EXITED;
        if (!has_ended_badly(f))
                return CAY_CAUSE_EXITED;
        if (f->killed_by_us != CAY_CAUSE_NONE)
                return f->killed_by_us;
        for (unsigned i = 0; i < CAY_COUNT(order); i++)
                if (hit & 1u << order[i])
                        return order[i];
        if (f->denied_syscall != NULL || f->signal == SIGSYS)
                return CAY_CAUSE_SYSCALL;
        return f->signal != 0 ? CAY_CAUSE_SIGNALLED : CAY_CAUSE_EXITED;
}

static void say(struct cay_verdict *v, const struct cay_cause_facts *f)
{
        char a[48], b[48];
        size_t size = sizeof(v->text);

        switch (v->cause) {
        case CAY_CAUSE_EXITED:
                if (f->not_started != NULL)
                        snprintf(v->text, size, "not started: %s", f->not_started);
                else
                        snprintf(v->text, size, "exited with status %d", f->exit_code);
                break;
        case CAY_CAUSE_SIGNALLED:
                snprintf(v->text, size, "ended by signal %s", cay_signal_name(f->signal, a));
                break;
        case CAY_CAUSE_MEMORY:
                cay_limit_value_text(CAY_LIMIT_NR_memory_bytes, f->memory_limit, a, sizeof(a));
                cay_limit_value_text(CAY_LIMIT_NR_memory_bytes, f->memory_peak, b, sizeof(b));
                if (f->memory_limit == 0)
                        snprintf(v->text, size, "the machine ran out of memory (peak %s)", b);
                else if (f->memory_peak == 0)
                        snprintf(v->text, size, "memory limit of %s reached", a);
                else
                        snprintf(v->text, size, "memory limit of %s reached (peak %s)", a, b);
                break;
        case CAY_CAUSE_PIDS:
                snprintf(v->text, size,
                         "limit of %" PRIu64 " processes and threads reached (refused %" PRIu64 " %s)",
                         f->pids_limit, f->pids_refused, f->pids_refused == 1 ? "time" : "times");
                break;
        case CAY_CAUSE_DISK:
                if (f->disk_blocks_full)
                        snprintf(v->text, size, "disk limit of %s reached",
                                 cay_limit_value_text(CAY_LIMIT_NR_disk_bytes, f->disk_limit, a, sizeof(a)));
                else if (f->disk_inodes_full)
                        snprintf(v->text, size, "limit of %" PRIu64 " files on disk reached",
                                 f->inodes_limit);
                else
                        snprintf(v->text, size, "the volume '%s' is full",
                                 f->full_volume != NULL ? f->full_volume : "?");
                break;
        case CAY_CAUSE_NETWORK:
                snprintf(v->text, size, "network limit of %s in all reached",
                         cay_limit_value_text(CAY_LIMIT_NR_network_total, f->network_limit, a, sizeof(a)));
                break;
        case CAY_CAUSE_CPU_TIME:
                snprintf(v->text, size, "processor time limit of %s reached",
                         cay_limit_value_text(CAY_LIMIT_NR_cpu_time_ms, f->cpu_limit_ms, a, sizeof(a)));
                break;
        case CAY_CAUSE_WALL_TIME:
                snprintf(v->text, size, "time limit of %s reached",
                         cay_limit_value_text(CAY_LIMIT_NR_wall_ms, f->wall_limit_ms, a, sizeof(a)));
                break;
        case CAY_CAUSE_OUTPUT:
                snprintf(v->text, size, "output limit of %s reached",
                         cay_limit_value_text(CAY_LIMIT_NR_output_bytes, f->output_limit, a, sizeof(a)));
                break;
        case CAY_CAUSE_SYSCALL:
                snprintf(v->text, size, "blocked system call %s (%u %s denied)%s",
                         f->denied_syscall != NULL ? f->denied_syscall : "(name unknown)", f->denied_count,
                         f->denied_count == 1 ? "call" : "calls",
                         f->killed_by_us == CAY_CAUSE_SYSCALL ? ": ended" : "");
                break;
        case CAY_CAUSE_KILLED:
                snprintf(v->text, size, "ended on request");
                break;
        case CAY_CAUSE_SANDBOX_GONE:
                snprintf(v->text, size, "the sandbox ended without saying how the command did");
                break;
        case CAY_CAUSE_ENGINE_LOST:
                snprintf(v->text, size, "the engine went away while the command ran");
                break;
        case CAY_CAUSE_DAEMON_LOST:
                snprintf(v->text, size, "the daemon went away while the command ran");
                break;
        case CAY_CAUSE_NONE:
        case CAY_CAUSE_COUNT:
                break;
        }
}

struct cay_verdict cay_cause_judge(const struct cay_cause_facts *f)
{
        unsigned hit = hits(f);
        struct cay_verdict v = { .cause = choose(f, hit) };

        v.hints = hit & ~(1u << v.cause);
        v.advice = cay_cause_advice(v.cause);
        say(&v, f);
        return v;
}

const char *cay_cause_word(enum cay_cause c)
{
        return (unsigned)c < CAY_CAUSE_COUNT ? rows[c].word : "none";
}

const char *cay_cause_advice(enum cay_cause c)
{
        return (unsigned)c < CAY_CAUSE_COUNT ? rows[c].advice : "";
}

int cay_cause_exit_status(const struct cay_cause_facts *f, enum cay_cause cause, int asked)
{
        switch (cause) {
        case CAY_CAUSE_WALL_TIME:
        case CAY_CAUSE_CPU_TIME:
                return 124;
        case CAY_CAUSE_MEMORY:
                return 137;
        case CAY_CAUSE_SANDBOX_GONE:
        case CAY_CAUSE_ENGINE_LOST:
        case CAY_CAUSE_DAEMON_LOST:
        case CAY_CAUSE_NONE:
                return 125;
        case CAY_CAUSE_KILLED:
                if (asked > 0)
                        return 128 + asked;
                break;
        default:
                break;
        }
        if (f->exit_code >= 0)
                return f->exit_code;
        return 128 + (f->signal > 0 ? f->signal : SIGKILL);
}

#define SIGNAL(name) [SIG##name] = "SIG" #name

static const char *const signal_names[] = {
        SIGNAL(HUP),  SIGNAL(INT),    SIGNAL(QUIT),  SIGNAL(ILL),  SIGNAL(TRAP), SIGNAL(ABRT),   SIGNAL(BUS),
        SIGNAL(FPE),  SIGNAL(KILL),   SIGNAL(USR1),  SIGNAL(SEGV), SIGNAL(USR2), SIGNAL(PIPE),   SIGNAL(ALRM),
        SIGNAL(TERM), SIGNAL(STKFLT), SIGNAL(CHLD),  SIGNAL(CONT), SIGNAL(STOP), SIGNAL(TSTP),   SIGNAL(TTIN),
        SIGNAL(TTOU), SIGNAL(URG),    SIGNAL(XCPU),  SIGNAL(XFSZ), SIGNAL(PROF), SIGNAL(VTALRM), SIGNAL(POLL),
        SIGNAL(PWR),  SIGNAL(SYS),    SIGNAL(WINCH),
};

const char *cay_signal_name(int signo, char buf[CAY_SIGNAL_NAME_MAX])
{
        if (signo > 0 && (size_t)signo < CAY_COUNT(signal_names) && signal_names[signo] != NULL)
                snprintf(buf, CAY_SIGNAL_NAME_MAX, "%s", signal_names[signo]);
        else if (signo >= SIGRTMIN && signo <= SIGRTMAX)
                snprintf(buf, CAY_SIGNAL_NAME_MAX, "SIGRTMIN+%u", (unsigned)(signo - SIGRTMIN) % 64);
        else
                snprintf(buf, CAY_SIGNAL_NAME_MAX, "%d", signo);
        return buf;
}
