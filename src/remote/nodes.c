/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rendezvous hashing: each node has a score for a slice, and the two highest scores own it.
 *
 * Invariant: names are in lower case and sorted, so node numbers, and the choice between equal
 * scores, depend on the set of names alone.
 */
#include "nodes.h"

#include "checksum.h"
#include "error.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

enum { NODE_BYTES = 256, PORT_MAX = 65535, PORT_DIGITS = 5, DECIMAL = 10 };

typedef struct sl_node {
    char name[NODE_BYTES];
    uint64_t hash;
} sl_node;

struct sl_nodes {
    uint32_t count;
    sl_node node[SL_NODES_MAX];
};

static bool is_blank(char letter)
{
    return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r';
}

static bool is_host_letter(char letter, bool bracketed)
{
    const bool word = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
    return word || letter == '-' || letter == '.' || letter == '_' ||
           (bracketed && (letter == ':' || letter == '%'));
}

static bool nodes_is_host(const char *host, size_t bytes)
{
    const bool bracketed = bytes > 2 && host[0] == '[' && host[bytes - 1] == ']';
    if (bracketed) {
        host++;
        bytes -= 2;
    }
    for (size_t i = 0; i < bytes; i++) {
        if (!is_host_letter(host[i], bracketed)) {
            return false;
        }
    }
    return bytes != 0;
}

static bool nodes_is_port(const char *port)
{
    uint32_t value = 0;
    const size_t digits = strlen(port);
    for (size_t i = 0; i < digits && i <= PORT_DIGITS; i++) {
        if (port[i] < '0' || port[i] > '9') {
            return false;
        }
        value = value * DECIMAL + (uint32_t)(port[i] - '0');
    }
    return digits != 0 && digits <= PORT_DIGITS && value != 0 && value <= PORT_MAX;
}

static sluice_status refuse_node(const char *item, size_t bytes, sluice_error *error)
{
    const int shown = bytes < NODE_BYTES ? (int)bytes : NODE_BYTES - 1;
    return sl_error_set(error, SLUICE_INVALID, "open",
                        "cache node \"%.*s\" is not valid: expected HOST:PORT", shown, item);
}

/* Appends the item [item, item + bytes) without surrounding blanks. */
static sluice_status nodes_add(sl_nodes *nodes, const char *item, size_t bytes, sluice_error *error)
{
    while (bytes != 0 && is_blank(*item)) {
        item++;
        bytes--;
    }
    while (bytes != 0 && is_blank(item[bytes - 1])) {
        bytes--;
    }
    if (bytes == 0 || bytes >= NODE_BYTES) {
        return refuse_node(item, bytes, error);
    }
    if (nodes->count == SL_NODES_MAX) {
        return sl_error_set(error, SLUICE_INVALID, "open",
                            "too many cache nodes: must be at most %u", SL_NODES_MAX);
    }
    sl_node *node = &nodes->node[nodes->count];
    for (size_t i = 0; i < bytes; i++) {
        const char letter = item[i];
        node->name[i] = (char)(letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter);
    }
    node->name[bytes] = '\0';
    const char *colon = strrchr(node->name, ':');
    if (colon == NULL || !nodes_is_host(node->name, (size_t)(colon - node->name)) ||
        !nodes_is_port(colon + 1)) {
        return refuse_node(item, bytes, error);
    }
    node->hash = sl_checksum(node->name, bytes);
    nodes->count++;
    return SLUICE_OK;
}

static int compare_nodes(const void *left, const void *right)
{
    return strcmp(((const sl_node *)left)->name, ((const sl_node *)right)->name);
}

static sluice_status read_nodes(sl_nodes *nodes, const char *list, sluice_error *error)
{
    for (const char *item = list;; item++) {
        const size_t bytes = strcspn(item, ",");
        sluice_status status = nodes_add(nodes, item, bytes, error);
        if (status != SLUICE_OK) {
            return status;
        }
        item += bytes;
        if (*item == '\0') {
            break;
        }
    }
    qsort(nodes->node, nodes->count, sizeof(*nodes->node), compare_nodes);
    for (uint32_t i = 1; i < nodes->count; i++) {
        if (strcmp(nodes->node[i - 1].name, nodes->node[i].name) == 0) {
            return sl_error_set(error, SLUICE_INVALID, "open", "cache node \"%s\" is listed twice",
                                nodes->node[i].name);
        }
    }
    return SLUICE_OK;
}

sluice_status sl_nodes_open(sl_nodes **nodes, const char *list, sluice_error *error)
{
    *nodes = NULL;
    sl_nodes *made = sl_calloc(1, sizeof(*made));
    if (made == NULL) {
        return sl_no_memory(error, "open", "for cache nodes");
    }
    sluice_status status = read_nodes(made, list, error);
    if (status != SLUICE_OK) {
        sl_nodes_close(made);
        return status;
    }
    *nodes = made;
    return SLUICE_OK;
}

void sl_nodes_close(sl_nodes *nodes)
{
    sl_free(nodes);
}

uint32_t sl_nodes_count(const sl_nodes *nodes)
{
    return nodes->count;
}

const char *sl_nodes_name(const sl_nodes *nodes, uint32_t node)
{
    return nodes->node[node].name;
}

static uint64_t hash_pair(uint64_t left, uint64_t right)
{
    const uint64_t pair[2] = {left, right};
    return sl_checksum(pair, sizeof(pair));
}

void sl_nodes_owners(const sl_nodes *nodes, const char *path, uint64_t slice, uint32_t owners[2])
{
    const uint64_t key = hash_pair(sl_checksum(path, strcspn(path, "?")), slice);
    uint64_t best = hash_pair(key, nodes->node[0].hash);
    uint64_t second = 0;
    owners[0] = owners[1] = 0;
    for (uint32_t i = 1; i < nodes->count; i++) {
        const uint64_t score = hash_pair(key, nodes->node[i].hash);
        if (score > best) {
            second = best;
            owners[1] = owners[0];
            best = score;
            owners[0] = i;
        } else if (owners[1] == owners[0] || score > second) {
            second = score;
            owners[1] = i;
        }
    }
}
