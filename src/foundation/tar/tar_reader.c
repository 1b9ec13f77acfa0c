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
 * records twice for one member, names in global records, old forms of sparse files, a lone block of zeros in
 * the middle, anything but zeros behind the end. An archive without its end is one that was cut, and is
 * refused too, after its last member.
 *
 * A file with holes (pax form 1.0) has a map before its data: which pieces the data are. The map is read
 * whole and checked before the sink sees a byte: pieces in order, inside the file, and together exactly as
 * long as the data.
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
                if (pax.has_path || pax.has_link || pax.has_size || pax.sparse)
                        return refuse(r, err, "global pax records that name or size members");
                return 0;
        }
        if (pax.sparse && (pax.sparse != CAY_TAR_SPARSE_ALL || r->sink->ops->hole == NULL))
                return refuse(r, err, "sparse files in this form are not read");
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

/* --- The contents of a file --- */

static void file_begin(struct cay_tar_reader *r, uint64_t size, bool sparse)
{
        r->size = size;
        r->at = r->piece_left = 0;
        r->piece = 0;
        r->pieces_count = !sparse && size > 0;
        r->pieces[0] = (struct cay_tar_piece){ 0, size };
        r->number = r->mapped = 0;
        r->numbers = 0;
        r->digits = 0;
        r->state = sparse ? CAY_TAR_IN_MAP : CAY_TAR_IN_DATA;
}

static int hole_pass(struct cay_tar_reader *r, uint64_t end, struct cay_error *err)
{
        uint64_t len = end - r->at;

        r->at = end;
        return len > 0 ? r->sink->ops->hole(r->sink, len, err) : 0;
}

/* Goes to the next piece that has bytes; behind the last one the file is complete. */
static int piece_next(struct cay_tar_reader *r, struct cay_error *err)
{
        while (r->piece < r->pieces_count) {
                const struct cay_tar_piece *p = &r->pieces[r->piece++];

                if (hole_pass(r, p->at, err) < 0)
                        return -1;
                r->piece_left = p->len;
                if (p->len > 0)
                        return 0;
        }
        if (hole_pass(r, r->size, err) < 0)
                return -1;
        r->state = r->padding > 0 ? CAY_TAR_IN_PADDING : CAY_TAR_AT_HEADER;
        return r->sink->ops->end(r->sink, err);
}

/* One line of the map. */
static int map_number(struct cay_tar_reader *r, struct cay_error *err)
{
        size_t i = r->numbers++;
        struct cay_tar_piece *p, *before;

        if (i == 0) {
                if (r->number > CAY_TAR_PIECES_MAX)
                        return cay_fail(err, CAY_LIMIT, "a sparse file of %llu pieces: %u at most",
                                        (unsigned long long)r->number, CAY_TAR_PIECES_MAX);
                r->pieces_count = (size_t)r->number;
                return 0;
        }
        p = &r->pieces[(i - 1) / 2];
        before = i > 2 ? p - 1 : NULL;
        if (i % 2 == 1) {
                p->at = r->number;
                if (p->at > r->size || (before && p->at < before->at + before->len))
                        return cay_fail(err, CAY_INVALID, "a sparse file whose pieces are not in order");
                return 0;
        }
        p->len = r->number;
        if (p->len > r->size - p->at)
                return cay_fail(err, CAY_INVALID, "a sparse file whose pieces are longer than the file");
        return 0;
}

static bool map_is_whole(const struct cay_tar_reader *r)
{
        return r->numbers > 0 && r->numbers == 1 + 2 * r->pieces_count;
}

/* Behind the map's last line: what is left of the member, less padding, is exactly the pieces. */
static int map_check(const struct cay_tar_reader *r, struct cay_error *err)
{
        uint64_t data = 0, padding = cay_tar_padding(r->mapped);

        for (size_t i = 0; i < r->pieces_count; i++)
                data += r->pieces[i].len; /* no overflow: they do not overlap */
        if (r->left < padding || r->left - padding != data)
                return cay_fail(err, CAY_INVALID, "a sparse file whose data are not what its map says");
        return 0;
}

static int map_byte(struct cay_tar_reader *r, uint8_t byte, struct cay_error *err)
{
        unsigned digit = (unsigned)byte - '0';

        if (r->left == 0)
                return cay_fail(err, CAY_INVALID, "a sparse file whose map is cut off");
        r->mapped++;
        r->left--;
        if (byte == '\n' && r->digits > 0) {
                if (map_number(r, err) < 0)
                        return -1;
                r->number = 0;
                r->digits = 0;
                return map_is_whole(r) ? map_check(r, err) : 0;
        }
        if (digit > 9 || ++r->digits > 19)
                return cay_fail(err, CAY_INVALID, "a sparse file whose map is no list of numbers");
        r->number = r->number * 10 + digit; /* 19 digits fit */
        return 0;
}

/* Takes bytes of the map and of its padding, none of the data. */
static ssize_t map_take(struct cay_tar_reader *r, const uint8_t *p, size_t len, struct cay_error *err)
{
        size_t n = 0;

        while (n < len && !map_is_whole(r))
                if (map_byte(r, p[n++], err) < 0)
                        return -1;
        for (; n < len && map_is_whole(r) && r->mapped % CAY_TAR_BLOCK != 0; n++) {
                r->mapped++;
                r->left--;
        }
        if (!map_is_whole(r) || r->mapped % CAY_TAR_BLOCK != 0)
                return (ssize_t)n;
        r->state = CAY_TAR_IN_DATA;
        return piece_next(r, err) < 0 ? -1 : (ssize_t)n;
}

/* --- Members --- */

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
        bool sparse = r->pax.sparse != 0;

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
                return refuse(r, err, "sparse files in this form are not read");
        default:
                return refuse(r, err, "unknown type of member");
        }
        r->left = m.size;
        r->padding = cay_tar_padding(m.size);
        if (sparse) {
                if (m.type != CAY_TAR_FILE || m.size < CAY_TAR_BLOCK)
                        return refuse(r, err, "a sparse file without a map");
                m.stored = m.size;
                m.size = r->pax.real_size;
        }
        if (r->sink->ops->member(r->sink, &m, err) < 0)
                return -1;
        extras_forget(r);
        if (m.type != CAY_TAR_FILE) {
                r->state = CAY_TAR_AT_HEADER;
                return 0;
        }
        file_begin(r, m.size, sparse);
        return sparse ? 0 : piece_next(r, err);
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
        case CAY_TAR_IN_MAP:
                return map_take(r, p, len, err);
        case CAY_TAR_IN_DATA:
                n = smaller(len, r->piece_left);
                if (n > 0 && r->sink->ops->data(r->sink, p, n, err) < 0)
                        return -1;
                r->left -= n;
                r->at += n;
                r->piece_left -= n;
                return r->piece_left == 0 && piece_next(r, err) < 0 ? -1 : (ssize_t)n;
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
