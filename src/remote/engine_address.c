/* SPDX-License-Identifier: Apache-2.0 */
/* engine_address: distinguishes public addresses from those that a redirect must not lead to. */
#include "engine_thread.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct local_block {
    uint32_t first;
    uint32_t bits;
} local_block;

/* Special-purpose blocks of RFC 6890, and multicast. */
static const local_block blocks[] = {
    {0x00000000, 8},  /* this network */
    {0x0a000000, 8},  /* private */
    {0x64400000, 10}, /* shared by carriers */
    {0x7f000000, 8},  /* loopback */
    {0xa9fe0000, 16}, /* link-local: metadata servers */
    {0xac100000, 12}, /* private */
    {0xc0000000, 24}, /* protocol assignments */
    {0xc0a80000, 16}, /* private */
    {0xc6120000, 15}, /* benchmarks */
    {0xe0000000, 3},  /* multicast, reserved, broadcast */
};

static bool address4_is_local(uint32_t address)
{
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
        if ((address ^ blocks[i].first) >> (32 - blocks[i].bits) == 0) {
            return true;
        }
    }
    return false;
}

static uint32_t address4_at(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static bool address6_is_local(const uint8_t bytes[16])
{
    static const uint8_t zeros[16];
    static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b};
    const bool mapped = memcmp(bytes, zeros, 10) == 0 && bytes[10] == 0xff && bytes[11] == 0xff;
    if (mapped || memcmp(bytes, nat64, sizeof(nat64)) == 0) {
        return address4_is_local(address4_at(bytes + 12));
    }
    if (bytes[0] == 0x20 && bytes[1] == 0x02) { /* 6to4 */
        return address4_is_local(address4_at(bytes + 2));
    }
    return (bytes[0] & 0xe0U) != 0x20U; /* all but global unicast */
}

bool sl_address_is_local(const char *address)
{
    struct in_addr four;
    struct in6_addr six;
    char text[INET6_ADDRSTRLEN];
    (void)snprintf(text, sizeof(text), "%s", address);
    text[strcspn(text, "%")] = '\0'; /* the interface of a link-local address */
    if (inet_pton(AF_INET, text, &four) == 1) {
        return address4_is_local(ntohl(four.s_addr));
    }
    return inet_pton(AF_INET6, text, &six) != 1 || address6_is_local(six.s6_addr);
}

bool sl_address_url_is_local(const char *url)
{
    char host[256];
    const char *begin = strstr(url, "://");
    begin = begin != NULL ? begin + 3 : url;
    const bool bracket = *begin == '[';
    begin += bracket ? 1 : 0;
    const size_t length = strcspn(begin, bracket ? "]" : ":/?#");
    if (length >= sizeof(host)) {
        return true;
    }
    memcpy(host, begin, length);
    host[length] = '\0';
    const size_t suffix = sizeof(".localhost") - 1;
    if (strcasecmp(host, "localhost") == 0 ||
        (length >= suffix && strcasecmp(host + length - suffix, ".localhost") == 0)) {
        return true;
    }
    /* 127.1, 0x7f.1 and 2130706433 are addresses, too: inet_aton parses them like resolvers do */
    struct in_addr four;
    if (inet_aton(host, &four) != 0) {
        return address4_is_local(ntohl(four.s_addr));
    }
    return bracket && sl_address_is_local(host);
}
