/* SPDX-License-Identifier: Apache-2.0 */
/* Channels into a sandbox (channel.h). */
#include "domain/sandboxes/channel.h"

#include <assert.h>
#include <errno.h>

#include "domain/sandboxes/service_priv.h"

static struct cay_service_channel *of(struct cay_box_channel *box)
{
        return cay_container_of(box, struct cay_service_channel, box);
}

/* Removes it from its sandbox's list: from here on it is closed. */
static void leave(struct cay_service_channel *ch, unsigned code)
{
        struct cay_service_channel **at = &ch->sandbox->channels;
        struct cay_sandbox *sb;

        cay_file_note_end(ch, code);
        sb = cay_take(ch->sandbox);

        while (*at != ch)
                at = &(*at)->next;
        *at = ch->next;
        ch->next = NULL;
        sb->channel_count--;
        cay_sandbox_use(sb);
        if (sb->idle_ms > 0)
                cay_tick_sandbox(sb, 0);
}

static void on_data(struct cay_box_channel *box, enum cay_stream stream, const void *bytes, size_t len)
{
        (void)stream; /* these kinds only have OUT */
        if (of(box)->on_data != NULL)
                of(box)->on_data(of(box), bytes, len);
        else
                cay_box_channel_ack(box, CAY_STREAM_OUT, len);
}

static void on_opened(struct cay_box_channel *box, uint32_t pid)
{
        (void)pid;
        if (of(box)->on_opened != NULL)
                of(box)->on_opened(of(box));
}

static void on_eof(struct cay_box_channel *box, enum cay_stream stream)
{
        (void)stream;
        if (of(box)->on_eof != NULL)
                of(box)->on_eof(of(box));
}

static void on_room(struct cay_box_channel *box)
{
        if (of(box)->on_room != NULL)
                of(box)->on_room(of(box));
}

static void on_end(struct cay_box_channel *box, const struct cay_box_end *end)
{
        struct cay_service_channel *ch = of(box);
        struct cay_error err = { 0 };
        char text[200];

        leave(ch, end->code);
        if (end->code != CAY_OK) {
                cay_box_clean_text(end->msg, text, sizeof(text));
                cay_fail(&err, end->code < CAY_CODE_COUNT ? (enum cay_code)end->code : CAY_INTERNAL, "%s",
                         text);
                err.sys = end->sys;
        }
        if (ch->on_end != NULL)
                ch->on_end(ch, end, &err);
}

static bool is_connection(unsigned kind)
{
        return kind == CAY_BOX_CONNECT || kind == CAY_BOX_SOCKET;
}

/* Watches have a lower limit: they must leave room for short operations. */
static int check_room(const struct cay_sandbox *sb, unsigned kind, struct cay_error *err)
{
        unsigned watches = 0, ports = 0;

        static_assert(CAY_SERVICE_EXECS_RUNNING_MAX + CAY_SERVICE_CHANNELS_MAX + CAY_SERVICE_PORTS_MAX <=
                              CAY_BOX_CHANNELS_MAX,
                      "the link has room for all of them");
        for (const struct cay_service_channel *ch = sb->channels; ch; ch = ch->next) {
                watches += ch->box.kind == CAY_BOX_WATCH;
                ports += is_connection(ch->box.kind);
        }
        if (is_connection(kind) && ports >= CAY_SERVICE_PORTS_MAX)
                return cay_fail(
                        err, CAY_LIMIT,
                        "%u connections to ports of sandbox '%s' are open, which is the maximum; close some",
                        ports, sb->id);
        if (!is_connection(kind) && sb->channel_count - ports >= CAY_SERVICE_CHANNELS_MAX)
                return cay_fail(err, CAY_LIMIT,
                                "%u transfers are under way in sandbox '%s', which is the maximum; wait for "
                                "one to end",
                                sb->channel_count - ports, sb->id);
        if (kind == CAY_BOX_WATCH && watches >= CAY_SERVICE_WATCHES_MAX)
                return cay_fail(err, CAY_LIMIT,
                                "%u folders are watched in sandbox '%s', which is the maximum; end one first",
                                watches, sb->id);
        return 0;
}

/*
 * File access as another user than the sandbox's own follows the rules of commands (exec_start.c). Reading
 * leaves nothing of that user behind.
 */
static int check_user(const struct cay_sandbox *sb, const struct cay_box_open *open, struct cay_error *err)
{
        if (cay_box_has_port(open->kind) || open->file.uid == CAY_BOX_ID_DEFAULT)
                return 0;
        if (sb->options.own_user_only)
                return cay_fail(err, CAY_CONFLICT, "as_root: sandbox '%s' was created for its own user only",
                                sb->id);
        if (cay_file_note_is_for(open->kind) && sb->has_workspace && sb->workspace_mode != CAY_WORKSPACE_RO)
                return cay_fail(err, CAY_CONFLICT,
                                "as_root: excludes a workspace that is mapped writable, which belongs to the "
                                "sandbox's own user; leave as_root out");
        return 0;
}

int cay_service_channel_open(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                             const struct cay_box_open *open, struct cay_service_channel *ch,
                             struct cay_error *err)
{
        struct cay_sandbox *sb = cay_table_get(s, v, sandbox, err);
        struct cay_box_open mine = *open;
        int r;

        if (sb != NULL && open->kind == CAY_BOX_CONNECT && cay_sandbox_sleeps(sb) && sb->client != NULL &&
            cay_sandbox_check_engine(sb, err) == 0)
                cay_sandbox_wake(sb, NULL); /* what is sent meanwhile waits in the link */
        else if (sb == NULL || cay_sandbox_check_usable(sb, err) < 0)
                return -1;
        if (open->kind == CAY_BOX_EXEC || open->kind == CAY_BOX_ACCEPT)
                return cay_fail(err, CAY_INVALID, "commands and the proxy do not use this kind of channel");
        if (check_user(sb, open, err) < 0 || check_room(sb, open->kind, err) < 0)
                return -1;
        if (mine.window == 0)
                mine.window = cay_sandbox_window(sb);
        ch->box = (struct cay_box_channel){ .on_data = on_data,
                                            .on_opened = on_opened,
                                            .on_eof = on_eof,
                                            .on_room = on_room,
                                            .on_end = on_end };
        r = cay_box_channel_open(sb->client, &ch->box, &mine, NULL, NULL);
        if (r == -EINVAL || r == -EMSGSIZE)
                return cay_fail(err, CAY_INVALID, "a path is too long, or a value is out of range");
        if (r == -ENOSPC)
                return cay_fail(err, CAY_LIMIT, "too many channels are open in sandbox '%s'; close some",
                                sb->id);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "open a channel");
        ch->sandbox = sb;
        ch->next = sb->channels;
        sb->channels = ch;
        sb->channel_count++;
        cay_sandbox_use(sb);
        if (cay_file_note_is_for(mine.kind))
                cay_file_note_begin(ch, v, &mine);
        return 0;
}

void cay_service_channel_ack(struct cay_service_channel *ch, size_t len)
{
        cay_box_channel_ack(&ch->box, CAY_STREAM_OUT, len);
}

size_t cay_service_channel_write(struct cay_service_channel *ch, const void *bytes, size_t len)
{
        size_t taken = cay_box_channel_write(&ch->box, bytes, len);

        cay_file_note_data(ch, bytes, taken);
        return taken;
}

void cay_service_channel_write_eof(struct cay_service_channel *ch)
{
        cay_box_channel_write_eof(&ch->box);
}

void cay_service_channel_close(struct cay_service_channel *ch)
{
        if (ch->sandbox == NULL)
                return;
        cay_box_channel_close(&ch->box);
        leave(ch, CAY_UNAVAILABLE);
}

void cay_channel_end_all(struct cay_sandbox *sb, const struct cay_error *why)
{
        while (sb->channels != NULL) {
                struct cay_service_channel *ch = sb->channels;

                cay_box_channel_close(&ch->box);
                leave(ch, CAY_UNAVAILABLE);
                if (why != NULL && ch->on_end != NULL)
                        ch->on_end(ch, NULL, why);
        }
}
