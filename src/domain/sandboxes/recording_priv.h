/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by recording.c (writes what happens) and recording_begin.c (begins, finds again, ends). */
#pragma once

#include "domain/recordings/item.h"
#include "domain/sandboxes/recording.h"
#include "domain/sandboxes/service_priv.h"

#define CAY_RECORDING_WHY_MAX 15u

struct cay_recording {
        struct cay_sealed_log log;
        char snapshot[CAY_NAME_MAX + 1];
        char stopped[CAY_RECORDING_WHY_MAX + 1];
        uint64_t began_wall_ms, last_ms; /* times in it never go back */
        uint64_t files;                  /* the last number of a FILE */
        bool is_told;                    /* its end is in the file */
};

/* Of a sandbox whose recording goes on; NULL: nothing is to be recorded. */
struct cay_recording *cay_recording_of(struct cay_sandbox *sb);
/* In whatever state it is; NULL: it has none. */
struct cay_recording *cay_recording_find(struct cay_sandbox *sb);
uint64_t cay_recording_at(const struct cay_service *s, struct cay_recording *r);
/* Appends what is in the buffer, or ends the recording. */
void cay_recording_add(struct cay_sandbox *sb, struct cay_recording *r, const struct cay_buf *item);
