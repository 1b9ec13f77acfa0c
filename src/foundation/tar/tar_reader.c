/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * The reader is a state machine over bytes: a header block says what follows, that is collected (records for
 * the next member), passed on (data) or skipped (padding), and the next header comes. Two blocks of zeros end
 * the archive.
 *
 * Tar readers differ in what they make of odd input, and a stream that means two things to two readers is an
 * attack on whoever checked it with the other. So what is odd is refused: unknown types, links with data,
 * records twice for one member, names in global records, GNU's sparse files, a lone block of zeros in the
 * middle, anything but zeros behind the end. An archive without its end is one that was cut, and is refused
 * too, after its last member.
 */

#include "foundation/tar/tar_reader.h"

#include <errno.h>
#include <sys/types.h>

#include "foundation/base/files_text.h"

static size_t smaller(size_t a, uint64_t b)
{
        return b < a ? (size_t)b : a;
}

/* What was said about the next member holds for it alone. */
static void extras_forget(struct cay_tar_reader *r)
{
        r->extras = 0;
        r->has_name = r->has_link = false;
        r->kind[0] = r->base[0] = '\0';
        r->pax = (struct cay_tar_pax){ 0 };
}

void cay_tar_reader_init(struct cay_tar_reader *r, struct cay_tar_sink *sink)
{
        r->sink = sink;
        r->state = CAY_TAR_AT_HEADER;
        r->first = true;
        r->left = 0;
        r->padding = 0;
        r->have = 0;
        r->extra = CAY_TAR_OTHER;
        extras_forget(r);
}

static const char *member_name(const struct cay_tar_reader *r)
{
        return r->has_name ? r->name : r->header.name;
}

static int refuse(const struct cay_tar_reader *r, struct cay_error *err, const char *why)
{
        struct cay_files_text t;

        return cay_fail(err, CAY_INVALID, "member '%s': %s", cay_files_quote(&t, member_name(r)), why);
}

/* --- Records for the next member --- */

static int name_keep(const struct cay_tar_reader *r, char *to, const char *from, size_t len,
                     struct cay_error *err)
{
        if (len > CAY_TAR_NAME_MAX)
                return cay_fail(err, CAY_INVALID, "a name in the archive is longer than %u bytes",
                                CAY_TAR_NAME_MAX);
        if (len == 0)
                return refuse(r, err, "empty long name");
        memcpy(to, from, len);
        to[len] = '\0';
        return 0;
}

/* The parser has seen to it that they fit. */
static void view_keep(char *to, struct cay_view v)
{
        if (v.len > 0)
                memcpy(to, v.ptr, v.len);
        to[v.len] = '\0';
}

static int pax_apply(struct cay_tar_reader *r, struct cay_error *err)
{
        struct cay_tar_pax pax;

        if (cay_tar_pax_parse(r->records, r->have, &pax) < 0)
                return refuse(r, err, "broken pax records");
        if (r->extra == CAY_TAR_PAX_GLOBAL) {
                if (pax.has_path || pax.has_link || pax.has_size || pax.has_sparse)
                        return refuse(r, err, "global pax records that name or size members");
                return 0;
        }
        if (pax.has_sparse)
                return refuse(r, err, "sparse files in GNU's form are not read");
        if (pax.has_path) {
                if (name_keep(r, r->name, pax.path.ptr, pax.path.len, err) < 0)
                        return -1;
                r->has_name = true;
        }
        if (pax.has_link) {
                if (name_keep(r, r->link, pax.link.ptr, pax.link.len, err) < 0)
                        return -1;
                r->has_link = true;
        }
        view_keep(r->kind, pax.kind);
        view_keep(r->base, pax.base);
        r->pax = pax;
        return 0;
}

static int records_apply(struct cay_tar_reader *r, struct cay_error *err)
{
        size_t len;

        switch (r->extra) {
        case CAY_TAR_LONG_NAME:
                if (r->has_name) /* from pax, which says it more exactly */
                        return 0;
                len = strnlen(r->records, r->have);
                if (name_keep(r, r->name, r->records, len, err) < 0)
                        return -1;
                r->has_name = true;
                return 0;
        case CAY_TAR_LONG_LINK:
                if (r->has_link)
                        return 0;
                len = strnlen(r->records, r->have);
                if (name_keep(r, r->link, r->records, len, err) < 0)
                        return -1;
                r->has_link = true;
                return 0;
        default:
                return pax_apply(r, err);
        }
}

/* --- Headers --- */

static int extra_begin(struct cay_tar_reader *r, struct cay_error *err)
{
        unsigned bit = 1u << r->header.type;

        if (r->extras & bit)
                return refuse(r, err, "two extended headers of one kind for one member");
        if (r->header.size > CAY_TAR_PAX_MAX)
                return cay_fail(err, CAY_LIMIT, "an extended header of %llu bytes: %u at most",
                                (unsigned long long)r->header.size, CAY_TAR_PAX_MAX);
        if (r->header.type != CAY_TAR_PAX_GLOBAL)
                r->extras |= bit;
        r->extra = r->header.type;
        r->left = r->header.size;
        r->padding = cay_tar_padding(r->left);
        r->have = 0;
        r->state = CAY_TAR_IN_RECORDS;
        return 0;
}

static int member_begin(struct cay_tar_reader *r, struct cay_error *err)
{
        struct cay_tar_member m = {
                .type = r->header.type,
                .mode = r->header.mode,
                .size = r->pax.has_size ? r->pax.size : r->header.size,
                .mtime_s = r->pax.has_mtime ? r->pax.mtime_s : r->header.mtime_s,
                .mtime_ns = r->pax.has_mtime ? r->pax.mtime_ns : 0,
                .name = member_name(r),
                .link = r->has_link ? r->link : r->header.link,
                .kind = r->kind[0] ? r->kind : NULL,
                .base = r->base[0] ? r->base : NULL,
        };

        /*
         * Before there was a type for directories, a slash behind the name said so: the whole name, not its
         * cut form.
         */
        if (m.type == CAY_TAR_FILE && m.name[0] && m.name[strlen(m.name) - 1] == '/')
                m.type = CAY_TAR_DIRECTORY;
        switch (m.type) {
        case CAY_TAR_FILE:
                m.link = "";
                break;
        case CAY_TAR_LINK:
        case CAY_TAR_SYMLINK:
        case CAY_TAR_DIRECTORY:
        case CAY_TAR_DEVICE:
        case CAY_TAR_FIFO:
                /* Readers disagree on whether data follows here. */
                if (m.size > 0)
                        return refuse(r, err, "it is no file, but has a size");
                break;
        case CAY_TAR_SPARSE:
                return refuse(r, err, "sparse files in GNU's form are not read");
        default:
                return refuse(r, err, "unknown type of member");
        }
        if (r->sink->ops->member(r->sink, &m, err) < 0)
                return -1;
        if (m.type == CAY_TAR_FILE && m.size == 0 && r->sink->ops->end(r->sink, err) < 0)
                return -1;
        r->left = m.size;
        r->padding = cay_tar_padding(m.size);
        r->state = m.size > 0 ? CAY_TAR_IN_DATA : CAY_TAR_AT_HEADER;
        extras_forget(r);
        return 0;
}

static int header_apply(struct cay_tar_reader *r, struct cay_error *err)
{
        int n = cay_tar_header_parse(r->block, &r->header);

        if (n < 0) {
                if (r->first && r->block[0] == 0x1f && r->block[1] == 0x8b)
                        return cay_fail(err, CAY_INVALID, "the archive is compressed: send it as plain tar");
                if (r->first && n == -EBADMSG)
                        return cay_fail(err, CAY_INVALID, "this is no tar archive");
                return cay_fail(err, CAY_INVALID,
                                n == -EBADMSG ? "a header's checksum is wrong"
                                              : "a header has a number that is none or too big");
        }
        if (n == 0) {
                if (r->extras)
                        return cay_fail(err, CAY_INVALID, "the archive ends behind an extended header");
                r->state = CAY_TAR_HALF_ENDED;
                return 0;
        }
        r->first = false;
        switch (r->header.type) {
        case CAY_TAR_PAX:
        case CAY_TAR_PAX_GLOBAL:
        case CAY_TAR_LONG_NAME:
        case CAY_TAR_LONG_LINK:
                return extra_begin(r, err);
        default:
                return member_begin(r, err);
        }
}

static bool all_zero(const uint8_t *p, size_t len)
{
        return len == 0 || (p[0] == 0 && memcmp(p, p + 1, len - 1) == 0);
}

static int block_apply(struct cay_tar_reader *r, struct cay_error *err)
{
        r->have = 0;
        if (r->state == CAY_TAR_AT_HEADER)
                return header_apply(r, err);
        if (!all_zero(r->block, CAY_TAR_BLOCK))
                return cay_fail(err, CAY_INVALID, "a lone block of zeros in the middle of the archive");
        r->state = CAY_TAR_ENDED;
        return 0;
}

/* --- Bytes --- */

/* Takes at least one byte, or changes the state; returns how many it took, or -1. */
static ssize_t step(struct cay_tar_reader *r, const uint8_t *p, size_t len, struct cay_error *err)
{
        size_t n = len;

        switch (r->state) {
        case CAY_TAR_AT_HEADER:
        case CAY_TAR_HALF_ENDED:
                n = smaller(len, CAY_TAR_BLOCK - r->have);
                memcpy(r->block + r->have, p, n);
                r->have += n;
                return r->have == CAY_TAR_BLOCK && block_apply(r, err) < 0 ? -1 : (ssize_t)n;
        case CAY_TAR_IN_RECORDS:
                n = smaller(len, r->left);
                memcpy(r->records + r->have, p, n);
                r->have += n;
                r->left -= n;
                if (r->left == 0) {
                        if (records_apply(r, err) < 0)
                                return -1;
                        r->have = 0;
                        r->state = CAY_TAR_IN_PADDING;
                }
                return (ssize_t)n;
        case CAY_TAR_IN_DATA:
                n = smaller(len, r->left);
                if (n > 0 && r->sink->ops->data(r->sink, p, n, err) < 0)
                        return -1;
                r->left -= n;
                if (r->left == 0) {
                        if (r->sink->ops->end(r->sink, err) < 0)
                                return -1;
                        r->state = CAY_TAR_IN_PADDING;
                }
                return (ssize_t)n;
        case CAY_TAR_IN_PADDING:
                n = smaller(len, r->padding);
                r->padding -= (unsigned)n;
                if (r->padding == 0)
                        r->state = CAY_TAR_AT_HEADER;
                return (ssize_t)n;
        case CAY_TAR_ENDED:
                if (!all_zero(p, len))
                        return cay_fail(err, CAY_INVALID, "bytes behind the end of the archive");
                return (ssize_t)len;
        default:
                return cay_fail(err, CAY_INVALID, "the archive was refused already");
        }
}

int cay_tar_reader_feed(struct cay_tar_reader *r, const void *bytes, size_t len, struct cay_error *err)
{
        const uint8_t *p = bytes;

        while (len > 0) {
                ssize_t n = step(r, p, len, err);

                if (n < 0) {
                        r->state = CAY_TAR_FAILED;
                        return -1;
                }
                p += n;
                len -= (size_t)n;
        }
        return 0;
}

int cay_tar_reader_finish(struct cay_tar_reader *r, struct cay_error *err)
{
        if (r->state == CAY_TAR_FAILED)
                return cay_fail(err, CAY_INVALID, "the archive was refused already");
        if (r->state == CAY_TAR_ENDED || (r->state == CAY_TAR_HALF_ENDED && r->have == 0))
                return 0;
        if (r->first && r->have == 0)
                return cay_fail(err, CAY_INVALID, "the archive is empty: not even its end is there");
        return cay_fail(err, CAY_INVALID, "the archive is cut off: its end is missing");
}
