/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-docker/build_explain.h"

#include <stdio.h>
#include <string.h>

#include "foundation/base/banned.h"
#include "foundation/base/utf8.h"

#define ADVICE                                                                                               \
        "Cay builds with Docker's classic builder, which has no RUN --mount and no here-documents "          \
        "(<<EOF): COPY files instead, or build the image yourself and name it with image:"
#define SEPARATOR "; "

/*
 * What the classic builder says about what it lacks. It takes the lines of a here-document for instructions,
 * and its beginning for a file; whether a Dockerfile has one is not looked up in it, since words of a shell
 * can look alike.
 */
bool docker_build_lacks_buildkit(const char *error)
{
        static const char *const words[] = { "requires BuildKit", "Unknown flag: mount",
                                             "unknown instruction: ", "<<" };

        if (strstr(error, "returned a non-zero code")) /* the words of a command that was run */
                return false;
        for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
                if (strstr(error, words[i]))
                        return true;
        return false;
}

void docker_build_explain(const char *error, char *ret, size_t size)
{
        size_t room = size > sizeof(SEPARATOR ADVICE) ? size - sizeof(SEPARATOR ADVICE) : 0;
        bool explains = docker_build_lacks_buildkit(error);
        size_t len = strnlen(error, explains ? room : size - 1);

        len = cay_utf8_cut(error, len);
        snprintf(ret, size, "%.*s%s", (int)len, error, explains ? SEPARATOR ADVICE : "");
}
