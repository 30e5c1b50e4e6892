// leveldb.cc - with libleveldb: filters of its policy, and tables of its databases
//
// Every filter that tamis creates has the policy's bytes and answers; the policy accepts filters
// that tamis wrote; the tables of a database answer as the filters in them.
#include <leveldb/comparator.h>
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
    for (const std::string &k : keys) need(policy->KeyMayMatch(k, mine), "the policy reports a member as absent");
    tamis_free(f);
}

// Inserts the keys into a database and closes it.
static void fill(Random &random, const std::string &path, leveldb::Options options,
                 const std::vector<std::string> &keys) {
    std::unique_ptr<const leveldb::FilterPolicy> policy(leveldb::NewBloomFilterPolicy(10));
    options.create_if_missing = true;
    options.filter_policy = policy.get();
    options.write_buffer_size = 256 << 10;
    leveldb::DB *db = nullptr;
    need(leveldb::DB::Open(options, path, &db).ok(), "open a database");
    for (const std::string &k : keys) {
        need(db->Put(leveldb::WriteOptions(), k, std::string(random() % 60, 'v')).ok(), "put");
    }
    db->CompactRange(nullptr, nullptr);
    delete db;
}

// The tables of a database, in which all keys must be.
static std::vector<tamis_container *> open_tables(const std::string &path,
                                                  const std::vector<std::string> &keys) {
    std::vector<tamis_container *> tables;
    for (const auto &entry : std::filesystem::directory_iterator(path)) {
        if (entry.path().extension() != ".ldb") continue;
        tamis_container *c = nullptr;
        need(tamis_container_open(entry.path().c_str(), nullptr, &c) == TAMIS_OK, "open a table");
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
    return tables;
}

static size_t one_database(Random &random, const std::string &path, bool compress) {
    leveldb::Options options;
    options.compression = compress ? leveldb::kSnappyCompression : leveldb::kNoCompression;
    std::vector<std::string> keys(20000);
    for (std::string &k : keys) k = key(random);
    fill(random, path, options, keys);
    const std::vector<tamis_container *> tables = open_tables(path, keys);
    size_t parts = 0;
    for (tamis_container *c : tables) parts += tamis_container_count(c);
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

// Orders that are not bytewise; a table does not record them.
class Order : public leveldb::Comparator {
   public:
    explicit Order(bool fold) : fold_(fold) {}
    const char *Name() const override { return fold_ ? "fold" : "backwards"; }
    int Compare(const leveldb::Slice &a, const leveldb::Slice &b) const override {
        if (!fold_) return b.compare(a);
        const int order = folded(a).compare(folded(b));
        return order != 0 ? order : a.compare(b);
    }
    void FindShortestSeparator(std::string *, const leveldb::Slice &) const override {}
    void FindShortSuccessor(std::string *) const override {}

   private:
    static std::string folded(const leveldb::Slice &key) {
        std::string text = key.ToString();
        for (char &c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        return text;
    }
    bool fold_;
};

// Of `count` keys that differ in case and number behind `common` equal bytes.
static void strange_database(Random &random, const std::string &path, size_t count, size_t common,
                             const leveldb::Comparator *order) {
    leveldb::Options options;
    if (order != nullptr) options.comparator = order;
    std::vector<std::string> keys(count);
    for (std::string &k : keys) {
        k = std::string(common, 'p') +
            static_cast<char>((random() % 2 ? 'a' : 'A') + random() % 26) +
            std::to_string(random() % 100000);
    }
    fill(random, path, options, keys);
    for (tamis_container *c : open_tables(path, keys)) tamis_container_free(c);
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
    const Order backwards(false), fold(true);
    strange_database(random, "long.db", 400, 5000, nullptr);
    strange_database(random, "backwards.db", 5000, 0, &backwards);
    strange_database(random, "fold.db", 5000, 0, &fold);
    strange_database(random, "few.db", 20, 0, &fold);
    std::printf("long keys and other orders: every key is found\n");
    return 0;
}
