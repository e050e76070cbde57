/* SPDX-License-Identifier: Apache-2.0 */
#include "http_server_parts.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct rule {
    struct rule *next;
    regex_t path;
    bool has_path, has_kind;
    http_kind kind;
    char host[128];
    uint64_t skip, count, every, seed;
    double share;
    uint64_t seen, struck;
    http_faults faults;
} rule;

struct http_rules {
    rule *first;
};

static const char *const fault_words[HTTP_FAULTS] = {
    [FAULT_STATUS] = "status",
    [FAULT_RETRY_AFTER] = "retry-after",
    [FAULT_IGNORE_RANGE] = "ignore-range",
    [FAULT_NO_LENGTH] = "no-length",
    [FAULT_CHUNKED] = "chunked",
    [FAULT_GZIP] = "gzip",
    [FAULT_TRUNCATE] = "truncate",
    [FAULT_RESET] = "reset",
    [FAULT_SHORTEN] = "shorten",
    [FAULT_EXTRA] = "extra",
    [FAULT_RANGE_OFF] = "range-off",
    [FAULT_TOTAL_OFF] = "total-off",
    [FAULT_NO_TOTAL] = "no-total",
    [FAULT_CLAIM] = "claim",
    [FAULT_ENDLESS_BODY] = "endless-body",
    [FAULT_ENDLESS_HEADERS] = "endless-headers",
    [FAULT_HUGE_HEADER] = "huge-header",
    [FAULT_GARBAGE] = "garbage",
    [FAULT_CLOSE] = "close",
    [FAULT_OTHER_BYTES] = "other-bytes",
    [FAULT_REPLACE] = "replace",
    [FAULT_INTERIM] = "interim",
    [FAULT_DELAY] = "delay",
    [FAULT_STALL_HEAD] = "stall-head",
    [FAULT_STALL_BODY] = "stall-body",
    [FAULT_DRIP] = "drip",
    [FAULT_RATE] = "rate",
    [FAULT_CLOCK] = "clock",
    [FAULT_EMPTY_PAGES] = "empty-pages",
    [FAULT_SAME_PAGES] = "same-pages",
    [FAULT_CODE] = "code",
    [FAULT_ETAG] = "etag",
    [FAULT_REDIRECT] = "redirect",
};
static const char *const kind_words[HTTP_KINDS] = {"get",     "list", "tree",
                                                   "resolve", "head", "other"};

static bool takes_number(http_fault fault)
{
    switch (fault) {
    case FAULT_IGNORE_RANGE:
    case FAULT_NO_LENGTH:
    case FAULT_NO_TOTAL:
    case FAULT_CHUNKED:
    case FAULT_GZIP:
    case FAULT_ENDLESS_BODY:
    case FAULT_ENDLESS_HEADERS:
    case FAULT_GARBAGE:
    case FAULT_CLOSE:
    case FAULT_OTHER_BYTES:
    case FAULT_REPLACE:
    case FAULT_INTERIM:
    case FAULT_STALL_HEAD:
    case FAULT_EMPTY_PAGES:
    case FAULT_SAME_PAGES:
        return false;
    default:
        return fault < FAULT_CODE;
    }
}

static int64_t number_of(const char *word, const char *value)
{
    char *end = NULL;
    const long long number = strtoll(value, &end, 10);
    if (value[0] == '\0' || *end != '\0') {
        http_die("%s=%s: a number is expected", word, value);
    }
    return number;
}

static bool set_selection(rule *of, const char *word, const char *value)
{
    if (strcmp(word, "path") == 0) {
        if (regcomp(&of->path, value, REG_EXTENDED | REG_NOSUB) != 0) {
            http_die("path=%s: not a regular expression", value);
        }
        of->has_path = true;
        return true;
    }
    if (strcmp(word, "kind") == 0) {
        for (uint32_t i = 0; i < HTTP_KINDS; i++) {
            if (strcmp(kind_words[i], value) == 0) {
                of->kind = (http_kind)i;
                of->has_kind = true;
                return true;
            }
        }
        http_die("kind=%s: not a kind of request", value);
    }
    if (strcmp(word, "host") == 0) {
        (void)snprintf(of->host, sizeof(of->host), "%s", value);
        return true;
    }
    if (strcmp(word, "share") == 0) {
        of->share = strtod(value, NULL);
        return true;
    }
    const struct {
        const char *word;
        uint64_t *to;
    } numbers[] = {
        {"skip", &of->skip}, {"count", &of->count}, {"every", &of->every}, {"seed", &of->seed}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strcmp(numbers[i].word, word) == 0) {
            *numbers[i].to = (uint64_t)number_of(word, value);
            return true;
        }
    }
    return false;
}

static void set_fault(rule *of, const char *word, const char *value)
{
    for (uint32_t i = 0; i < HTTP_FAULTS; i++) {
        if (strcmp(fault_words[i], word) != 0) {
            continue;
        }
        of->faults.has[i] = true;
        if (i >= FAULT_CODE) {
            (void)snprintf(of->faults.texts[i - FAULT_CODE], sizeof(of->faults.texts[0]), "%s",
                           value);
        } else {
            of->faults.values[i] = takes_number((http_fault)i) ? number_of(word, value) : 1;
        }
        return;
    }
    http_die("%s: not a word of a fault script", word);
}

static rule *parse_rule(char *line)
{
    rule *of = http_memory(NULL, sizeof(*of));
    *of = (rule){.every = 1, .share = 1, .seed = 1};
    char *rest = NULL;
    for (char *word = strtok_r(line, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest)) {
        char *equals = strchr(word, '=');
        if (equals != NULL) {
            *equals = '\0';
        }
        const char *value = equals != NULL ? equals + 1 : "";
        if (!set_selection(of, word, value)) {
            set_fault(of, word, value);
        }
    }
    return of;
}

http_rules *http_rules_parse(const char *script)
{
    http_rules *rules = http_memory(NULL, sizeof(*rules));
    *rules = (http_rules){0};
    if (script == NULL) {
        return rules;
    }
    char *text = http_memory(NULL, strlen(script) + 1);
    memcpy(text, script, strlen(script) + 1);
    rule **end = &rules->first;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        line += strspn(line, " \t");
        if (*line != '#' && *line != '\0') {
            *end = parse_rule(line);
            end = &(*end)->next;
        }
    }
    free(text);
    return rules;
}

void http_rules_free(http_rules *rules)
{
    for (rule *of = rules->first, *next = NULL; of != NULL; of = next) {
        next = of->next;
        if (of->has_path) {
            regfree(&of->path);
        }
        free(of);
    }
    free(rules);
}

/* splitmix64, scaled to [0, 1). */
static double draw(uint64_t seed, uint64_t number)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15U + number * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

static bool rule_strikes(rule *of, const http_request *request)
{
    if ((of->has_kind && of->kind != request->kind) ||
        (of->has_path && regexec(&of->path, request->target, 0, NULL, 0) != 0) ||
        (of->host[0] != '\0' && strstr(request->host, of->host) == NULL)) {
        return false;
    }
    const uint64_t number = of->seen++;
    if (number < of->skip || (number - of->skip) % of->every != of->every - 1 ||
        (of->count != 0 && of->struck >= of->count) || draw(of->seed, number) >= of->share) {
        return false;
    }
    of->struck++;
    return true;
}

void http_rules_match(http_rules *rules, const http_request *request, http_faults *faults)
{
    *faults = (http_faults){0};
    for (rule *of = rules->first; of != NULL; of = of->next) {
        if (!rule_strikes(of, request)) {
            continue;
        }
        for (uint32_t i = 0; i < HTTP_FAULTS; i++) {
            if (!of->faults.has[i]) {
                continue;
            }
            faults->has[i] = true;
            if (i >= FAULT_CODE) {
                memcpy(faults->texts[i - FAULT_CODE], of->faults.texts[i - FAULT_CODE],
                       sizeof(faults->texts[0]));
            } else {
                faults->values[i] = of->faults.values[i];
            }
        }
    }
}

bool http_faults_strike(const http_faults *faults)
{
    for (uint32_t i = 0; i < HTTP_FAULTS; i++) {
        if (faults->has[i] && i != FAULT_DELAY && i != FAULT_RATE && i != FAULT_CLOCK) {
            return true;
        }
    }
    return false;
}
