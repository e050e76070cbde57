/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the owners of slices: the same at each client, evenly spread, and moved only when
 * necessary. */
#include "memory.h"
#include "nodes.h"
#include "philox.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

enum { NODES = 7, SLICES = 20000, LIST_BYTES = 16384 };

static sl_nodes *open_nodes(const char *list)
{
    sl_nodes *nodes = NULL;
    sluice_error error;
    if (sl_nodes_open(&nodes, list, &error) != SLUICE_OK) {
        fail_msg("%s: %s", list, error.text);
    }
    return nodes;
}

static const char *owner_name(const sl_nodes *nodes, uint64_t slice, int which)
{
    uint32_t owners[2];
    sl_nodes_owners(nodes, "/bucket/train-000.tar", slice, owners);
    return sl_nodes_name(nodes, owners[which]);
}

/* Lists "n0:80,n3:80,..." of the nodes in `order`, without node `without`. */
static void write_list(char list[LIST_BYTES], const uint32_t *order, uint32_t without)
{
    size_t length = 0;
    for (uint32_t i = 0; i < NODES; i++) {
        if (order[i] != without) {
            length += (size_t)snprintf(list + length, LIST_BYTES - length, "%sn%u:80",
                                       length == 0 ? "" : ", ", order[i]);
        }
    }
}

TEST(names_are_sorted_and_in_small_letters)
{
    sl_nodes *nodes = open_nodes(" node-B:8080,\tnode-a:8080 ,[FE80::1%eth0]:65535,10.0.0.2:1\n");
    assert_int_equal(sl_nodes_count(nodes), 4);
    assert_string_equal(sl_nodes_name(nodes, 0), "10.0.0.2:1");
    assert_string_equal(sl_nodes_name(nodes, 1), "[fe80::1%eth0]:65535");
    assert_string_equal(sl_nodes_name(nodes, 2), "node-a:8080");
    assert_string_equal(sl_nodes_name(nodes, 3), "node-b:8080");
    sl_nodes_close(nodes);
    sl_nodes_close(NULL);
}

TEST(bad_lists_are_refused_by_the_item)
{
    static const char *const bad[][2] = {
        {"", "\"\""},
        {" ", "\"\""},
        {"a:80,", "\"\""},
        {"a:80,,b:80", "\"\""},
        {"a", "\"a\""},
        {"a:", "\"a:\""},
        {":80", "\":80\""},
        {"a:0", "\"a:0\""},
        {"a:65536", "\"a:65536\""},
        {"a:000080", "\"a:000080\""},
        {"a:4294967376", "\"a:4294967376\""},
        {"a:8x", "\"a:8x\""},
        {"a:-1", "\"a:-1\""},
        {"http://a:80", "\"http://a:80\""},
        {"user@a:80", "\"user@a:80\""},
        {"a b:80", "\"a b:80\""},
        {"::1:80", "\"::1:80\""},
        {"[]:80", "\"[]:80\""},
        {"[::1:80", "\"[::1:80\""},
        {"a:80 b:81", "\"a:80 b:81\""},
        {"a:80, A:80", "\"a:80\" is listed twice"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        sl_nodes *nodes = NULL;
        sluice_error error;
        assert_int_equal(sl_nodes_open(&nodes, bad[i][0], &error), SLUICE_INVALID);
        assert_null(nodes);
        if (strstr(error.text, bad[i][1]) == NULL) {
            fail_msg("%s: \"%s\" lacks %s", bad[i][0], error.text, bad[i][1]);
        }
    }
}

TEST(long_items_and_long_lists_are_refused)
{
    char list[LIST_BYTES];
    snprintf(list, sizeof(list), "%0300d:80", 0);
    sl_nodes *nodes = NULL;
    sluice_error error;
    assert_int_equal(sl_nodes_open(&nodes, list, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "expected HOST:PORT"));

    size_t length = 0;
    for (uint32_t i = 0; i < SL_NODES_MAX; i++) {
        length += (size_t)snprintf(list + length, sizeof(list) - length, "%sn:%u",
                                   i == 0 ? "" : ",", i + 1);
    }
    nodes = open_nodes(list);
    assert_int_equal(sl_nodes_count(nodes), SL_NODES_MAX);
    sl_nodes_close(nodes);
    snprintf(list + length, sizeof(list) - length, ",one:1");
    assert_int_equal(sl_nodes_open(&nodes, list, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "at most 256"));
}

TEST(one_node_is_both_owners)
{
    sl_nodes *nodes = open_nodes("a:1");
    for (uint64_t slice = 0; slice < 100; slice++) {
        assert_string_equal(owner_name(nodes, slice, 0), "a:1");
        assert_string_equal(owner_name(nodes, slice, 1), "a:1");
    }
    sl_nodes_close(nodes);
}

/* Signatures and values in the query change no owner; another path or slice may. */
TEST(the_query_does_not_count)
{
    sl_nodes *nodes = open_nodes("a:1,b:1,c:1,d:1");
    uint32_t moved = 0;
    for (uint64_t slice = 0; slice < 100; slice++) {
        uint32_t plain[2];
        uint32_t query[2];
        uint32_t other[2];
        sl_nodes_owners(nodes, "/b/k", slice, plain);
        sl_nodes_owners(nodes, "/b/k?X-Amz-Signature=12", slice, query);
        sl_nodes_owners(nodes, "/b/l", slice, other);
        assert_memory_equal(plain, query, sizeof(plain));
        moved += plain[0] != other[0];
    }
    assert_in_range(moved, 50, 95);
    sl_nodes_close(nodes);
}

/* Against the definition: the two highest scores, found by removing nodes. The first owner in a
 * list without the first owner is the second owner. */
TEST(the_second_owner_is_the_first_without_the_first)
{
    uint32_t order[NODES] = {0, 1, 2, 3, 4, 5, 6};
    char list[LIST_BYTES];
    write_list(list, order, NODES);
    sl_nodes *all = open_nodes(list);
    sl_nodes *without[NODES];
    for (uint32_t i = 0; i < NODES; i++) {
        write_list(list, order, i);
        without[i] = open_nodes(list);
    }
    for (uint64_t slice = 0; slice < 2000; slice++) {
        uint32_t owners[2];
        sl_nodes_owners(all, "/bucket/train-000.tar", slice, owners);
        assert_int_not_equal(owners[0], owners[1]);
        for (uint32_t i = 0; i < NODES; i++) {
            /* Only the slices of the removed node move, each to its second owner. */
            const char *expected = sl_nodes_name(all, i == owners[0] ? owners[1] : owners[0]);
            assert_string_equal(owner_name(without[i], slice, 0), expected);
        }
    }
    for (uint32_t i = 0; i < NODES; i++) {
        sl_nodes_close(without[i]);
    }
    sl_nodes_close(all);
}

TEST(the_order_of_the_list_does_not_count)
{
    uint32_t order[NODES] = {0, 1, 2, 3, 4, 5, 6};
    char list[LIST_BYTES];
    write_list(list, order, NODES);
    sl_nodes *sorted = open_nodes(list);
    sl_random chance = sl_random_for(3, 0, 0, 0);
    for (int round = 0; round < 20; round++) {
        for (uint32_t i = NODES; i > 1; i--) {
            const uint64_t other = sl_random_below(&chance, i);
            const uint32_t kept = order[i - 1];
            order[i - 1] = order[other];
            order[other] = kept;
        }
        write_list(list, order, NODES);
        sl_nodes *nodes = open_nodes(list);
        for (uint64_t slice = 0; slice < 200; slice++) {
            assert_string_equal(owner_name(nodes, slice, 0), owner_name(sorted, slice, 0));
            assert_string_equal(owner_name(nodes, slice, 1), owner_name(sorted, slice, 1));
        }
        sl_nodes_close(nodes);
    }
    sl_nodes_close(sorted);
}

/* Each node's number of first and second slices is within 5 standard deviations of its share, and
 * the slices of a removed node spread over all others. */
TEST(slices_spread_evenly)
{
    sl_nodes *nodes = open_nodes("n0:80,n1:80,n2:80,n3:80,n4:80,n5:80,n6:80");
    uint32_t pairs[NODES][NODES] = {{0}};
    for (uint64_t slice = 0; slice < SLICES; slice++) {
        uint32_t owners[2];
        sl_nodes_owners(nodes, "/bucket/large.bin", slice, owners);
        pairs[owners[0]][owners[1]]++;
    }
    for (uint32_t i = 0; i < NODES; i++) {
        uint32_t first = 0;
        uint32_t second = 0;
        for (uint32_t j = 0; j < NODES; j++) {
            first += pairs[i][j];
            second += pairs[j][i];
            if (i != j) { /* 476 expected, deviation 21.6 */
                assert_in_range(pairs[i][j], 366, 586);
            }
        }
        assert_in_range(first, 2607, 3107); /* 2857 expected, deviation 49.5 */
        assert_in_range(second, 2607, 3107);
    }
    sl_nodes_close(nodes);
}

/* Clients of different versions must agree: these owners are part of the contract. */
TEST(owners_stay_the_same_between_versions)
{
    sl_nodes *nodes = open_nodes("a:80,b:80,c:80,d:80");
    char first[33] = {0};
    char second[33] = {0};
    for (uint64_t slice = 0; slice < 32; slice++) {
        first[slice] = owner_name(nodes, slice, 0)[0];
        second[slice] = owner_name(nodes, slice, 1)[0];
    }
    assert_string_equal(first, "aaaacccabbccddbcacbabbbacbbcbacb");
    assert_string_equal(second, "bdddbddcdcddcacddbabacccbddddbad");
    sl_nodes_close(nodes);
}
