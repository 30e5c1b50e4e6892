// compare.cc - beside LevelDB's own filter: fewer false positives in the same bytes
//
// The same keys in filters of both, for blocks of 10 to 2000 keys; then a database of the
// `builtin` policy, whose tables have LevelDB's own filters under LevelDB's own name.
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tamis_leveldb.h"

static void need(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "compare: %s\n", what);
    std::exit(1);
}

using Random = std::mt19937_64;

static std::string key(Random &random) {
    return "user:" + std::to_string(random()) + "/" + std::to_string(random() % 100);
}

struct Sum {
    size_t bytes = 0, hits = 0;
};

static void compare(const tamis_leveldb *mine, const leveldb::FilterPolicy &theirs, size_t keys,
                    Random &random) {
    const size_t sets = 30000 / keys + 4, probes = 1000;
    Sum ours, own;
    for (size_t s = 0; s < sets; s++) {
        std::vector<std::string> text;
        std::vector<leveldb::Slice> slices;
        std::vector<const char *> pointers;
        std::vector<size_t> lengths;
        for (size_t i = 0; i < keys; i++) text.push_back(key(random));
        for (const std::string &t : text) {
            slices.emplace_back(t);
            pointers.push_back(t.data());
            lengths.push_back(t.size());
        }
        std::string filter;
        theirs.CreateFilter(slices.data(), static_cast<int>(keys), &filter);
        size_t length = 0;
        char *bytes = tamis_leveldb_filter(mine, pointers.data(), lengths.data(),
                                           static_cast<int>(keys), &length);
        need(length <= filter.size(), "more bytes than LevelDB's own");
        ours.bytes += length;
        own.bytes += filter.size();
        for (size_t i = 0; i < probes; i++) {
            const std::string other = "absent:" + key(random);
            ours.hits += tamis_leveldb_match(mine, other.data(), other.size(), bytes, length);
            own.hits += theirs.KeyMayMatch(other, filter);
        }
        std::free(bytes);
    }
    const double all = static_cast<double>(sets * probes), n = static_cast<double>(sets * keys);
    std::printf("%5zu keys: LevelDB %5.2f bits/key %.3f %%, tamis %5.2f bits/key %.3f %%\n", keys,
                8 * own.bytes / n, 100 * own.hits / all, 8 * ours.bytes / n, 100 * ours.hits / all);
    need(ours.hits * 4 < own.hits, "not less than a quarter of LevelDB's false positives");
}

// Every filter of every table can be read as LevelDB's and contains the keys.
static void builtin(const std::string &path, Random &random) {
    tamis_leveldb_options want = TAMIS_LEVELDB_INIT;
    want.builtin = true;
    want.fpr = 0.01;
    leveldb_filterpolicy_t *policy = nullptr;
    need(tamis_leveldb_policy(&want, &policy) == TAMIS_OK, "no built-in policy");
    leveldb_options_t *options = leveldb_options_create();
    leveldb_writeoptions_t *writing = leveldb_writeoptions_create();
    leveldb_options_set_create_if_missing(options, 1);
    leveldb_options_set_filter_policy(options, policy);
    char *error = nullptr;
    leveldb_t *db = leveldb_open(options, path.c_str(), &error);
    need(db != nullptr, "open");
    std::vector<std::string> keys;
    for (int i = 0; i < 20000; i++) {
        keys.push_back(key(random));
        leveldb_put(db, writing, keys.back().data(), keys.back().size(), "value", 5, &error);
    }
    leveldb_compact_range(db, nullptr, 0, nullptr, 0);
    leveldb_close(db);
    leveldb_writeoptions_destroy(writing);
    leveldb_options_destroy(options);
    leveldb_filterpolicy_destroy(policy);

    size_t filters = 0, found = 0, absent = 0;
    for (const auto &entry : std::filesystem::directory_iterator(path)) {
        if (entry.path().extension() != ".ldb") continue;
        tamis_container *table = nullptr;
        need(tamis_container_open(entry.path().c_str(), nullptr, &table) == TAMIS_OK, "no filters");
        filters += tamis_container_count(table);
        for (const std::string &k : keys) {
            found += tamis_container_contains(table, nullptr, k.data(), k.size());
            const std::string other = k + "?";
            absent += tamis_container_contains(table, nullptr, other.data(), other.size());
        }
        tamis_container_free(table);
    }
    need(filters > 0 && found >= keys.size(), "keys are not in the tables' filters");
    need(absent < keys.size() / 50, "the rate of 1 % is not reached");
}

int main() {
    Random random(20250117);
    const char *temporary = std::getenv("TMPDIR");
    std::string path = std::string(temporary ? temporary : "/tmp") + "/tamis-compare.XXXXXX";
    need(mkdtemp(&path[0]) != nullptr, "no directory");

    tamis_leveldb_options want = TAMIS_LEVELDB_INIT;
    tamis_leveldb *mine = nullptr;
    need(tamis_leveldb_create(&want, &mine) == TAMIS_OK, "no policy");
    std::unique_ptr<const leveldb::FilterPolicy> theirs(leveldb::NewBloomFilterPolicy(10));
    for (size_t keys : {10, 20, 30, 50, 100, 300, 1000, 2000}) {
        compare(mine, *theirs, keys, random);
    }
    tamis_leveldb_free(mine);
    builtin(path, random);
    std::filesystem::remove_all(path);
}
