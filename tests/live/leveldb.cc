// leveldb.cc - live with libleveldb: filters of its policy, and tables of its databases
//
// Every filter that tamis makes has the policy's bytes and answers; the policy obeys those that
// tamis wrote; the tables of a database answer as the filters in them.
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tamis.h"

static void need(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "leveldb: %s\n", what);
    std::exit(1);
}

using Random = std::mt19937_64;

static std::string key(Random &random) {
    std::string text(random() % 40, '\0');
    for (char &c : text) c = static_cast<char>(random());
    return text;
}

static std::string made_by_tamis(int bits, const std::vector<std::string> &keys) {
    std::vector<const void *> pointers;
    std::vector<size_t> lengths;
    for (const std::string &k : keys) {
        pointers.push_back(k.data());
        lengths.push_back(k.size());
    }
    const std::string format = "leveldb:bits=" + std::to_string(bits);
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f = nullptr;
    o.format = format.c_str();
    need(tamis_build(&o, pointers.data(), lengths.data(), keys.size(), &f) == TAMIS_OK, "build");
    std::string bytes(tamis_encoded_size(f), '\0');
    need(tamis_encode(f, &bytes[0], bytes.size(), nullptr) == TAMIS_OK, "encode");
    tamis_free(f);
    return bytes;
}

static void one_filter(Random &random) {
    const int bits = static_cast<int>(random() % 31);
    std::unique_ptr<const leveldb::FilterPolicy> policy(leveldb::NewBloomFilterPolicy(bits));
    std::vector<std::string> keys(random() % 300);
    std::vector<leveldb::Slice> slices;
    for (std::string &k : keys) k = key(random);
    for (const std::string &k : keys) slices.push_back(k);
    std::string theirs;
    policy->CreateFilter(slices.data(), static_cast<int>(slices.size()), &theirs);
    const std::string mine = made_by_tamis(bits, keys);
    need(mine == theirs, "other bytes");
    tamis_open_options o = TAMIS_OPEN_INIT;
    tamis_filter *f = nullptr;
    o.format = "leveldb";
    need(tamis_decode(theirs.data(), theirs.size(), &o, &f) == TAMIS_OK, "decode");
    for (int i = 0; i < 200; i++) {
        const std::string k = key(random);
        need(policy->KeyMayMatch(k, mine) == tamis_contains(f, k.data(), k.size()), "answers");
    }
    for (const std::string &k : keys) need(policy->KeyMayMatch(k, mine), "the policy misses a key");
    tamis_free(f);
}

static size_t one_database(Random &random, const std::string &path, bool compress) {
    std::unique_ptr<const leveldb::FilterPolicy> policy(leveldb::NewBloomFilterPolicy(10));
    leveldb::Options options;
    options.create_if_missing = true;
    options.filter_policy = policy.get();
    options.compression = compress ? leveldb::kSnappyCompression : leveldb::kNoCompression;
    options.write_buffer_size = 256 << 10;
    leveldb::DB *db = nullptr;
    need(leveldb::DB::Open(options, path, &db).ok(), "open a database");
    std::vector<std::string> keys(20000);
    for (std::string &k : keys) {
        k = key(random);
        need(db->Put(leveldb::WriteOptions(), k, std::string(random() % 60, 'v')).ok(), "put");
    }
    db->CompactRange(nullptr, nullptr);
    delete db;
    std::vector<tamis_container *> tables;
    size_t parts = 0;
    for (const auto &entry : std::filesystem::directory_iterator(path)) {
        if (entry.path().extension() != ".ldb") continue;
        tamis_container *c = nullptr;
        need(tamis_container_open(entry.path().c_str(), nullptr, &c) == TAMIS_OK, "open a table");
        parts += tamis_container_count(c);
        tables.push_back(c);
    }
    need(!tables.empty(), "a database without tables");
    for (const std::string &k : keys) {
        bool found = false;
        for (tamis_container *c : tables) {
            found = found || tamis_container_contains(c, nullptr, k.data(), k.size());
        }
        need(found, "no table has a key of the database");
    }
    size_t positive = 0;
    for (int i = 0; i < 20000; i++) {
        const std::string k = key(random) + "absent";
        for (tamis_container *c : tables) {
            positive += tamis_container_contains(c, nullptr, k.data(), k.size());
        }
    }
    need(positive < 20000 * tables.size() / 40, "too many false positives");
    for (tamis_container *c : tables) tamis_container_free(c);
    return parts;
}

int main(int argc, char **argv) {
    const bool full = argc > 1 && std::string(argv[1]) == "--full";
    const int filters = full ? 20000 : 1000;
    Random random(20250117);
    for (int i = 0; i < filters; i++) one_filter(random);
    std::printf("%d filters: same bytes, same answers\n", filters);
    size_t parts = one_database(random, "snappy.db", true);
    parts += one_database(random, "plain.db", false);
    std::printf("2 databases: %zu filters in their tables\n", parts);
    return 0;
}
