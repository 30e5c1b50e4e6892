// sstable.cc - sstable DIRECTORY KEYS: what a filter saves a database that looks for absent keys
//
// LevelDB stores its keys in sorted tables of 4 KB blocks.  To look up a key it must read the block
// in which the key would be, whether it is present or not.  A filter of each block's keys excludes
// most absent keys without a read.
//
// The same keys go into databases without a filter, with LevelDB's own at 10 bits per key, and
// with tamis' policy.  Then absent and present keys are looked up in each, while an Env that wraps
// the default one counts the blocks that are read:
//
//     Get(key) --> table --> filter: "no"     --> absent, nothing was read
//                                    "possibly" --> block read (counted) --> false positive
//
// Fails unless the policy saves 98 % of the reads for absent keys at 10 bits per key, reads no
// more blocks than with LevelDB's own filter, takes no more space, and finds every key.
#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>

#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tamis_leveldb.h"

[[noreturn]] static void fail(const std::string &why) {
    std::fprintf(stderr, "sstable: %s\n", why.c_str());
    std::exit(1);
}

static void check(const leveldb::Status &status) {
    if (!status.ok()) fail(status.ToString());
}

// ------------------------------------------------------------------ counting reads

class CountedFile : public leveldb::RandomAccessFile {
   public:
    CountedFile(leveldb::RandomAccessFile *file, std::atomic<uint64_t> *reads)
        : file_(file), reads_(reads) {}
    leveldb::Status Read(uint64_t offset, size_t n, leveldb::Slice *result,
                         char *scratch) const override {
        ++*reads_;
        return file_->Read(offset, n, result, scratch);
    }

   private:
    std::unique_ptr<leveldb::RandomAccessFile> file_;
    std::atomic<uint64_t> *reads_;
};

// Tables are the only files that LevelDB reads at random.
class CountingEnv : public leveldb::EnvWrapper {
   public:
    CountingEnv() : leveldb::EnvWrapper(leveldb::Env::Default()) {}
    leveldb::Status NewRandomAccessFile(const std::string &name,
                                        leveldb::RandomAccessFile **file) override {
        leveldb::Status status = target()->NewRandomAccessFile(name, file);
        if (status.ok()) *file = new CountedFile(*file, &reads);
        return status;
    }
    std::atomic<uint64_t> reads{0};
};

// ----------------------------------------------------- the policy, for LevelDB's C++

class TamisPolicy : public leveldb::FilterPolicy {
   public:
    explicit TamisPolicy(const tamis_leveldb_options &options) {
        const tamis_status status = tamis_leveldb_create(&options, &policy_);
        if (status != TAMIS_OK) fail(tamis_status_text(status));
    }
    TamisPolicy(const TamisPolicy &) = delete;
    TamisPolicy &operator=(const TamisPolicy &) = delete;
    ~TamisPolicy() override { tamis_leveldb_free(policy_); }

    const char *Name() const override { return tamis_leveldb_name(policy_); }

    void CreateFilter(const leveldb::Slice *keys, int n, std::string *dst) const override {
        std::vector<const char *> pointers;
        std::vector<size_t> lengths;
        for (int i = 0; i < n; i++) {
            pointers.push_back(keys[i].data());
            lengths.push_back(keys[i].size());
        }
        size_t length;
        char *filter = tamis_leveldb_filter(policy_, pointers.data(), lengths.data(), n, &length);
        dst->append(filter, length);
        std::free(filter);
    }

    bool KeyMayMatch(const leveldb::Slice &key, const leveldb::Slice &filter) const override {
        return tamis_leveldb_match(policy_, key.data(), key.size(), filter.data(), filter.size());
    }

   private:
    tamis_leveldb *policy_ = nullptr;
};

// ------------------------------------------------------------------- the example

// Every second number is a key, so that absent keys lie between present ones.
static std::string key(uint64_t number) {
    char text[32];
    std::snprintf(text, sizeof text, "user%012" PRIu64, number);
    return text;
}

static uint64_t chance(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void fill(leveldb::DB *db, uint64_t keys) {
    const std::string value(64, 'v');
    leveldb::WriteBatch batch;
    for (uint64_t i = 0; i < keys; i++) {
        batch.Put(key(2 * i), value);
        if (i % 1000 != 999 && i + 1 != keys) continue;
        check(db->Write(leveldb::WriteOptions(), &batch));
        batch.Clear();
    }
    db->CompactRange(nullptr, nullptr);
}

static uint64_t table_bytes(const std::string &path) {
    uint64_t bytes = 0;
    for (const auto &file : std::filesystem::directory_iterator(path)) {
        if (file.path().extension() == ".ldb") bytes += file.file_size();
    }
    return bytes;
}

struct Result {
    uint64_t absent_reads, present_reads, bytes;
    double seconds;
};

// Looks up keys of one parity; every even key must be found and no odd one.
static uint64_t get(leveldb::DB *db, CountingEnv *env, uint64_t keys, uint64_t gets, uint64_t odd) {
    const uint64_t before = env->reads;
    uint64_t state = odd;
    std::string value;
    for (uint64_t i = 0; i < gets; i++) {
        const std::string wanted = key(chance(&state) % keys * 2 + odd);
        const leveldb::Status status = db->Get(leveldb::ReadOptions(), wanted, &value);
        if (status.ok() != (odd == 0)) fail(wanted + ": " + status.ToString());
    }
    return env->reads - before;
}

static Result run(const std::string &path, const leveldb::FilterPolicy *policy, uint64_t keys,
                  uint64_t gets) {
    CountingEnv env;
    // No cache, so that the count does not depend on earlier reads.
    std::unique_ptr<leveldb::Cache> cache(leveldb::NewLRUCache(0));
    leveldb::Options options;
    options.create_if_missing = true;
    options.compression = leveldb::kNoCompression;
    options.env = &env;
    options.block_cache = cache.get();
    options.filter_policy = policy;
    leveldb::DB *opened = nullptr;
    check(leveldb::DB::Open(options, path, &opened));
    std::unique_ptr<leveldb::DB> db(opened);
    fill(db.get(), keys);
    get(db.get(), &env, keys, 2000, 0);  // opens every table: index and filters are read here

    Result result;
    const auto start = std::chrono::steady_clock::now();
    result.absent_reads = get(db.get(), &env, keys, gets, 1);
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    result.present_reads = get(db.get(), &env, keys, gets, 0);
    result.bytes = table_bytes(path);
    db.reset();
    std::filesystem::remove_all(path);
    return result;
}

static void row(const char *name, const Result &r, const Result &none, uint64_t keys,
                uint64_t gets) {
    const double n = static_cast<double>(gets);
    std::printf("%-28s %12.2f %14" PRIu64 " %11.3f %% %10.2f us %14" PRIu64 "\n", name,
                static_cast<double>(r.bytes - none.bytes) * 8 / static_cast<double>(keys),
                r.absent_reads, 100 - 100 * static_cast<double>(r.absent_reads) / n,
                r.seconds / n * 1e6, r.present_reads);
}

int main(int argc, char **argv) {
    if (argc != 3) fail("usage: sstable DIRECTORY KEYS");
    const std::string path = std::string(argv[1]) + "/sstable.db";
    const uint64_t keys = std::strtoull(argv[2], nullptr, 10), gets = keys / 5;
    if (keys < 10000) fail("at least 10000 keys are needed");
    std::filesystem::remove_all(path);

    tamis_leveldb_options same_bits = TAMIS_LEVELDB_INIT, same_fpr = TAMIS_LEVELDB_INIT;
    tamis_leveldb_options fast = TAMIS_LEVELDB_INIT;
    same_bits.bits_per_key = fast.bits_per_key = 10;
    same_fpr.fpr = 0.01;
    fast.kind = TAMIS_BLOOM;
    const std::unique_ptr<const leveldb::FilterPolicy> own(leveldb::NewBloomFilterPolicy(10));

    const Result none = run(path, nullptr, keys, gets);
    const Result theirs = run(path, own.get(), keys, gets);
    const TamisPolicy bits_policy(same_bits), fpr_policy(same_fpr), fast_policy(fast);
    const Result ours = run(path, &bits_policy, keys, gets);
    const Result small = run(path, &fpr_policy, keys, gets);
    const Result bloom = run(path, &fast_policy, keys, gets);

    std::printf("%" PRIu64 " keys; %" PRIu64 " gets of absent keys, %" PRIu64 " of present ones\n",
                keys, gets, gets);
    std::printf("%-28s %12s %14s %13s %13s %14s\n", "filter", "bits/key", "reads, absent", "saved",
                "time/absent", "reads, present");
    row("none", none, none, keys, gets);
    row("LevelDB's, 10 bits", theirs, none, keys, gets);
    row("tamis, 10 bits", ours, none, keys, gets);
    row("tamis, 1 %", small, none, keys, gets);
    row("tamis, bloom, 10 bits", bloom, none, keys, gets);

    if (none.absent_reads < gets / 2) fail("absent keys are not read even without a filter");
    if (ours.absent_reads * 50 > none.absent_reads) fail("less than 98 % of the reads are saved");
    if (ours.absent_reads > theirs.absent_reads) fail("more false positives than with LevelDB's own filter");
    if (ours.bytes > theirs.bytes) fail("more bytes than LevelDB's own filter");
    if (small.absent_reads * 50 > none.absent_reads) fail("a rate of 1 % saves less than 98 %");
    if (small.bytes >= theirs.bytes) fail("a rate of 1 % takes as much as LevelDB's 10 bits");
}
