/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doors into a sandbox for everything that is no command: files, archives, ports, the process list. Hands out one channel of the
 * box link (docs/box-link.md); the bytes are the owner's business. The sandbox's state is checked, its idle clock is held while
 * a channel is open, and a channel ends cleanly when its sandbox goes.
 */
#pragma once

#include "links/box/box_client.h"
#include "domain/sandboxes/service.h"

/*
 * Of a sandbox at once, beside its commands. Each kind has places of its own, so that none can lock out another: however many commands run
 * and connections are open, files can be read.
 */
#define CAY_SERVICE_CHANNELS_MAX 64 /* files, archives, lists */
#define CAY_SERVICE_WATCHES_MAX 16  /* of these: folders that are watched, for as long as somebody listens */
#define CAY_SERVICE_PORTS_MAX 256   /* connections to ports */

struct cay_service_channel { /* embedded by its owner, zeroed, then the callbacks set */
        /*
         * As in struct cay_box_channel; the owner may close the channel in any of them. Bytes that on_data brings are
         * acknowledged with cay_service_channel_ack: what is not holds the other side back.
         */
        void (*on_data)(struct cay_service_channel *ch, const void *bytes, size_t len); /* NULL: dropped */
        void (*on_opened)(struct cay_service_channel *ch);                              /* may be NULL */
        void (*on_eof)(struct cay_service_channel *ch);  /* may be NULL: OUT is complete */
        void (*on_room)(struct cay_service_channel *ch); /* may be NULL */
        /*
         * Exactly once unless closed first; the channel is closed then. end: what init says (end->code, end->file…), borrowed; NULL
         * when the sandbox went, then err says why. With an end whose code is not CAY_OK err holds it as words, too.
         */
        void (*on_end)(struct cay_service_channel *ch, const struct cay_box_end *end,
                       const struct cay_error *err);

        /* private */
        struct cay_box_channel box;
        struct cay_sandbox *sandbox; /* NULL while closed */
        struct cay_service_channel *next;
};

/*
 * Any kind but EXEC; open->window 0: the usual. Texts in `open` are borrowed for the call. CAY_NOT_FOUND, CAY_CONFLICT (not running,
 * paused), CAY_INVALID (a field out of range), CAY_LIMIT.
 */
int cay_service_channel_open(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                             const struct cay_box_open *open, struct cay_service_channel *ch,
                             struct cay_error *err);
void cay_service_channel_ack(struct cay_service_channel *ch, size_t len);
size_t cay_service_channel_write(struct cay_service_channel *ch, const void *bytes,
                                 size_t len); /* taken; less: on_room */
void cay_service_channel_write_eof(struct cay_service_channel *ch);
void cay_service_channel_close(struct cay_service_channel *ch); /* no further events; fine when closed */
