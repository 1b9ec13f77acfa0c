/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tar format as pure functions over memory: 512-byte header blocks (ustar, GNU, v7) and pax records, read
 * and written. Nothing here touches a file; tar_reader.h makes a stream of members out of it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/banned.h"
#include "foundation/base/bytes.h"

#define CAY_TAR_BLOCK 512u
#define CAY_TAR_NAME_MAX 16383u      /* bytes of a member's name or link target, without NUL */
#define CAY_TAR_PAX_MAX (64u * 1024) /* bytes of one extended header's data */
#define CAY_TAR_KIND_MAX 15u         /* bytes of the record CAY.kind, and of CAY.base: see change.h */
#define CAY_TAR_BASE_MAX 127u
#define CAY_TAR_PIECES_MAX 4096u /* pieces of data in one file with holes */
#define CAY_TAR_HEADERS_MAX                                                                                  \
        (CAY_TAR_BLOCK * 5 + 2 * (CAY_TAR_NAME_MAX + 1)) /* cay_tar_member_format writes no more */

enum cay_tar_type {
        CAY_TAR_OTHER, /* a type flag that we do not know */
        CAY_TAR_FILE,
        CAY_TAR_LINK, /* hard link to an earlier member */
        CAY_TAR_SYMLINK,
        CAY_TAR_DIRECTORY,
        CAY_TAR_DEVICE,
        CAY_TAR_FIFO,
        CAY_TAR_SPARSE,     /* GNU's old form of holes: not read */
        CAY_TAR_PAX,        /* records for the next member */
        CAY_TAR_PAX_GLOBAL, /* records for all that follow */
        CAY_TAR_LONG_NAME,  /* GNU 'L': the next member's name */
        CAY_TAR_LONG_LINK,  /* GNU 'K': the next member's link target */
        CAY_TAR_TYPE_COUNT
};

struct cay_tar_header {
        /* as flagged; a file whose whole name ends in a slash is a directory of old */
        enum cay_tar_type type;
        uint32_t mode; /* as it stands there, set-id bits and all: callers mask it */
        uint64_t size;
        int64_t mtime_s;
        char name[257]; /* prefix and name joined; may be cut if a longer one came before */
        char link[101];
};

/* Keys of a file with holes in pax form 1.0. A member has all of them or none. */
enum {
        CAY_TAR_SPARSE_MAJOR = 1,
        CAY_TAR_SPARSE_MINOR = 2,
        CAY_TAR_SPARSE_NAME = 4,
        CAY_TAR_SPARSE_SIZE = 8,
        CAY_TAR_SPARSE_ALL = 15,
        CAY_TAR_SPARSE_OTHER = 16, /* another version, or a key of one */
};

/* What a pax block says about the next member; a key that is absent has its `has_` flag unset. */
struct cay_tar_pax {
        bool has_path, has_link, has_size, has_mtime;
        unsigned sparse;            /* CAY_TAR_SPARSE_… that are there; with NAME, `path` is that name */
        struct cay_view path, link; /* into the block; not NUL-terminated, never with a NUL inside */
        struct cay_view kind, base; /* likewise: CAY.kind, CAY.base; len 0 where there is none */
        uint64_t size;
        uint64_t real_size; /* of a file with holes */
        int64_t mtime_s;
        uint32_t mtime_ns;
};

struct cay_tar_member {
        enum cay_tar_type type;
        uint32_t mode;
        uint64_t size;
        int64_t mtime_s;
        uint32_t mtime_ns;
        const char *name, *link; /* C strings; link is "" where there is none */
        const char *kind, *base; /* of a change set (change.h); NULL: none */
        /*
         * A file with holes: bytes of its map and its data in the archive. 0: it has none, and `size` bytes
         * follow.
         */
        uint64_t stored;
};

/* A piece of data in a file with holes. Pieces are in order and do not overlap. */
struct cay_tar_piece {
        uint64_t at, len;
};

/*
 * Reads a header block: 1, 0 for a block of zeros, -EBADMSG (checksum), -EINVAL (a number that is none, or
 * too big).
 */
int cay_tar_header_parse(const uint8_t block[CAY_TAR_BLOCK], struct cay_tar_header *ret);

/* Reads a pax block's records, the last of a key wins: 0 or -EINVAL. */
int cay_tar_pax_parse(const void *mem, size_t len, struct cay_tar_pax *ret);

/*
 * Writes the header of a member, with a pax header before it where ustar's fields are too small, and returns
 * the bytes written, or -ENAMETOOLONG, -EINVAL (type that we do not write, kind or base too long), -EMSGSIZE
 * (mem too small). mtime is written in whole seconds, with its fraction only where there is a pax header
 * anyway; owner fields are 0 with no names: the unpacking side decides who owns files.
 */
int cay_tar_member_format(const struct cay_tar_member *m, void *mem, size_t size);

/*
 * The map of a file with holes comes before its data: numbers as lines, filled up to a block. Line 0 is the
 * count of pieces, then two lines for each. The file's end has to be in the map, so a file that ends in a
 * hole has an empty piece there.
 */
#define CAY_TAR_MAP_LINE 24u /* bytes that cay_tar_map_line writes at most */
unsigned cay_tar_map_line(uint64_t number, char ret[CAY_TAR_MAP_LINE]);
/* Bytes of the map without its padding. */
uint64_t cay_tar_map_bytes(const struct cay_tar_piece *pieces, size_t count);

/* How many zeros follow `size` bytes of data. */
static inline unsigned cay_tar_padding(uint64_t size)
{
        return (unsigned)(-size & (CAY_TAR_BLOCK - 1));
}
