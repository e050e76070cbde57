/* SPDX-License-Identifier: Apache-2.0 */
/* The options of reading from object stores. */
#include "options_table.h"

#include <sluice/remote.h>

#define CONNECTIONS_MOST 1024
#define STALL_LEAST      INT64_C(1000000)
#define STALL_MOST       UINT64_C(3600000000000)

#define NUMBER(member, from, to) SL_NUMBER(sluice_remote_config, member, from, to)
#define TEXT(member)             SL_TEXT(sluice_remote_config, member)

static const sluice_option remote_rows[] = {
    {SL_FLAG(sluice_remote_config, anonymous), .keyword = "anonymous", .flag = "--anonymous",
     .help = "send no credentials to object stores"},
    {TEXT(endpoint), .keyword = "endpoint", .flag = "--endpoint", .value = "URL",
     .help = "server of s3 addresses [$AWS_ENDPOINT_URL, AWS]"},
    {TEXT(region), .keyword = "region", .flag = "--region", .value = "NAME",
     .help = "region of s3 addresses [$AWS_REGION, us-east-1]"},
    {TEXT(profile), .keyword = "profile", .flag = "--profile", .value = "NAME",
     .help = "profile of AWS's configuration files [$AWS_PROFILE, default]"},
    {TEXT(ca_file), .keyword = "ca_file", .flag = "--ca-file", .value = "FILE",
     .help = "trusted certificates, PEM [$AWS_CA_BUNDLE, the system's]"},
    {NUMBER(connections, 1, CONNECTIONS_MOST), .keyword = "connections", .flag = "--connections",
     .value = "N", .help = "most connections to an object store's host [256]"},
    {NUMBER(stall_ns, STALL_LEAST, STALL_MOST), .unit = SLUICE_UNIT_NANOSECONDS, .keyword = "stall",
     .flag = "--stall", .value = "TIME",
     .help = "fail a remote read that receives nothing for TIME [30s]"},
    {TEXT(cache), .keyword = "cache", .flag = "--remote-cache", .value = "FOLDER",
     .help = "keep remote data in FOLDER, on a local disk [$SLUICE_REMOTE_CACHE]"},
    {NUMBER(cache_bytes, 0, UINT64_MAX), .unit = SLUICE_UNIT_BYTES, .keyword = "cache_bytes",
     .flag = "--remote-cache-bytes", .value = "BYTES",
     .help = "most bytes in that folder [nine tenths of the free space]"},
    {TEXT(cache_nodes), .keyword = "cache_nodes", .flag = "--cache-nodes", .value = "HOST:PORT,...",
     .help = "HTTP caches to ask before the store [$SLUICE_CACHE_NODES]"},
};
const sl_options_table sl_remote_table = SL_TABLE(remote_rows);
