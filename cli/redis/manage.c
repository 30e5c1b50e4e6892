/* manage.c - tamis redis reserve, info, drop */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "numbers.h"
#include "output.h"
#include "redis.h"
#include "term.h"

#define DEFAULT_SHARDS 16
#define DEFAULT_FPR 0.01

static void check_server(const tamis_cluster_options *where) {
    if (where->user != NULL && where->password == NULL) {
        die("--user %s: missing password: set REDISCLI_AUTH", where->user);
    }
    if (!where->tls && (where->cacert != NULL || where->cert != NULL || where->key != NULL)) {
        die("--cacert, --cert and --key need --tls");
    }
    if ((where->cert == NULL) != (where->key == NULL)) die("--cert and --key go together");
}

void redis_parse(struct args *args, struct redis_request *r) {
    const char *servers = getenv("TAMIS_REDIS");
    uint32_t kind = 0, patience = 0;
    tamis_cluster_options *where = &r->where;
    const struct binding list[] = {
        {OPT_NUMBER, .number = &r->reserved.capacity, .low = 1, .high = UINT64_C(1) << 44},
        {OPT_FPR, .fpr = &r->reserved.fpr},
        {OPT_KIND, .choice = &kind},
        {OPT_SHARDS, .small = &r->reserved.shards, .low = 1, .high = TAMIS_SHARDS_MAX},
        {OPT_SERVER, .text = &where->servers},
        {OPT_USER, .text = &where->user},
        {OPT_REPLICAS, .small = &where->replicas, .high = 100},
        {OPT_PATIENCE, .small = &patience, .low = 1, .high = 1000000},
        {OPT_TLS, .flag = &where->tls},
        {OPT_CACERT, .text = &where->cacert},
        {OPT_CERT, .text = &where->cert},
        {OPT_TLS_KEY, .text = &where->key},
        {OPT_INVERT, .flag = &r->invert},
        {OPT_COUNT, .flag = &r->counting},
        {OPT_LINE_NUMBER, .flag = &r->numbers},
        {OPT_JSON, .flag = &r->json},
        {0}};
    memset(r, 0, sizeof *r);
    r->common = (struct request)REQUEST_INIT;
    r->reserved.shards = DEFAULT_SHARDS;
    where->servers = servers != NULL && servers[0] != '\0' ? servers : NULL;
    where->password = getenv("REDISCLI_AUTH"); /* as redis-cli: `ps` does not show it */
    request_parse(&r->common, args, list);
    r->reserved.kind = kind == 0 ? TAMIS_SHARDED_BLOOM : TAMIS_SHARDED_CUCKOO;
    where->patience_ms = 1000 * patience;
    if (r->common.file == NULL) die("missing NAME (the filter)");
    check_server(where);
    key_options_check(&r->common.keys);
}

void redis_need(tamis_cluster *cluster, bool good) {
    if (!good) die("%s", tamis_cluster_error(cluster));
}

tamis_cluster *redis_connect(const struct redis_request *r) {
    tamis_cluster *cluster = tamis_cluster_new(&r->where);
    redis_need(cluster, tamis_cluster_connect(cluster));
    return cluster;
}

tamis_sharded redis_find(tamis_cluster *cluster, const struct redis_request *r) {
    tamis_sharded filter;
    redis_need(cluster, tamis_sharded_find(cluster, r->common.file, &filter));
    return filter;
}

int redis_reserve_main(struct args *args) {
    struct redis_request r;
    redis_parse(args, &r);
    if (r.common.inputs.count != 0) die("reserve accepts no INPUT; use 'tamis redis load'");
    if (r.reserved.capacity == 0) die("missing -n N (the number of keys)");
    if (r.reserved.kind == TAMIS_SHARDED_BLOOM && r.reserved.fpr == 0) r.reserved.fpr = DEFAULT_FPR;
    tamis_cluster *cluster = redis_connect(&r);
    redis_need(cluster, tamis_sharded_reserve(cluster, r.common.file, &r.reserved));
    if (!r.common.run.quiet) {
        const size_t nodes = tamis_cluster_nodes(cluster);
        say("%s: reserved for %s, %u shard%s on %zu node%s", r.common.file,
            text_plural(r.reserved.capacity, "key").at, (unsigned)r.reserved.shards,
            r.reserved.shards == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s");
    }
    tamis_cluster_free(cluster);
    return EXIT_DONE;
}

int redis_drop_main(struct args *args) {
    struct redis_request r;
    bool existed = false;
    redis_parse(args, &r);
    if (r.common.inputs.count != 0) die("too many operands: give one NAME");
    tamis_cluster *cluster = redis_connect(&r);
    redis_need(cluster, tamis_sharded_drop(cluster, r.common.file, &existed));
    tamis_cluster_free(cluster);
    return existed ? EXIT_DONE : EXIT_NONE;
}

static double bits_per_item(const tamis_sharded_facts *facts) {
    return facts->items != 0 ? 8.0 * (double)facts->bytes / (double)facts->items : NAN;
}

static const char *kind_text(const tamis_sharded *f, const tamis_sharded_facts *facts) {
    if (f->kind == TAMIS_SHARDED_STATIC) return facts->kind;
    return f->kind == TAMIS_SHARDED_BLOOM ? "bloom" : "cuckoo";
}

static double fpr_of_filter(const tamis_sharded *f, const tamis_sharded_facts *facts) {
    return f->kind == TAMIS_SHARDED_STATIC ? facts->fpr : f->fpr;
}

static void info_json(const tamis_sharded *f, const tamis_sharded_facts *facts) {
    struct json json = {stdout, 0, false};
    json_open(&json, NULL, '{');
    json_string(&json, "name", f->name);
    json_string(&json, "kind", kind_text(f, facts));
    json_bool(&json, "sharded", !f->plain);
    json_bool(&json, "static", f->kind == TAMIS_SHARDED_STATIC);
    json_whole(&json, "shards", f->shards);
    json_whole(&json, "nodes", tamis_cluster_nodes(f->cluster));
    json_whole(&json, "keys", facts->items);
    json_whole(&json, "reserved", f->capacity);
    json_whole(&json, "capacity", facts->capacity);
    const double fpr = fpr_of_filter(f, facts);
    json_real(&json, "fpr_target", fpr > 0 ? fpr : NAN);
    json_whole(&json, "bytes", facts->bytes);
    json_real(&json, "bits_per_key", bits_per_item(facts));
    json_whole(&json, "stages", facts->stages);
    json_whole(&json, "keys_min", facts->items_min);
    json_whole(&json, "keys_max", facts->items_max);
    json_bool(&json, "keyed", facts->keyed);
    json_whole(&json, "upload_bytes", facts->upload_bytes);
    json_whole(&json, "upload_received", facts->upload_received);
    json_close(&json, '}');
}

static void print_size(const tamis_sharded_facts *facts) {
    printf("  %-10s %s", "size", text_bytes(facts->bytes).at);
    if (facts->items != 0) printf(", %.2f bits/key", bits_per_item(facts));
    printf("\n");
}

static void info_sharded(const tamis_sharded *f, const tamis_sharded_facts *facts) {
    const size_t nodes = tamis_cluster_nodes(f->cluster);
    if (f->plain) {
        printf("  %-10s one key\n", "shards");
    } else {
        printf("  %-10s %u on %zu node%s, of %s to %s keys\n", "shards", (unsigned)f->shards, nodes,
               nodes == 1 ? "" : "s", text_count(facts->items_min).at,
               text_count(facts->items_max).at);
    }
    printf("  %-10s %s\n", "keys", text_count(facts->items).at);
    printf("  %-10s %s%s\n", "capacity", text_count(facts->capacity).at,
           facts->stages > f->shards ? ", after growing" : "");
    print_size(facts);
    if (f->fpr > 0) printf("  %-10s promised %s\n", "rate", text_fpr(f->fpr).at);
}

static void info_static(const tamis_sharded_facts *facts) {
    printf("  %-10s %s\n", "keys", text_count(facts->items).at);
    print_size(facts);
    printf("  %-10s expected %s\n", "rate", text_fpr(facts->fpr).at);
    if (facts->keyed) printf("  %-10s with a secret\n", "keyed");
}

static void info_text(const tamis_sharded *f, const tamis_sharded_facts *facts) {
    const bool is_static = f->kind == TAMIS_SHARDED_STATIC;
    printf("%s%s%s\n", term_style(stdout, STYLE_BOLD), f->name, term_style(stdout, STYLE_PLAIN));
    printf("  %-10s %s%s\n", "kind", kind_text(f, facts), is_static ? ", static" : "");
    if (!is_static) {
        info_sharded(f, facts);
    } else {
        info_static(facts);
    }
    if (facts->upload_bytes != 0) {
        printf("  %-10s %s of %s\n", "upload", text_bytes(facts->upload_received).at,
               text_bytes(facts->upload_bytes).at);
    }
}

int redis_info_main(struct args *args) {
    struct redis_request r;
    tamis_sharded_facts facts;
    redis_parse(args, &r);
    if (r.common.inputs.count != 0) die("too many operands: give one NAME");
    tamis_cluster *cluster = redis_connect(&r);
    tamis_sharded filter = redis_find(cluster, &r);
    redis_need(cluster, tamis_sharded_info(&filter, &facts));
    if (r.json) {
        info_json(&filter, &facts);
    } else {
        info_text(&filter, &facts);
    }
    stdout_close();
    tamis_cluster_free(cluster);
    return EXIT_DONE;
}
