/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels into a sandbox for everything but commands: files, archives, ports, the process list. Each is one
 * channel of the box link (docs/box-link.md); the owner handles its bytes. Opening checks the sandbox's
 * state. A sandbox with an open channel is not idle. A channel ends cleanly when its sandbox goes.
 */
#pragma once

#include "links/box/box_client.h"
#include "domain/sandboxes/service.h"

/*
 * Limits of one sandbox, beside its commands. Each kind has its own limit, so that none can lock out another:
 * files can be read however many commands and connections there are.
 */
#define CAY_SERVICE_CHANNELS_MAX 64 /* files, archives, lists */
#define CAY_SERVICE_WATCHES_MAX                                                                              \
        16                        /* of these: watched folders, which stay open as long as somebody listens */
#define CAY_SERVICE_PORTS_MAX 256 /* connections to ports */

struct cay_service_channel { /* embedded by its owner: zero it, then set the callbacks */
        /*
         * As in struct cay_box_channel; the owner may close the channel in any of them. Acknowledge bytes
         * from on_data with cay_service_channel_ack; unacknowledged bytes hold the other side back.
         */
        void (*on_data)(struct cay_service_channel *ch, const void *bytes, size_t len); /* NULL: dropped */
        void (*on_opened)(struct cay_service_channel *ch);                              /* may be NULL */
        void (*on_eof)(struct cay_service_channel *ch);  /* may be NULL: OUT is complete */
        void (*on_room)(struct cay_service_channel *ch); /* may be NULL */
        /*
         * Called exactly once unless closed first; the channel is closed then. end: what init reports
         * (end->code, end->file…), borrowed. It is NULL when the sandbox went; err says why. If its code is
         * not CAY_OK, err has it in words, too.
         */
        void (*on_end)(struct cay_service_channel *ch, const struct cay_box_end *end,
                       const struct cay_error *err);

        /* private */
        struct cay_box_channel box;
        struct cay_file_note *note;  /* owned: it changes files; NULL: it does not */
        struct cay_sandbox *sandbox; /* NULL while closed */
        struct cay_service_channel *next;
};

/*
 * Any kind but EXEC; open->window 0: the default. Texts in `open` are borrowed for the call. CAY_NOT_FOUND,
 * CAY_CONFLICT (not running, paused), CAY_INVALID (a field out of range), CAY_LIMIT.
 */
int cay_service_channel_open(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                             const struct cay_box_open *open, struct cay_service_channel *ch,
                             struct cay_error *err);
void cay_service_channel_ack(struct cay_service_channel *ch, size_t len);
size_t cay_service_channel_write(struct cay_service_channel *ch, const void *bytes,
                                 size_t len); /* how many were taken; if fewer, on_room follows */
void cay_service_channel_write_eof(struct cay_service_channel *ch);
void cay_service_channel_close(
        struct cay_service_channel *ch); /* no further events; may be called on a closed one */
