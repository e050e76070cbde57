/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the settings of remote reading: options override the environment, which overrides the
 * profile; invalid values fail. With --values, prints profiles for remote_profile.py, which
 * compares them with botocore's. */
#include "aws_profile.h"
#include "error.h"
#include "settings.h"
#include "stop.h"
#include "test.h"
#include "test_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const variables[] = {"AWS_ENDPOINT_URL_S3",
                                        "AWS_ENDPOINT_URL",
                                        "AWS_REGION",
                                        "AWS_DEFAULT_REGION",
                                        "AWS_PROFILE",
                                        "AWS_DEFAULT_PROFILE",
                                        "AWS_CA_BUNDLE",
                                        "CURL_CA_BUNDLE",
                                        "SLUICE_REMOTE_CACHE",
                                        "SLUICE_CACHE_NODES",
                                        "SLUICE_REMOTE_CACHE_BYTES",
                                        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"};

/* Clears all variables and uses profile files in the test's folder. */
static int begin(void **state)
{
    const int made = test_folder_make(state);
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
        unsetenv(variables[i]);
    }
    setenv("AWS_CONFIG_FILE", test_path("config"), 1);
    setenv("AWS_SHARED_CREDENTIALS_FILE", test_path("credentials"), 1);
    const sl_remote_choice none = {.endpoint = NULL};
    return made != 0 ? made : (int)sl_remote_settings_choose(&none, NULL);
}

static void write_text(const char *name, const char *text)
{
    write_file(test_path("%s", name), text, (uint32_t)strlen(text));
}

static const sl_remote_settings *settings_now(void)
{
    const sl_remote_settings *settings = NULL;
    sluice_error error;
    sl_error_clear(&error);
    if (sl_remote_settings_get(&settings, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    return settings;
}

static void choose(const sl_remote_choice *choice)
{
    sluice_error error;
    sl_error_clear(&error);
    if (sl_remote_settings_choose(choice, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
}

/* Makes the library read the environment again. */
static void choose_nothing(void)
{
    choose(&(sl_remote_choice){.endpoint = NULL});
}

TEST_WITH(defaults, begin, test_folder_remove)
{
    const sl_remote_settings *settings = settings_now();
    assert_string_equal(settings->endpoint, "");
    assert_string_equal(settings->region, "");
    assert_string_equal(settings->profile, "default");
    assert_string_equal(settings->ca_file, "");
    assert_string_equal(settings->cache, "");
    assert_false(settings->anonymous || settings->profile_chosen);
    assert_int_equal(settings->connections, 256);
    assert_int_equal(settings->stall_ns, 30000000000);
    assert_int_equal(settings->cache_bytes, 0);
    assert_null(settings->nodes);
    assert_int_equal(settings->profile_error.status, SLUICE_OK);
    sl_remote_settings_release(settings);
    sl_remote_settings_release(NULL);
}

TEST_WITH(a_relative_cache_folder_stays_where_it_was, begin, test_folder_remove)
{
    char before[4096];
    char expected[4096];
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(test_path(".")), 0);
    assert_non_null(getcwd(expected, sizeof(expected) - sizeof("/cache")));
    choose(&(sl_remote_choice){.cache = "cache"});
    assert_int_equal(chdir(before), 0);
    const sl_remote_settings *settings = settings_now();
    (void)strcat(expected, "/cache"); /* NOLINT(clang-analyzer-security.insecureAPI.strcpy) */
    assert_string_equal(settings->cache, expected);
    sl_remote_settings_release(settings);
}

TEST_WITH(a_thread_that_stops_leaves_the_cache_to_others, begin, test_folder_remove)
{
    _Atomic bool stopping = true;
    sl_chunk_cache_stats stats;
    choose(&(sl_remote_choice){.cache = test_path("cache")});
    const sl_remote_settings *settings = settings_now();
    (void)sl_stop_work_under(&stopping);
    assert_null(sl_remote_settings_cache(settings));
    (void)sl_stop_work_under(NULL);
    assert_non_null(sl_remote_settings_cache(settings));
    sl_remote_settings_cache_stats(settings, &stats);
    assert_string_equal(stats.off, "");
    assert_true(stats.most_bytes > 0);
    sl_remote_settings_release(settings);
}

/* Keeps one chunk in the cache that the settings now name. */
static bool keeps_a_chunk(sl_chunk_cache *parents, const char *address)
{
    static const uint8_t bytes[100];
    sluice_error error;
    sl_chunk_part *part = NULL;
    const sl_remote_settings *settings = settings_now();
    sl_chunk_cache *cache = sl_remote_settings_cache(settings);
    bool good = cache != NULL && cache != parents;
    sl_cached_object *object =
        good ? sl_cached_object_open(cache, address, "etag", sizeof(bytes)) : NULL;
    good = object != NULL && sl_chunk_begin(object, 0, &part, &error) == SLUICE_OK &&
           sl_chunk_keep(part, bytes, sizeof(bytes), &error) == SLUICE_OK &&
           sl_chunk_look(object, 0) == SL_CHUNK_HERE;
    sl_cached_object_close(object);
    sl_remote_settings_release(settings);
    choose_nothing(); /* closes the cache */
    return good;
}

/* The parent's cache and its locks stay unchanged. */
TEST_WITH(a_child_has_a_cache_of_its_own, begin, test_folder_remove)
{
    int status;
    sl_chunk_cache_stats stats;
    choose(&(sl_remote_choice){.cache = test_path("cache"), .cache_bytes = 1 << 20});
    const sl_remote_settings *settings = settings_now();
    sl_chunk_cache *cache = sl_remote_settings_cache(settings);
    sl_cached_object *object = sl_cached_object_open(cache, "s3://b/parent", "etag", 100);
    assert_true(sl_cached_object_is_own(object));
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const bool parents = !sl_cached_object_is_own(object);
        sl_cached_object_close(object);
        _exit(parents && keeps_a_chunk(cache, "s3://b/child") ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    sl_chunk_cache_get_stats(cache, &stats);
    assert_true(stats.kept_bytes > 0); /* by the child */
    sl_cached_object_close(object);
    sl_remote_settings_release(settings);
    assert_true(keeps_a_chunk(NULL, "s3://b/parent"));
}

TEST_WITH(the_choice_counts_before_the_environment, begin, test_folder_remove)
{
    write_text("ca.pem", "");
    setenv("AWS_ENDPOINT_URL", "https://two.example", 1);
    setenv("AWS_REGION", "eu-central-1", 1);
    setenv("AWS_PROFILE", "default", 1);
    setenv("AWS_CA_BUNDLE", test_path("ca.pem"), 1);
    setenv("SLUICE_REMOTE_CACHE", "/tmp/somewhere", 1);
    setenv("SLUICE_REMOTE_CACHE_BYTES", "3GiB", 1);
    setenv("SLUICE_CACHE_NODES", "a:1, b:2", 1);
    choose_nothing();
    const sl_remote_settings *first = settings_now();
    assert_string_equal(first->endpoint, "https://two.example");
    assert_string_equal(first->region, "eu-central-1");
    assert_string_equal(first->ca_file, test_path("ca.pem"));
    assert_string_equal(first->cache, "/tmp/somewhere");
    assert_int_equal(first->cache_bytes, UINT64_C(3) << 30);
    assert_int_equal(sl_nodes_count(first->nodes), 2);
    setenv("AWS_ENDPOINT_URL_S3", "http://one.example:80/", 1);
    choose(&(sl_remote_choice){.region = "auto",
                               .cache = "",
                               .cache_nodes = "",
                               .cache_bytes = 7,
                               .anonymous = true,
                               .connections = 9,
                               .stall_ns = 50000000});
    const sl_remote_settings *second = settings_now();
    assert_ptr_not_equal(first, second);
    assert_string_equal(first->endpoint, "https://two.example"); /* held: stays unchanged */
    assert_string_equal(second->endpoint, "http://one.example");
    assert_string_equal(second->region, "auto");
    assert_string_equal(second->cache, "");
    assert_int_equal(second->cache_bytes, 7);
    assert_null(second->nodes);
    assert_true(second->anonymous);
    assert_int_equal(second->connections, 9);
    assert_int_equal(second->stall_ns, 50000000);
    choose(&(sl_remote_choice){.endpoint = "https://[::1]:7480", .profile = "me"});
    const sl_remote_settings *third = settings_now();
    assert_string_equal(third->endpoint, "https://[::1]:7480");
    assert_true(third->profile_chosen);
    assert_int_equal(third->profile_error.status, SLUICE_INVALID); /* no such profile */
    assert_non_null(strstr(third->profile_error.text, "\"me\" does not exist"));
    assert_ptr_equal(settings_now(), third);
    sl_remote_settings_release(third);
    sl_remote_settings_release(third);
    sl_remote_settings_release(second);
    sl_remote_settings_release(first);
}

TEST_WITH(the_profile_says_the_rest, begin, test_folder_remove)
{
    write_text("config", "# mine\n"
                         "[default]\n"
                         "region = us-west-2\n"
                         "[profile \"my lab\"]\n"
                         "region: eu-west-1\r\n"
                         "region = eu-west-3\n"
                         "services = lab\n"
                         "  ; of the lab\n"
                         "s3 =\n"
                         "  endpoint_url = http://not.this\n"
                         "  region = nowhere\n"
                         "output = json\n"
                         "endpoint_url = http://general\n"
                         "[services lab]\n"
                         "sts =\n"
                         "\tendpoint_url = http://sts.lab\n"
                         "s3 =\n"
                         "\tendpoint_url = http://s3.lab:9000\n");
    setenv("AWS_PROFILE", "my lab", 1);
    choose_nothing();
    const sl_remote_settings *settings = settings_now();
    assert_int_equal(settings->profile_error.status, SLUICE_OK);
    assert_string_equal(settings->region, "eu-west-3");
    assert_string_equal(settings->endpoint, "http://s3.lab:9000");
    sl_remote_settings_release(settings);
    setenv("AWS_REGION", "auto", 1);
    setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true", 1);
    choose_nothing();
    settings = settings_now();
    assert_string_equal(settings->region, "auto");
    assert_string_equal(settings->endpoint, "");
    sl_remote_settings_release(settings);
    setenv("AWS_CONFIG_FILE", "/dev/null", 1);
    setenv("AWS_PROFILE", "default", 1);
    choose_nothing();
    settings = settings_now();
    assert_int_equal(settings->profile_error.status, SLUICE_OK);
    sl_remote_settings_release(settings);
}

/* A broken profile is reported, and only affects settings that need it. */
static void check_profile_error(const char *config, sluice_status status, const char *text)
{
    write_text("config", config);
    choose_nothing();
    const sl_remote_settings *settings = settings_now();
    assert_int_equal(settings->profile_error.status, status);
    if (strstr(settings->profile_error.text, text) == NULL) {
        fail_msg("%s", settings->profile_error.text);
    }
    assert_null(strstr(settings->profile_error.text, "SECRET"));
    sl_remote_settings_release(settings);
}

TEST_WITH(broken_profiles, begin, test_folder_remove)
{
    check_profile_error("[default]\nSECRET\n", SLUICE_CORRUPT, "line 2: expected NAME = VALUE");
    check_profile_error("\n[default\n", SLUICE_CORRUPT, "line 2: a section lacks its \"]\"");
    check_profile_error("[default]\nregion = a\n  SECRET\n", SLUICE_CORRUPT,
                        "line 3: an indented line");
    check_profile_error("[default]\nregion = a b\n", SLUICE_INVALID, "region of the profile is");
    check_profile_error("[default]\nendpoint_url = http://me:SECRET@x\n", SLUICE_INVALID,
                        "endpoint_url of the profile is");
    check_profile_error("[default]\nca_bundle = /nowhere/at/all\n", SLUICE_INVALID,
                        "ca_bundle of the profile names");
    check_profile_error("[other]\nregion = a\n  b\nx\n", SLUICE_CORRUPT, "line 4");
    check_profile_error("[other]\nregion = a\n  b\n", SLUICE_OK, "");
    write_file(test_path("config"), "[default]\n\0x", 12);
    choose_nothing();
    const sl_remote_settings *settings = settings_now();
    assert_int_equal(settings->profile_error.status, SLUICE_CORRUPT);
    sl_remote_settings_release(settings);
}

static void check_refused(const sl_remote_choice *choice, const char *text)
{
    const sl_remote_settings *before = settings_now();
    sluice_error error;
    sl_error_clear(&error);
    assert_int_equal(sl_remote_settings_choose(choice, &error), SLUICE_INVALID);
    if (strstr(error.text, text) != error.text || strstr(error.text, "SECRET") != NULL) {
        fail_msg("%s", error.text);
    }
    const sl_remote_settings *after = settings_now();
    assert_ptr_equal(before, after);
    sl_remote_settings_release(before);
    sl_remote_settings_release(after);
}

TEST_WITH(refusals_name_the_option, begin, test_folder_remove)
{
    static const char *const endpoints[] = {"x",
                                            "ftp://x",
                                            "s3://x",
                                            "https://",
                                            "https://me:SECRET@x",
                                            "https://x/?SECRET",
                                            "https://x/path",
                                            "https://x:99999"};
    for (size_t i = 0; i < sizeof(endpoints) / sizeof(*endpoints); i++) {
        check_refused(&(sl_remote_choice){.endpoint = endpoints[i]}, "endpoint is ");
    }
    char text[2000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    check_refused(&(sl_remote_choice){.region = "eu west"}, "region is \"eu west\"");
    check_refused(&(sl_remote_choice){.region = text}, "region is");
    check_refused(&(sl_remote_choice){.profile = text}, "profile is too long");
    check_refused(&(sl_remote_choice){.ca_file = text}, "ca_file is too long");
    check_refused(&(sl_remote_choice){.ca_file = "/nowhere/at/all"}, "ca_file names");
    check_refused(&(sl_remote_choice){.cache = text}, "cache is too long");
    check_refused(&(sl_remote_choice){.cache = "s3://x/y"}, "cache is an address");
    check_refused(&(sl_remote_choice){.cache_nodes = "a"}, "cache_nodes: ");
}

TEST_WITH(refusals_name_the_variable, begin, test_folder_remove)
{
    static const char *const bad[][2] = {{"AWS_ENDPOINT_URL_S3", "x"},
                                         {"AWS_ENDPOINT_URL", "https://x/y"},
                                         {"AWS_DEFAULT_REGION", "a b"},
                                         {"CURL_CA_BUNDLE", "/nowhere/at/all"},
                                         {"SLUICE_REMOTE_CACHE", "gs://x"},
                                         {"SLUICE_CACHE_NODES", "a:b"},
                                         {"SLUICE_REMOTE_CACHE_BYTES", "5 x"},
                                         {"SLUICE_REMOTE_CACHE_BYTES", "-1"},
                                         {"SLUICE_REMOTE_CACHE_BYTES", "99999999999999999999"},
                                         {"SLUICE_REMOTE_CACHE_BYTES", "99999999TiB"}};
    choose_nothing();
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        const sl_remote_settings *settings = NULL;
        sluice_error error;
        sl_error_clear(&error);
        choose_nothing();
        setenv(bad[i][0], bad[i][1], 1);
        assert_int_equal(sl_remote_settings_get(&settings, &error), SLUICE_INVALID);
        assert_ptr_equal(strstr(error.text, bad[i][0]), error.text);
        unsetenv(bad[i][0]);
        sl_remote_settings_release(settings_now());
    }
}

/* ---- for remote_profile.py ---- */

/* Prints the values of each profile that the input lines name: "NUMBER VALUE", then "end". */
static int print_values(void)
{
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, stdin) > 0) {
        sl_aws_profile profile;
        sluice_error error;
        sl_error_clear(&error);
        char *rest = line;
        setenv("AWS_CONFIG_FILE", strsep(&rest, "\t"), 1);
        setenv("AWS_SHARED_CREDENTIALS_FILE", strsep(&rest, "\t"), 1);
        if (sl_aws_profile_open(&profile, strsep(&rest, "\n"), &error) != SLUICE_OK) {
            printf("error %s\n", error.text);
        }
        for (int i = 0; i < SL_AWS_VALUES; i++) {
            if (profile.values[i] != NULL) {
                printf("%d %s\n", i, profile.values[i]);
            }
        }
        printf("end\n");
        sl_aws_profile_close(&profile);
    }
    free(line);
    return 0;
}

int main(int count, char **arguments)
{
    return count > 1 && strcmp(arguments[1], "--values") == 0 ? print_values()
                                                              : test_run(NULL, NULL);
}
