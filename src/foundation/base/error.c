/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filling the caller's error object. Text is built aside first: arguments may point into the object itself.
 */

#include "foundation/base/error.h"

#include <limits.h>
#include <stdarg.h>

#include "foundation/base/utf8.h"

static const char *const words[] = {
#define CAY_CODE(name, word, doc) [CAY_##name] = word,
#include "foundation/base/error_codes.def"
#undef CAY_CODE
};
_Static_assert(CAY_COUNT(words) == CAY_CODE_COUNT, "one word per code");

static const char *const reasons[] = {
#define CAY_REASON(name, word, doc) [CAY_REASON_##name] = word,
#include "foundation/base/error_reasons.def"
#undef CAY_REASON
};
_Static_assert(CAY_COUNT(reasons) == CAY_REASON_COUNT, "one word per reason");

/* The length of what snprintf left in mem (size bytes), cut back to whole characters when it did not fit. */
static size_t settle(char *mem, size_t size, int wanted)
{
        size_t len;

        if (wanted < 0) {
                mem[0] = '\0';
                return 0;
        }
        if ((size_t)wanted < size)
                return (size_t)wanted;
        len = cay_utf8_cut(mem, size - 1);
        mem[len] = '\0';
        return len;
}

static void append(char *mem, size_t size, size_t *len, const char *text)
{
        int n = snprintf(mem + *len, size - *len, "%s", text);

        if (n < 0)
                mem[*len] = '\0';
        *len = settle(mem, size, n < 0 ? (int)*len : (int)*len + n);
}

CAY_PRINTF(3, 0)
static size_t format(char *mem, size_t size, const char *fmt, va_list ap)
{
        return settle(mem, size, vsnprintf(mem, size, fmt, ap));
}

static int set(struct cay_error *err, enum cay_code code, int sys, const char *msg)
{
        err->code = code;
        err->reason = CAY_REASON_NONE;
        err->sys = sys;
        memcpy(err->msg, msg, sizeof(err->msg));
        return -1;
}

/* GNU's strerror_r gives the text and may leave the buffer alone; POSIX's (musl) gives 0 and fills it. */
static inline const char *text_given(const char *given, const char *buf)
{
        return given;
}

static inline const char *text_filled(int r, const char *buf)
{
        return r == 0 ? buf : "unknown error";
}

/* strerror itself may hand one buffer to several threads. */
#define errno_text(sys, buf)                                                                                 \
        _Generic(strerror_r(sys, buf, sizeof(buf)), char *: text_given, int: text_filled)(                              \
                strerror_r(sys, buf, sizeof(buf)), buf)

int cay_fail(struct cay_error *err, enum cay_code code, const char *fmt, ...)
{
        char msg[sizeof(err->msg)] = { 0 };
        va_list ap;

        va_start(ap, fmt);
        format(msg, sizeof(msg), fmt, ap);
        va_end(ap);
        return set(err, code, 0, msg);
}

int cay_fail_because(struct cay_error *err, enum cay_code code, enum cay_reason reason, const char *fmt, ...)
{
        char msg[sizeof(err->msg)] = { 0 };
        va_list ap;

        va_start(ap, fmt);
        format(msg, sizeof(msg), fmt, ap);
        va_end(ap);
        set(err, code, 0, msg);
        err->reason = reason;
        return -1;
}

int cay_fail_sys(struct cay_error *err, enum cay_code code, int neg_errno, const char *fmt, ...)
{
        char msg[sizeof(err->msg)] = { 0 }, why[128];
        int sys = neg_errno >= 0 ? neg_errno : neg_errno == INT_MIN ? INT_MAX : -neg_errno;
        size_t len;
        va_list ap;

        va_start(ap, fmt);
        len = format(msg, sizeof(msg), fmt, ap);
        va_end(ap);
        append(msg, sizeof(msg), &len, ": ");
        append(msg, sizeof(msg), &len, errno_text(sys, why));
        return set(err, code, sys, msg);
}

int cay_wrap(struct cay_error *err, const char *fmt, ...)
{
        char msg[sizeof(err->msg)] = { 0 };
        size_t len;
        va_list ap;

        va_start(ap, fmt);
        len = format(msg, sizeof(msg), fmt, ap);
        va_end(ap);
        append(msg, sizeof(msg), &len, ": ");
        append(msg, sizeof(msg), &len, err->msg);
        memcpy(err->msg, msg, sizeof(err->msg));
        return -1;
}

const char *cay_code_word(enum cay_code code)
{
        return (unsigned)code < CAY_CODE_COUNT ? words[code] : "unknown";
}

const char *cay_reason_word(enum cay_reason reason)
{
        return (unsigned)reason < CAY_REASON_COUNT ? reasons[reason] : "";
}
