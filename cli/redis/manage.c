/* manage.c - tamis redis reserve, info, drop: everything about a filter but its keys */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "numbers.h"
#include "output.h"
#include "redis.h"
#include "term.h"

#define DEFAULT_SHARDS 16
#define DEFAULT_RATE 0.01

/* ---- the command line */

static tamis_sharded_kind sharded_kind_of(const char *name) {
    if (strcmp(name, "bloom") == 0) return TAMIS_SHARDED_BLOOM;
    if (strcmp(name, "cuckoo") == 0) return TAMIS_SHARDED_CUCKOO;
    die("-k: '%s' is no kind of Redis filter: it must be bloom or cuckoo", name);
}

static bool take_reserve(struct redis_request *r, int id, const struct args *args) {
    switch (id) {
        case OPT_NUMBER:
            r->want.capacity = number_within("-n", args->value, 1, UINT64_C(1) << 44);
            return true;
        case OPT_RATE:
            r->want.rate = rate_of("-p", args->value);
            return true;
        case OPT_KIND:
            r->want.kind = sharded_kind_of(args->value);
            return true;
        case OPT_SHARDS:
            r->want.shards = (uint32_t)number_within("--shards", args->value, 1, TAMIS_SHARDS_MAX);
            return true;
        default:
            return false;
    }
}

static bool take_server(struct redis_request *r, int id, const struct args *args) {
    switch (id) {
        case OPT_SERVER:
            r->where.servers = args->value;
            return true;
        case OPT_USER:
            r->where.user = args->value;
            return true;
        case OPT_REPLICAS:
            r->where.replicas = (uint32_t)number_within("--replicas", args->value, 0, 100);
            return true;
        case OPT_PATIENCE:
            r->where.patience_ms =
                (uint32_t)number_within("--patience", args->value, 1, 1000000) * 1000;
            return true;
        default:
            return false;
    }
}

static bool take_tls(struct redis_request *r, int id, const struct args *args) {
    switch (id) {
        case OPT_TLS:
            r->where.tls = true;
            return true;
        case OPT_CACERT:
            r->where.cacert = args->value;
            return true;
        case OPT_CERT:
            r->where.cert = args->value;
            return true;
        case OPT_TLS_KEY:
            r->where.key = args->value;
            return true;
        default:
            return false;
    }
}

static void check_tls(const tamis_cluster_options *where) {
    if (!where->tls && (where->cacert != NULL || where->cert != NULL || where->key != NULL)) {
        die("--cacert, --cert and --key need --tls");
    }
    if ((where->cert == NULL) != (where->key == NULL)) die("--cert and --key go together");
}

static void check_user(const tamis_cluster_options *where) {
    if (where->user != NULL && where->password == NULL) {
        die("--user %s: the password is missing: set REDISCLI_AUTH to it", where->user);
    }
}

static bool take_query(struct redis_request *r, int id) {
    switch (id) {
        case OPT_INVERT:
            r->invert = true;
            return true;
        case OPT_COUNT:
            r->counting = true;
            return true;
        case OPT_LINE_NUMBER:
            r->numbers = true;
            return true;
        case OPT_JSON:
            r->json = true;
            return true;
        default:
            return false;
    }
}

void redis_parse(struct args *args, struct redis_request *r) {
    const char *servers = getenv("TAMIS_REDIS");
    memset(r, 0, sizeof *r);
    r->common = (struct request)REQUEST_INIT;
    r->want.shards = DEFAULT_SHARDS;
    r->where.servers = servers != NULL && servers[0] != '\0' ? servers : NULL;
    r->where.password = getenv("REDISCLI_AUTH"); /* as redis-cli: not where `ps` shows it */
    for (int id; (id = args_next(args)) != ARG_END;) {
        if (!take_reserve(r, id, args) && !take_server(r, id, args) && !take_tls(r, id, args) &&
            !take_query(r, id)) {
            request_take(&r->common, id, args);
        }
    }
    if (r->common.file == NULL) die("which filter? Give its name");
    check_user(&r->where);
    check_tls(&r->where);
    key_options_check(&r->common.keys);
}

tamis_cluster *redis_connect(const struct redis_request *r) {
    tamis_cluster *cluster = tamis_cluster_new(&r->where);
    if (!tamis_cluster_connect(cluster)) die("%s", tamis_cluster_error(cluster));
    return cluster;
}

tamis_sharded redis_find(tamis_cluster *cluster, const struct redis_request *r) {
    tamis_sharded filter;
    if (!tamis_sharded_find(cluster, r->common.file, &filter)) {
        die("%s", tamis_cluster_error(cluster));
    }
    return filter;
}

/* ---- reserve */

int redis_reserve_main(struct args *args) {
    struct redis_request r;
    redis_parse(args, &r);
    if (r.common.inputs.count != 0) die("reserve takes no input: load does");
    if (r.want.capacity == 0) die("-n N is missing: for how many keys?");
    if (r.want.kind == TAMIS_SHARDED_BLOOM && r.want.rate == 0) r.want.rate = DEFAULT_RATE;
    tamis_cluster *cluster = redis_connect(&r);
    if (!tamis_sharded_reserve(cluster, r.common.file, &r.want)) {
        die("%s", tamis_cluster_error(cluster));
    }
    if (!r.common.run.quiet) {
        const size_t nodes = tamis_cluster_nodes(cluster);
        say("%s: reserved for %s, %u shard%s on %zu node%s", r.common.file,
            text_things(r.want.capacity, "key").at, (unsigned)r.want.shards,
            r.want.shards == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s");
    }
    tamis_cluster_free(cluster);
    return EXIT_DONE;
}

/* ---- drop */

int redis_drop_main(struct args *args) {
    struct redis_request r;
    bool existed = false;
    redis_parse(args, &r);
    if (r.common.inputs.count != 0) die("one filter at a time, please");
    tamis_cluster *cluster = redis_connect(&r);
    if (!tamis_sharded_drop(cluster, r.common.file, &existed)) {
        die("%s", tamis_cluster_error(cluster));
    }
    tamis_cluster_free(cluster);
    return existed ? EXIT_DONE : EXIT_NONE;
}

/* ---- info */

static double bits_per_item(const tamis_sharded_facts *facts) {
    return facts->items != 0 ? 8.0 * (double)facts->bytes / (double)facts->items : NAN;
}

static const char *kind_text(const tamis_sharded *f, const tamis_sharded_facts *facts) {
    if (f->kind == TAMIS_SHARDED_STATIC) return facts->kind;
    return f->kind == TAMIS_SHARDED_BLOOM ? "bloom" : "cuckoo";
}

static double rate_of_filter(const tamis_sharded *f, const tamis_sharded_facts *facts) {
    return f->kind == TAMIS_SHARDED_STATIC ? facts->rate : f->rate;
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
    const double rate = rate_of_filter(f, facts);
    json_real(&json, "fpr_target", rate > 0 ? rate : NAN);
    json_whole(&json, "bytes", facts->bytes);
    json_real(&json, "bits_per_key", bits_per_item(facts));
    json_whole(&json, "stages", facts->stages);
    json_whole(&json, "fewest", facts->fewest);
    json_whole(&json, "most", facts->most);
    json_bool(&json, "keyed", facts->keyed);
    json_whole(&json, "bytes_coming", facts->coming);
    json_whole(&json, "bytes_received", facts->received);
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
               nodes == 1 ? "" : "s", text_count(facts->fewest).at, text_count(facts->most).at);
    }
    printf("  %-10s %s\n", "keys", text_count(facts->items).at);
    printf("  %-10s %s%s\n", "capacity", text_count(facts->capacity).at,
           facts->stages > f->shards ? ", after growing" : "");
    print_size(facts);
    if (f->rate > 0) printf("  %-10s promised %s\n", "rate", text_rate(f->rate).at);
}

static void info_static(const tamis_sharded_facts *facts) {
    printf("  %-10s %s\n", "keys", text_count(facts->items).at);
    print_size(facts);
    printf("  %-10s expected %s\n", "rate", text_rate(facts->rate).at);
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
    if (facts->coming != 0) {
        printf("  %-10s %s of %s\n", "coming", text_bytes(facts->received).at,
               text_bytes(facts->coming).at);
    }
}

int redis_info_main(struct args *args) {
    struct redis_request r;
    tamis_sharded_facts facts;
    redis_parse(args, &r);
    if (r.common.inputs.count != 0) die("one filter at a time, please");
    tamis_cluster *cluster = redis_connect(&r);
    tamis_sharded filter = redis_find(cluster, &r);
    if (!tamis_sharded_info(&filter, &facts)) die("%s", tamis_cluster_error(cluster));
    if (r.json) {
        info_json(&filter, &facts);
    } else {
        info_text(&filter, &facts);
    }
    stdout_close();
    tamis_cluster_free(cluster);
    return EXIT_DONE;
}
