/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front's side of a box link: channels over a stream that may be lost and replaced. Channels survive a
 * lost stream: cay_box_client_attach() provides the next one, and every channel continues from its last
 * received byte (docs/box-link.md). Init's messages are hostile input: a protocol violation ends the stream
 * with a reason and affects nothing else.
 */
#pragma once

#include "foundation/base/error.h"
#include "links/box/message.h"
#include "links/box/peer.h"
#include "links/box/stream.h"

struct cay_box_client;

struct cay_box_channel { /* embedded by its owner; zeroed before cay_box_channel_open */
        /*
         * In any of these the owner may close the channel, open another, free the client or (in on_end, or
         * once the channel is closed) free the channel. Bytes and `end` are borrowed for the call.
         */
        /* The stream's bytes; the owner acknowledges with cay_box_channel_ack when it is done with them. */
        void (*on_data)(struct cay_box_channel *ch, enum cay_stream stream, const void *bytes, size_t len);
        /* may be NULL; called once (for an adopted channel: once in this front) */
        void (*on_opened)(struct cay_box_channel *ch, uint32_t pid);
        void (*on_eof)(struct cay_box_channel *ch, enum cay_stream stream); /* may be NULL */
        void (*on_room)(struct cay_box_channel *ch);                        /* may be NULL: IN accepts more */
        /*
         * Called exactly once unless closed first, after all data and EOFs; the channel is closed then. Init
         * discards the result only after this returned (or sent something). So an owner that must not lose
         * the result records it first.
         */
        void (*on_end)(struct cay_box_channel *ch, const struct cay_box_end *end);

        /* below: private to box_client.c and box_channel.c */
        struct cay_box_client *client; /* NULL while closed */
        struct cay_box_channel *next;
        uint32_t number, window;
        uint16_t kind;
        struct cay_sender in;
        struct cay_receiver out[CAY_STREAM_COUNT];
        uint64_t consumed[CAY_STREAM_COUNT];
        uint8_t *open_payload; /* owned: kept until OPENED, for a resend */
        size_t open_len;
        uint8_t *end_payload; /* owned: an END that came before a stream was complete */
        size_t end_len;
        bool opened;     /* OPENED was seen, on any stream */
        bool introduced; /* OPEN or RESUME was sent on this stream */
        bool answered;   /* OPENED was seen on this stream */
        bool in_flows;   /* IN may be sent on this stream */
        bool in_full;    /* on_room is owed */
        bool adopted;    /* opened by an earlier front and not answered yet: init's offset of IN is unknown */
        bool sized;
        unsigned due;     /* control frames to send: bits, see box_channel.c */
        uint64_t signals; /* to send: bit n-1 is signal n */
        uint32_t kill_why;
        uint16_t rows, cols;
};

struct cay_box_client_events {
        /*
         * The stream is lost. reason: 0 end of stream, -EPROTO hostile or broken peer, else -errno. Attach
         * another or free.
         */
        void (*on_lost)(struct cay_box_client *c, int reason);
        void (*on_welcome)(struct cay_box_client *c, const struct cay_box_welcome *w); /* may be NULL */
        void (*on_pong)(struct cay_box_client *c, uint64_t token);                     /* may be NULL */
        void (*on_kinds)(struct cay_box_client *c); /* may be NULL: cay_box_client_kinds is known now */
};

/* ctx is the owner's, given back by cay_box_client_ctx. NULL: no memory. */
struct cay_box_client *cay_box_client_new(struct cay_loop *loop, const uint8_t secret[CAY_BOX_SECRET],
                                          const struct cay_box_client_events *events, void *ctx);
void cay_box_client_free(struct cay_box_client *c); /* channels are detached without on_end */
CAY_DEFINE_AUTO(struct cay_box_client, cay_box_client_free)
void *cay_box_client_ctx(struct cay_box_client *c);
/* Takes fd: sends HELLO, resumes every open channel, SYNC. 0 or -errno (fd closed then too). */
int cay_box_client_attach_take(struct cay_box_client *c, int fd);
void cay_box_client_drop(struct cay_box_client *c); /* closes the stream deliberately (no on_lost) */
/*
 * Call before the first stream, in a front that adopts a box of an earlier front. Only HELLO is sent until
 * WELCOME. In on_welcome the owner adopts (or refuses) the channels that WELCOME lists. No channel may be
 * opened before that: its number might be in use.
 */
void cay_box_client_await_welcome(struct cay_box_client *c);
bool cay_box_client_awaits_welcome(const struct cay_box_client *c);
bool cay_box_client_has_channel(const struct cay_box_client *c, uint32_t number);
void cay_box_client_refuse(struct cay_box_client *c,
                           uint32_t number); /* init discards the channel and ends its processes */
int cay_box_client_ping(struct cay_box_client *c, uint64_t token); /* token: below 2⁴⁸ */
/*
 * Asks which kinds of channels init knows, unless that is known; on_kinds tells. To be repeated on each
 * stream (on_welcome).
 */
void cay_box_client_ask_kinds(struct cay_box_client *c);
/*
 * The newest kind that init knows; 0: not known yet. A box may be older than this front, and an OPEN of a
 * kind that its init does not know would end every stream: kinds newer than CAY_BOX_KINDS_UNTOLD are opened
 * by this word alone.
 */
uint16_t cay_box_client_kinds(const struct cay_box_client *c);

bool cay_box_client_is_attached(const struct cay_box_client *c);
/* True: data from init, or the end of the stream, is still unread; the next rounds of the loop handle it. */
bool cay_box_client_has_unread(const struct cay_box_client *c);

/* all IN data accepted by its channels was sent */
bool cay_box_client_is_flushed(const struct cay_box_client *c);

/*
 * Opens a channel; works while no stream is attached, too (sent on attach). 0 or -ENOMEM, -EMSGSIZE (does not
 * fit a frame), -EINVAL (a field out of range), -ENOSPC (CAY_BOX_CHANNELS_MAX open).
 */
int cay_box_channel_open(struct cay_box_client *c, struct cay_box_channel *ch,
                         const struct cay_box_open *open, const char *const *argv, const char *const *env);
struct cay_box_adoption {
        uint32_t number; /* as in WELCOME */
        uint16_t kind;   /* as it was opened */
        uint32_t window;
        uint64_t out_got, err_got; /* received, and maybe acknowledged, by the earlier front */
};

/*
 * Continues a channel of an earlier front from the last byte that it received. IN continues at the offset
 * that init reports. 0, -EINVAL (out of range, or a number never given out), -EEXIST (it is ours already),
 * -ENOSPC.
 */
int cay_box_channel_adopt(struct cay_box_client *c, struct cay_box_channel *ch,
                          const struct cay_box_adoption *from);
uint32_t cay_box_channel_number(const struct cay_box_channel *ch); /* as assigned; unchanged when closed */
bool cay_box_channel_is_open(const struct cay_box_channel *ch);
void cay_box_channel_ack(struct cay_box_channel *ch, enum cay_stream stream,
                         size_t len); /* len more bytes consumed */
size_t cay_box_channel_write(struct cay_box_channel *ch, const void *bytes, size_t len); /* what IN took */
/*
 * Total bytes that IN accepted. For an adopted channel, valid once it is opened: what init received plus what
 * we wrote since.
 */
uint64_t cay_box_channel_in_written(const struct cay_box_channel *ch);
void cay_box_channel_write_eof(struct cay_box_channel *ch); /* repeating it is harmless */
/*
 * If called while no stream is attached, these are sent on attach. A kill is repeated on every new stream
 * until the end. A signal that is in transit when the stream is lost may be lost too. 0, -EINVAL, -ENOTCONN
 * when closed.
 */
int cay_box_channel_signal(struct cay_box_channel *ch, int signo);
int cay_box_channel_kill(struct cay_box_channel *ch, enum cay_box_killed why);
int cay_box_channel_resize(struct cay_box_channel *ch, unsigned rows, unsigned cols);
void cay_box_channel_close(struct cay_box_channel *ch); /* no further events; allowed when closed */
