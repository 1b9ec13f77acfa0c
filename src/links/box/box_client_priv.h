/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by box_client.c (the link) and box_channel.c (one channel). */
#pragma once

#include "links/box/box_client.h"

struct cay_box_client {
        struct cay_peer peer;
        struct cay_loop *loop; /* borrowed */
        struct cay_box_client_events events;
        void *ctx; /* the owner's */
        uint8_t secret[CAY_BOX_SECRET];
        struct cay_box_channel *channels; /* borrowed from their owners */
        unsigned channel_count;
        struct cay_ring_pool in_pool; /* of the channels' IN */
        uint32_t next_number;         /* numbers are never used twice */
        /* numbers from here to next_number were assigned by this front, not by an earlier one */
        uint32_t own_from;
        bool welcomed, sync_sent;
        bool holds;                            /* sends only HELLO until WELCOME was received */
        unsigned pings;                        /* not answered yet */
        uint16_t kinds;                        /* the newest that init knows; 0: it has not said so yet */
        uint32_t closes[CAY_BOX_CHANNELS_MAX]; /* CLOSE not sent yet: no room */
        unsigned close_count;
        bool *gone; /* set when freed inside a callback */
};

/* Sends what is due on all channels, in order, while there is room. Runs no callbacks. */
void cay_box_client_pump(struct cay_box_client *c);
void cay_box_client_send_close(struct cay_box_client *c, uint32_t number);
void cay_box_client_queue_close(struct cay_box_client *c, uint32_t number); /* sent with the next frame */
void cay_box_client_send_closes(struct cay_box_client *c);
struct cay_box_channel *cay_box_client_find(struct cay_box_client *c, uint32_t number);

/* Sends OPEN or RESUME and the rest of the channel's state for this stream. 0, or -errno of cay_peer_send. */
int cay_box_channel_introduce(struct cay_box_channel *ch);
/* Control frames that are due: 0, or -errno of cay_peer_send. */
int cay_box_channel_settle(struct cay_box_channel *ch);
/* One piece of IN, or its EOF: true if one was sent. */
bool cay_box_channel_send_in(struct cay_box_channel *ch);
/* The stream was lost. */
void cay_box_channel_cut(struct cay_box_channel *ch);
/* Detaches the channel from the client and frees its memory; no callbacks. */
void cay_box_channel_detach(struct cay_box_channel *ch);
/*
 * Handles a frame from init for this channel. 0, or -errno, which ends the stream. ch and its client may be
 * freed afterwards.
 */
int cay_box_channel_frame(struct cay_box_channel *ch, const struct cay_frame *f, const uint8_t *payload);
