#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "weft/kernels/peer/peer_sum_cuda.h"

namespace weft::cuda {
namespace {

void succeed(cudaError_t error) { ASSERT_EQ(error, cudaSuccess) << cudaGetErrorString(error); }
void succeed(Status status) { succeed(static_cast<cudaError_t>(status)); }

template <class T>
class Memory {
 public:
  explicit Memory(std::size_t count) : count_(count) {
    succeed(cudaMalloc(&data_, count * sizeof(T)));
    fill(0);
  }
  ~Memory() { cudaFree(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] T* data() const { return static_cast<T*>(data_); }
  void fill(int byte) { succeed(cudaMemset(data_, byte, count_ * sizeof(T))); }
  void write(const std::vector<T>& from) {
    succeed(cudaMemcpy(data_, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> to(count_);
    succeed(cudaMemcpy(to.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return to;
  }

 private:
  std::size_t count_;
  void* data_ = nullptr;
};

struct Case {
  std::int32_t ranks;
  std::int64_t rows, width;
  PeerSum way;
  bool has_norm;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.ranks << " ranks, " << one.rows << " x " << one.width
       << (one.way == PeerSum::kOneShot ? ", one shot" : ", two shots")
       << (one.has_norm ? ", norm" : "");
}

/// Ranks that are streams of one GPU: what they exchange is the same.
class Ranks {
 public:
  Ranks(std::int32_t count, std::int64_t rows, std::int64_t width)
      : rows_(rows), width_(width), stride_((width + 63) / 64 * 64) {
    const std::int64_t numbers = rows * ((width + 3) / 4 * 4);
    void* word = nullptr;
    succeed(cudaHostAlloc(&word, sizeof(std::uint32_t), cudaHostAllocMapped));
    is_lost = static_cast<std::uint32_t*>(word);
    *is_lost = 0;
    PeerInboxes shared;
    shared.ranks = count;
    shared.numbers = numbers;
    shared.is_lost = is_lost;
    for (std::int32_t rank = 0; rank < count; ++rank) {
      auto& own = all_.emplace_back(
          std::make_unique<Rank>(inbox_bytes(count, numbers) / sizeof(float), size(), width));
      own->inbox.fill(kEmptyInbox);
      shared.of_rank[rank] = own->inbox.data();
    }
    for (std::int32_t rank = 0; rank < count; ++rank) {
      Rank& own = *all_[static_cast<std::size_t>(rank)];
      own.inboxes = shared;
      own.inboxes.rank = rank;
      own.inboxes.turn = own.turn.data();
    }
    succeed(cudaDeviceSynchronize());
  }
  ~Ranks() {
    *is_lost = 1;
    static_cast<void>(cudaDeviceSynchronize());
    static_cast<void>(cudaFreeHost(is_lost));
  }

  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(rows_ * stride_); }
  [[nodiscard]] std::size_t count() const { return all_.size(); }
  [[nodiscard]] std::int64_t stride() const { return stride_; }

  void write(std::size_t rank, const std::vector<float>& values) {
    all_[rank]->values.write(values);
  }
  [[nodiscard]] std::vector<float> values(std::size_t rank) const {
    return all_[rank]->values.read();
  }
  [[nodiscard]] std::vector<float> normed(std::size_t rank) const {
    return all_[rank]->normed.read();
  }

  [[nodiscard]] CudaNormParams norm(std::size_t rank) const {
    const Rank& own = *all_[rank];
    CudaNormParams params;
    params.rows = rows_;
    params.spec.eps = 1e-5F;
    params.in = rows_of(own.values);
    params.weight = own.weight.data();
    params.out = rows_of(own.normed);
    return params;
  }

  void launch(std::size_t rank, PeerSum way, bool has_norm) {
    Rank& own = *all_[rank];
    CudaPeerSumParams params;
    params.rows = rows_;
    params.values = rows_of(own.values);
    params.inboxes = own.inboxes;
    params.way = way;
    params.has_norm = has_norm;
    if (has_norm) params.norm = norm(rank);
    succeed(peer_sum(params, own.stream));
  }

  std::uint32_t* is_lost = nullptr;

 private:
  struct Rank {
    Rank(std::size_t numbers, std::size_t size, std::int64_t width)
        : inbox(numbers), values(size), normed(size), weight(static_cast<std::size_t>(width)) {
      succeed(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      std::vector<float> ones(static_cast<std::size_t>(width));
      for (std::size_t i = 0; i < ones.size(); ++i) ones[i] = 0.5F + 0.001F * static_cast<float>(i);
      weight.write(ones);
    }
    ~Rank() { cudaStreamDestroy(stream); }

    PeerInboxes inboxes;
    Memory<float> inbox;
    Memory<std::uint32_t> turn{2};
    Memory<float> values, normed, weight;
    cudaStream_t stream = nullptr;
  };

  [[nodiscard]] DeviceRows rows_of(const Memory<float>& memory) const {
    return {memory.data(), DType::kF32, width_, stride_, rows_};
  }

  std::int64_t rows_, width_, stride_;
  std::vector<std::unique_ptr<Rank>> all_;
};

class PeerSumTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) GTEST_SKIP() << "no GPU";
  }
};

TEST_P(PeerSumTest, AddsUpInTheOrderOfTheRanksTimeAfterTime) {
  const Case one = GetParam();
  Ranks ranks(one.ranks, one.rows, one.width);
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (int turn = 0; turn < 5; ++turn) {
    std::vector<float> sum(ranks.size());
    for (std::size_t rank = 0; rank < ranks.count(); ++rank) {
      std::vector<float> values(ranks.size());
      for (float& value : values) value = normal(random);
      ranks.write(rank, values);
      for (std::size_t i = 0; i < sum.size(); ++i) {
        sum[i] = rank == 0 ? values[i] : sum[i] + values[i];
      }
    }
    succeed(cudaDeviceSynchronize());
    for (std::size_t rank = 0; rank < ranks.count(); ++rank) {
      ranks.launch(rank, one.way, one.has_norm);
    }
    succeed(cudaDeviceSynchronize());
    for (std::size_t rank = 0; rank < ranks.count(); ++rank) {
      const auto values = ranks.values(rank);
      for (std::int64_t row = 0; row < one.rows; ++row) {
        for (std::int64_t i = 0; i < one.width; ++i) {
          const auto at = static_cast<std::size_t>(row * ranks.stride() + i);
          ASSERT_EQ(std::bit_cast<std::uint32_t>(values[at]), std::bit_cast<std::uint32_t>(sum[at]))
              << "turn " << turn << ", rank " << rank << ", row " << row << ", " << i;
        }
      }
      if (!one.has_norm) continue;
      const auto fused = ranks.normed(rank);
      succeed(norm(ranks.norm(rank), nullptr));
      succeed(cudaDeviceSynchronize());
      const auto apart = ranks.normed(rank);
      ASSERT_EQ(fused, apart);
      ASSERT_NE(fused[0], 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, PeerSumTest,
    testing::Values(
        Case{2, 1, 4096, PeerSum::kOneShot, false}, Case{2, 1, 4096, PeerSum::kOneShot, true},
        Case{2, 8, 4096, PeerSum::kOneShot, true}, Case{2, 3, 130, PeerSum::kOneShot, false},
        Case{2, 3, 130, PeerSum::kOneShot, true}, Case{2, 3, 130, PeerSum::kTwoShots, true},
        Case{2, 1, 4096, PeerSum::kTwoShots, false}, Case{3, 2, 1028, PeerSum::kTwoShots, true},
        Case{3, 2, 1028, PeerSum::kOneShot, false}, Case{8, 2, 8192, PeerSum::kTwoShots, true},
        Case{8, 2, 8192, PeerSum::kOneShot, true}, Case{8, 1, 3, PeerSum::kTwoShots, false},
        Case{2, 2, 18432, PeerSum::kOneShot, true}));

class LostPeerTest : public PeerSumTest {};

TEST_P(LostPeerTest, EndsWhenARankIsLost) {
  Ranks ranks(2, 2, 256);
  ranks.launch(0, GetParam().way, true);
  *static_cast<volatile std::uint32_t*>(ranks.is_lost) = 1;
  succeed(cudaDeviceSynchronize());
}

TEST_P(LostPeerTest, BringsWhatIsNoNumber) {
  Ranks ranks(2, 1, 256);
  std::vector<float> values(ranks.size(), 1);
  ranks.write(1, values);
  values[5] = std::bit_cast<float>(0xffffffffU);
  values[6] = std::numeric_limits<float>::infinity();
  ranks.write(0, values);
  succeed(cudaDeviceSynchronize());
  for (std::size_t rank = 0; rank < 2; ++rank) ranks.launch(rank, GetParam().way, false);
  succeed(cudaDeviceSynchronize());
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const auto sums = ranks.values(rank);
    EXPECT_EQ(sums[4], 2);
    EXPECT_TRUE(std::isnan(sums[5]));
    EXPECT_TRUE(std::isinf(sums[6]));
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, LostPeerTest,
                         testing::Values(Case{2, 1, 256, PeerSum::kOneShot, false},
                                         Case{2, 1, 256, PeerSum::kTwoShots, false}));

TEST(PeerSumBoundsTest, RefusesWhatDoesNotFitTheInbox) {
  CudaPeerSumParams params;
  params.rows = 3;
  params.values.width = 130;
  params.inboxes.numbers = 3 * 132 - 1;
  EXPECT_EQ(static_cast<cudaError_t>(peer_sum(params, nullptr)), cudaErrorInvalidValue);
  EXPECT_TRUE(fits(PeerInboxes{.numbers = 3 * 132}, 3, 130));
}

/// The most rows of a sum that leaves half of the GPU.
std::int64_t most_rows(std::int64_t width, bool has_norm, std::int64_t processors) {
  std::int64_t rows = 0;
  while (leaves_half(rows + 1, width, has_norm, processors)) ++rows;
  return rows;
}

// Half of a processor is 512 threads, of which each holds four numbers where there is no norm.
TEST(PeerSumBoundsTest, LeavesHalfOfAGpuToOthers) {
  constexpr bool kNorm = true;
  EXPECT_EQ(most_rows(1024, !kNorm, 1), 2);
  EXPECT_EQ(most_rows(1025, !kNorm, 1), 1) << "a second block of 256 threads a row";
  EXPECT_EQ(most_rows(2049, !kNorm, 1), 0);
  EXPECT_EQ(most_rows(4096, !kNorm, 132), 66);
  EXPECT_EQ(most_rows(4096, !kNorm, 131), 65);
}

TEST(PeerSumBoundsTest, SendsTwiceWhereThatIsLess) {
  constexpr std::int64_t kKiB = 1024;
  EXPECT_EQ(sooner_way(2, 8192 * kKiB), PeerSum::kOneShot);
  EXPECT_EQ(sooner_way(4, 128 * kKiB), PeerSum::kOneShot);
  EXPECT_EQ(sooner_way(4, 128 * kKiB + 4), PeerSum::kTwoShots);
  EXPECT_EQ(sooner_way(8, 54 * kKiB), PeerSum::kOneShot);
  EXPECT_EQ(sooner_way(8, 55 * kKiB), PeerSum::kTwoShots);
}

TEST(PeerSumBoundsTest, TakesOfANormTheThreadsOfItsBlocks) {
  constexpr bool kNorm = true;
  EXPECT_EQ(most_rows(128, kNorm, 1), 16);
  EXPECT_EQ(most_rows(129, kNorm, 1), 8) << "whole warps";
  EXPECT_EQ(most_rows(2048, kNorm, 1), 1);
  EXPECT_EQ(most_rows(4096, kNorm, 1), 1) << "twice as many numbers a thread";
  EXPECT_EQ(most_rows(4100, kNorm, 1), 0);
  EXPECT_EQ(most_rows(4096, kNorm, 132), 132);
}

}  // namespace
}  // namespace weft::cuda
