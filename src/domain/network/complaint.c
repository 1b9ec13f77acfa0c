/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/network/complaint.h"

#include <string.h>

#include "foundation/base/cleanup.h"

bool cay_network_complains(const void *bytes, size_t len)
{
        static const char *const words[] = {
                "Network is unreachable",               /* any, ENETUNREACH */
                "Temporary failure in name resolution", /* glibc: apt, python, ssh, git over ssh */
                "Temporary failure resolving",          /* apt */
                "Name or service not known",            /* glibc */
                "Could not resolve host",               /* curl, git */
                "unable to resolve host address",       /* wget */
                "Failed to connect to",                 /* curl, git */
                "Failed to establish a new connection", /* pip, requests */
                "NameResolutionError",                  /* pip, urllib3 */
                "No matching distribution found for",   /* pip, where it is to be quiet or not to try again */
                "failed to lookup address information", /* Rust: cargo */
                "no such host",                         /* Go */
                "dial tcp: lookup ",                    /* Go, where there is no resolver to be asked */
                "UnknownHostException",                 /* Java: maven, gradle */
                "Failed to open TCP connection to",     /* Ruby: gem, bundler */
                "Name does not resolve",                /* musl */
                "connect: network is unreachable",      /* Go */
                "ENOTFOUND",                            /* node, npm */
                "EAI_AGAIN",                            /* node, npm */
                "ENETUNREACH",                          /* node, npm */
                "bad address",                          /* busybox, musl */
        };

        for (unsigned i = 0; i < CAY_COUNT(words); i++)
                if (memmem(bytes, len, words[i], strlen(words[i])))
                        return true;
        return false;
}
