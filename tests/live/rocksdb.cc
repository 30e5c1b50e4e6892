// rocksdb.cc - with librocksdb: tables written by it, with Bloom, Ribbon and legacy Bloom filters
//
// The filter of each table is read, contains its keys, and is rebuilt with the same bytes.
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tamis.h"

static void need(bool holds, const std::string &what) {
    if (holds) return;
    std::fprintf(stderr, "rocksdb: %s\n", what.c_str());
    std::exit(1);
}

using Random = std::mt19937_64;

static std::string key(Random &random) {
    std::string text(random() % 40, '\0');
    for (char &c : text) c = static_cast<char>(random());
    return text;
}

struct Kind {
    const char *format;
    int version;
    bool ribbon;
};

static void write_table(const std::string &path, const std::set<std::string> &keys, double bits,
                        const Kind &kind) {
    rocksdb::BlockBasedTableOptions table;
    table.format_version = static_cast<uint32_t>(kind.version);
    table.filter_policy.reset(kind.ribbon ? rocksdb::NewRibbonFilterPolicy(bits, -1)
                                          : rocksdb::NewBloomFilterPolicy(bits));
    rocksdb::Options options;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    options.compression = rocksdb::kNoCompression;
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
    need(writer.Open(path).ok(), "open a table");
    for (const std::string &k : keys) need(writer.Put(k, "v").ok(), "put");
    need(writer.Finish().ok(), "finish a table");
}

static void one_table(Random &random, const Kind &kind) {
    std::set<std::string> keys;
    const size_t wanted = 1 + random() % (1u << (random() % 15));
    while (keys.size() < wanted) keys.insert(key(random));
    const double bits = static_cast<double>(20 + random() % 180) / 10;
    write_table("table.sst", keys, bits, kind);

    tamis_container *c = nullptr;
    tamis_status status = tamis_container_open("table.sst", nullptr, &c);
    need(status == TAMIS_OK, tamis_status_text(status));
    need(tamis_container_count(c) == 1, "not one filter");
    std::vector<const void *> pointers;
    std::vector<size_t> lengths;
    for (const std::string &k : keys) {
        need(tamis_container_contains(c, nullptr, k.data(), k.size()), "a member is reported as absent");
        pointers.push_back(k.data());
        lengths.push_back(k.size());
    }
    tamis_filter *theirs = nullptr, *mine = nullptr;
    need(tamis_container_filter(c, 0, &theirs) == TAMIS_OK, "the filter");
    char format[64];
    std::snprintf(format, sizeof format, "%s%.1f", kind.format, bits);
    tamis_options o = TAMIS_OPTIONS_INIT;
    o.format = format;
    status = tamis_build(&o, pointers.data(), lengths.data(), pointers.size(), &mine);
    need(status == TAMIS_OK, tamis_status_text(status));
    std::string a(tamis_encoded_size(theirs), '\0'), b(tamis_encoded_size(mine), '\0');
    need(tamis_encode(theirs, &a[0], a.size(), nullptr) == TAMIS_OK, "encode");
    need(tamis_encode(mine, &b[0], b.size(), nullptr) == TAMIS_OK, "encode");
    need(a == b, std::string("other bytes: ") + format + ", " + std::to_string(keys.size()));
    tamis_free(mine);
    tamis_free(theirs);
    tamis_container_free(c);
}

// A filter of prefixes alone is rejected: it would report whole keys as absent.  A filter of
// prefixes and keys is read.
static void prefixes(bool whole) {
    rocksdb::BlockBasedTableOptions table;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    table.whole_key_filtering = whole;
    rocksdb::Options options;
    options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(2));
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
    need(writer.Open("prefixes.sst").ok(), "open a table");
    for (int i = 1000; i < 2000; i++) need(writer.Put(std::to_string(i), "v").ok(), "put");
    need(writer.Finish().ok(), "finish a table");
    tamis_container *c = nullptr;
    const tamis_status status = tamis_container_open("prefixes.sst", nullptr, &c);
    need(status == (whole ? TAMIS_OK : TAMIS_E_UNSUPPORTED), tamis_status_text(status));
    need(!whole || tamis_container_contains(c, nullptr, "1234", 4), "a member is reported as absent");
    tamis_container_free(c);
}

int main(int argc, char **argv) {
    static const Kind kinds[] = {{"rocksdb:bits=", 5, false},
                                 {"rocksdb:ribbon,bits=", 5, true},
                                 {"rocksdb:legacy,bits=", 4, false}};
    const int tables = argc > 1 && std::string(argv[1]) == "--full" ? 1000 : 60;
    Random random(20250117);
    for (int i = 0; i < tables; i++) one_table(random, kinds[i % 3]);
    std::printf("%d tables: every key found, filters made again with the same bytes\n", tables);
    prefixes(true);
    prefixes(false);
    return 0;
}
