/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payloads of the frames: plain structs and their one codec. Encoding writes to caller's memory and returns
 * the length, -EMSGSIZE (does not fit) or -EINVAL (a decoder would refuse it); decoding returns 0 or -EPROTO,
 * checks every range and hands out views into the payload (valid as long as the payload is).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/bytes.h"
#include "links/box/frame.h"

#define CAY_BOX_SECRET 32
#define CAY_BOX_ARGS_MAX 4096u /* strings in argv, and in env */
#define CAY_BOX_PATH_MAX 4096u /* with the NUL it gets in memory: paths on the wire are shorter */
#define CAY_BOX_MSG_MAX 512u   /* END's text */
#define CAY_BOX_ENTRY_MAX (2u + 40 + 2 * CAY_BOX_PATH_MAX) /* no encoded entry is longer */
#define CAY_BOX_TIME_MAX_MS (INT64_MAX / 1000000)          /* 292 years: as nanoseconds it still fits */
#define CAY_BOX_WINDOW_MIN 4096u
#define CAY_BOX_WINDOW_MAX (1024u * 1024)
#define CAY_BOX_WINDOW (256u * 1024)
#define CAY_BOX_CHANNELS_MAX 512u
#define CAY_BOX_POOL_MAX (8u * 1024 * 1024)   /* maximum memory of all rings of a link, on each side */
#define CAY_BOX_POOL_FILES (2u * 1024 * 1024) /* part of it that is reserved for file operations */
#define CAY_BOX_DENIED_MAX 16u
#define CAY_BOX_SIGNAL_MAX 64
#define CAY_BOX_ID_DEFAULT UINT32_MAX /* uid or gid: the box's own default */

enum cay_box_kind {
        CAY_BOX_NONE,
#define CAY_KIND(name, doc) CAY_BOX_##name,
#include "links/box/kinds.def"
#undef CAY_KIND
        CAY_BOX_KIND_COUNT
};

/*
 * A PING that asks which kinds of channels init knows: the lowest 16 bits of its PONG are the number of the
 * newest. An init that does not know the question repeats it. Only the kinds up to that of SOCKET may be
 * opened before that is known: an OPEN of an unknown kind ends the stream.
 */
#define CAY_BOX_ASK_KINDS UINT64_C(0x6b696e64733f0000)
#define CAY_BOX_KINDS_UNTOLD CAY_BOX_SOCKET

static inline bool cay_box_is_about_kinds(uint64_t token)
{
        return (token & ~UINT64_C(0xffff)) == CAY_BOX_ASK_KINDS;
}

/*
 * Commands and connections are long-lived and may have a reader that stopped. An operation on files is short
 * and must not wait for them.
 */
static inline uint32_t cay_box_pool_max(uint16_t kind)
{
        return kind == CAY_BOX_EXEC || kind == CAY_BOX_CONNECT || kind == CAY_BOX_SOCKET ||
                               kind == CAY_BOX_ACCEPT
                       ? CAY_BOX_POOL_MAX - CAY_BOX_POOL_FILES
                       : CAY_BOX_POOL_MAX;
}

struct cay_box_hello {
        uint32_t version;
        uint8_t secret[CAY_BOX_SECRET];
};

struct cay_box_welcome {
        uint32_t version;
        uint32_t count; /* live channels */
        uint32_t channels[CAY_BOX_CHANNELS_MAX];
};

/* cay_box_exec.flags */
enum {
        CAY_BOX_TTY = 1,
        CAY_BOX_STDIN = 2,    /* IN is used; else the command reads /dev/null */
        CAY_BOX_ONE_SHOT = 4, /* the box ends with this exec: everything is killed, init flushes and exits */
        CAY_BOX_CUT = 8,      /* at output_max_bytes: drop what follows instead of ending the exec */
        /* with ONE_SHOT: everything is killed, but init stays for more channels (CHANGES) */
        CAY_BOX_STAY = 16,
};

struct cay_box_exec {
        uint32_t flags, uid, gid;
        uint16_t rows, cols;
        uint64_t wall_ms, cpu_ms, output_max_bytes, file_max_bytes; /* 0: no limit */
        uint32_t files_max;                                         /* open files; 0: init's own limit */
        struct cay_view cwd;
        uint32_t argc, envc;
        struct cay_view args; /* argc then envc encoded strings; walk with cay_box_next_string */
};

/* cay_box_file.flags */
enum {
        CAY_BOX_PARENTS = 1,   /* mkdir, write: make missing parents */
        CAY_BOX_RECURSIVE = 2, /* remove, chmod, list */
        CAY_BOX_FOLLOW = 4,    /* stat, chmod: follow a final symbolic link */
        CAY_BOX_EXCLUSIVE = 8, /* write: fail if it exists; move: do not replace */
        CAY_BOX_TRUNCATE = 16, /* write */
        CAY_BOX_APPEND = 32,   /* write */
        CAY_BOX_SORTED = 64,   /* list: by name, and only what path2 (a glob) matches, if there is one */
        CAY_BOX_LITERAL = 128, /* search: the pattern is plain text */
        CAY_BOX_NO_CASE = 256, /* search */
        /*
         * write: path2 has all the attributes that the file shall have; stat, list: the target of what is not
         * a link has them (cay-init/files_attributes.h). The number is search's: an init from before an
         * upgrade does without.
         */
        CAY_BOX_ATTRIBUTES = CAY_BOX_NO_CASE,
};

/* With a port, and no file. */
static inline bool cay_box_has_port(unsigned kind)
{
        return kind == CAY_BOX_CONNECT || kind == CAY_BOX_ACCEPT;
}

struct cay_box_file { /* every kind but EXEC and those with a port */
        uint32_t flags, uid, gid, mode;
        /*
         * 0: the kind's default. For WRITE, max_entries is the cay_box_file_tag that the file to be replaced
         * must still have. An older init ignores it.
         */
        uint64_t offset, max_bytes, max_entries;
        /*
         * path: empty for PROCESSES and CHANGES only; path2: MOVE, SYMLINK, LIST, SEARCH, and WRITE with
         * ATTRIBUTES only
         */
        struct cay_view path, path2;
};

/* A tag that changes whenever the file changes: not 0, and fits into the link's 63 bits. */
static inline uint64_t cay_box_file_tag(uint64_t mtime_ns, uint64_t size)
{
        uint64_t mixed = (mtime_ns ^ (size << 17 | size >> 47)) * UINT64_C(0x9e3779b97f4a7c15);

        return (mixed >> 1) | 1;
}

struct cay_box_connect {
        uint16_t port;
};

struct cay_box_open {
        uint16_t kind;
        uint32_t window;
        struct cay_view raw; /* of a decoded one: the bytes that it was decoded from */
        union {
                struct cay_box_exec exec;
                struct cay_box_file file;
                struct cay_box_connect connect;
        };
};

struct cay_box_opened {
        uint32_t pid; /* inside the box */
        uint32_t reserved;
        uint64_t in_got;
};

struct cay_box_resume {
        uint64_t out_got, err_got; /* bytes received so far */
};

struct cay_box_resize {
        uint16_t rows, cols;
};

/* why init or the front ended an exec */
enum cay_box_killed {
        CAY_KILLED_NOT,
        CAY_KILLED_WALL_TIME,
        CAY_KILLED_CPU_TIME,
        CAY_KILLED_OUTPUT,
        CAY_KILLED_SYSCALL, /* too many denied calls */
        CAY_KILLED_ASKED,
        CAY_KILLED_MEMORY, /* where init holds that limit */
        CAY_KILLED_COUNT
};

struct cay_box_denied {
        uint32_t nr, count;
};

#define CAY_BOX_END_VOLUME0 8u /* in `disk_full`: the first volume is full; the others follow */
#define CAY_BOX_END_OOM                                                                                      \
        4u /* a process was killed for memory meanwhile; counted by init where the engine cannot */

struct cay_box_exec_end {
        int32_t exit_code;                         /* -1: by signal */
        int32_t signal;                            /* 0: none */
        uint32_t killed;                           /* enum cay_box_killed */
        uint64_t wall_us, user_us, sys_us, cpu_us; /* cpu_us: the exec's whole process tree, 0 if unknown */
        uint64_t out_bytes, err_bytes, cut_bytes;  /* produced; dropped by CUT */
        /* bit 0: no blocks left in the layer at the end, bit 1: no inodes; CAY_BOX_END_OOM, VOLUME0… */
        uint32_t disk_full;
        /* peak memory, as far as init can measure it (cay-init/exec.c); 0: unknown */
        uint64_t memory_peak_bytes;
        uint32_t pids_hits;    /* where init watches processes: how often the limit was reached */
        uint32_t left;         /* processes of the exec that continue in the background */
        int32_t last_denied;   /* system call number, -1: none */
        uint32_t denied_count; /* rows of denied */
        struct cay_box_denied denied[CAY_BOX_DENIED_MAX];
};

enum cay_box_file_type {
        CAY_FILE_OTHER,
        CAY_FILE_REGULAR,
        CAY_FILE_DIRECTORY,
        CAY_FILE_SYMLINK,
        CAY_FILE_FIFO,
        CAY_FILE_SOCKET,
        CAY_FILE_DEVICE
};

struct cay_box_stat {
        uint32_t type, mode, uid, gid; /* type: enum cay_box_file_type; mode: the lowest 12 bits only */
        uint64_t size;
        int64_t mtime_ns;
        struct cay_view name, target; /* target: of a symbolic link */
};

struct cay_box_end {
        uint16_t kind;
        uint8_t code; /* enum cay_code; also CAY_OK for an exec that started and then failed */
        int32_t sys;  /* errno, positive */
        struct cay_view msg;
        union {
                struct cay_box_exec_end exec;
                struct {
                        struct cay_box_stat stat; /* STAT, READ, WRITE */
                        uint64_t bytes, entries;  /* moved by the operation */
                } file;
        };
};

int cay_box_hello_encode(const struct cay_box_hello *m, void *mem, size_t size);
int cay_box_hello_decode(const void *mem, size_t len, struct cay_box_hello *ret);
int cay_box_welcome_encode(const struct cay_box_welcome *m, void *mem, size_t size);
int cay_box_welcome_decode(const void *mem, size_t len, struct cay_box_welcome *ret);
int cay_box_opened_encode(const struct cay_box_opened *m, void *mem, size_t size);
int cay_box_opened_decode(const void *mem, size_t len, struct cay_box_opened *ret);
int cay_box_resume_encode(const struct cay_box_resume *m, void *mem, size_t size);
int cay_box_resume_decode(const void *mem, size_t len, struct cay_box_resume *ret);
int cay_box_signal_encode(int signo, void *mem, size_t size); /* 1…CAY_BOX_SIGNAL_MAX */
int cay_box_signal_decode(const void *mem, size_t len, int *ret);
int cay_box_kill_encode(enum cay_box_killed why, void *mem, size_t size); /* any but NOT */
int cay_box_kill_decode(const void *mem, size_t len, enum cay_box_killed *ret);
int cay_box_resize_encode(const struct cay_box_resize *m, void *mem, size_t size);
int cay_box_resize_decode(const void *mem, size_t len, struct cay_box_resize *ret);
/*
 * For EXEC the strings are given as NULL-terminated arrays; m->exec.argc, envc, args are ignored when
 * encoding.
 */
int cay_box_open_encode(const struct cay_box_open *m, const char *const *argv, const char *const *env,
                        void *mem, size_t size);
int cay_box_open_decode(const void *mem, size_t len, struct cay_box_open *ret);
/*
 * Removes the next string from `strings`. The decoder has checked them, so this cannot fail while any are
 * left.
 */
struct cay_view cay_box_next_string(struct cay_view *strings);
int cay_box_end_encode(const struct cay_box_end *m, void *mem, size_t size);
int cay_box_end_decode(const void *mem, size_t len, struct cay_box_end *ret);
/*
 * One entry of a LIST's OUT stream: u16 length, then the stat. decode returns bytes used, 0 if incomplete,
 * -EPROTO.
 */
int cay_box_entry_encode(const struct cay_box_stat *m, void *mem, size_t size);
int cay_box_entry_decode(const void *mem, size_t len, struct cay_box_stat *ret);
