/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line per event, in one write, no allocation: a fixed event text, then key=value pairs.
 *
 *     cay_log_info("sandbox started", "id=%s ms=%u", id, ms);
 *     cay_log_warn("cgroup still busy, ignoring");
 *
 * The format is a literal, keys included. Values are data: they are quoted and escaped, so that no value can
 * end the line, start a key of its own or steer a terminal. Conversions: %s %.*s %c %d %i %u %x %%, with h hh
 * l ll z j t.
 */
#pragma once

#include <stdbool.h>

#include "foundation/base/banned.h"
#include "foundation/base/cleanup.h"

enum cay_log_level {
        CAY_LOG_DEBUG,
        CAY_LOG_INFO,
        CAY_LOG_WARN,
        CAY_LOG_ERROR,
        CAY_LOG_OFF, /* as the least level: nothing */
        CAY_LOG_LEVEL_COUNT
};

struct cay_log_config {
        const char *program; /* borrowed for ever; in front of the event */
        enum cay_log_level least;
        bool json; /* JSON lines instead of text */
        int fd;    /* borrowed */
};

void cay_log_setup(
        const struct cay_log_config *config); /* before: "cay", CAY_LOG_WARN, text, standard error */
bool cay_log_is_on(enum cay_log_level level);
const char *cay_log_level_word(enum cay_log_level level);
int cay_log_level_find(const char *word); /* "info" → CAY_LOG_INFO, or -EINVAL */
/* Behind the macros; fmt starts with one space that is not shown. */
void cay_log_write(enum cay_log_level level, const char *event, const char *fmt, ...) CAY_PRINTF(3, 4);

#define cay_log_debug(event, ...) cay_log_at(CAY_LOG_DEBUG, event, __VA_ARGS__)
#define cay_log_info(event, ...) cay_log_at(CAY_LOG_INFO, event, __VA_ARGS__)
#define cay_log_warn(event, ...) cay_log_at(CAY_LOG_WARN, event, __VA_ARGS__)
#define cay_log_error(event, ...) cay_log_at(CAY_LOG_ERROR, event, __VA_ARGS__)
#define cay_log_at(level, event, ...)                                                                        \
        do {                                                                                                 \
                if (cay_log_is_on(level))                                                                    \
                        cay_log_write(level, event, " " __VA_ARGS__);                                        \
        } while (0)
