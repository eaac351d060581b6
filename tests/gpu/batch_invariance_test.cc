// The logits after a token depend on its sequence up to there and on nothing else, bit for bit:
// not on what else is in the step, on how the prompt was cut, on pages, or on threads.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/kv_dtype.h"
#include "weft/gpu/host/host_device.h"
#include "weft/kernels/simd/cpu_features.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/program/program.h"
#include "weft/model/random_llama.h"
#include "weft/model/spec/architecture.h"
#include "weft/model/spec/spec.h"
#include "weft/tests/fixture/encoded_llama.h"
#include "weft/tests/fixture/same_bits.h"
#include "weft/tests/fixture/source_path.h"

namespace weft {
namespace {

struct Model {
  std::shared_ptr<const Checkpoint> checkpoint;
  std::shared_ptr<const Program> program;
};

constexpr std::int32_t kMaxTokens = 96;
constexpr std::int32_t kPageTokens = 5;
constexpr std::int32_t kPagesOfOne = 20;
constexpr std::int32_t kSequences = 4;
/// Tokens of each sequence. The first is longer than a block of attention's keys, the last is a
/// single token.
constexpr std::int32_t kLengths[kSequences] = {75, 23, 40, 1};

/// Tokens of a sequence that one step feeds.
struct Chunk {
  std::int32_t sequence;
  std::int32_t count;
};

/// Sequences that run on one device, and the logits after each of their tokens.
class Runner {
 public:
  Runner(const Model& model, int threads, DType kv_dtype, std::uint32_t page_seed) {
    const std::int32_t pages = kSequences * kPagesOfOne;
    device_ = HostDevice::load(model.checkpoint, model.program,
                               {.threads = threads,
                                .always_all_threads = true,
                                .max_tokens = kMaxTokens,
                                .max_outputs = kMaxTokens,
                                .max_sequences = kSequences,
                                .page_tokens = kPageTokens,
                                .pages = pages,
                                .kv_dtype = kv_dtype})
                  .value();
    pages_.resize(static_cast<std::size_t>(pages));
    std::iota(pages_.begin(), pages_.end(), 0);
    std::mt19937 random(page_seed);
    std::ranges::shuffle(pages_, random);
    std::minstd_rand ids(7);
    for (std::size_t s = 0; s < kSequences; ++s) {
      for (std::int32_t i = 0; i < kLengths[s]; ++i) {
        ids_[s].push_back(
            static_cast<TokenId>(ids() % static_cast<std::uint64_t>(model.program->vocabulary)));
      }
    }
  }

  [[nodiscard]] std::int32_t left(std::int32_t sequence) const {
    const auto s = static_cast<std::size_t>(sequence);
    return kLengths[s] - done_[s];
  }
  [[nodiscard]] std::vector<TokenId>& ids(std::size_t sequence) { return ids_[sequence]; }
  [[nodiscard]] const std::vector<float>& logits(std::size_t sequence) const {
    return logits_[sequence];
  }

  /// Runs one step of these chunks, in this order.
  void step(std::span<const Chunk> chunks) {
    std::vector<TokenId> ids;
    std::vector<StepSequence> sequences;
    for (const Chunk& chunk : chunks) {
      const auto s = static_cast<std::size_t>(chunk.sequence);
      StepSequence sequence;
      sequence.first = static_cast<std::int32_t>(ids.size());
      sequence.count = chunk.count;
      sequence.start = done_[s];
      sequence.pages = std::span(pages_).subspan(s * kPagesOfOne, kPagesOfOne);
      sequences.push_back(sequence);
      const auto from = ids_[s].begin() + done_[s];
      ids.insert(ids.end(), from, from + chunk.count);
      done_[s] += chunk.count;
    }
    std::vector<std::int32_t> outputs(ids.size());
    std::iota(outputs.begin(), outputs.end(), 0);
    device_->decode({ids, sequences, outputs});
    keep(chunks, device_->results());
  }

 private:
  void keep(std::span<const Chunk> chunks, ConstRows rows) {
    ASSERT_EQ(rows.width, device_->program().vocabulary);
    std::int64_t row = 0;
    for (const Chunk& chunk : chunks) {
      auto& logits = logits_[static_cast<std::size_t>(chunk.sequence)];
      for (const std::int64_t end = row + chunk.count; row < end; ++row) {
        logits.insert(logits.end(), rows.row(row), rows.row(row) + rows.width);
      }
    }
    ASSERT_EQ(row, rows.count);
  }

  std::unique_ptr<HostDevice> device_;
  std::vector<std::int32_t> pages_;
  std::vector<TokenId> ids_[kSequences];
  std::int32_t done_[kSequences] = {};
  std::vector<float> logits_[kSequences];
};

/// Runs each sequence by itself and whole.
void run_alone(Runner& run) {
  for (std::int32_t s = 0; s < kSequences; ++s) {
    const Chunk whole{s, run.left(s)};
    run.step({&whole, 1});
  }
}

/// Runs each sequence by itself, in chunks of `size`.
void run_cut(Runner& run, std::int32_t size) {
  for (std::int32_t s = 0; s < kSequences; ++s) {
    while (run.left(s) > 0) {
      const Chunk chunk{s, std::min(size, run.left(s))};
      run.step({&chunk, 1});
    }
  }
}

/// Runs all together, in chunks of up to `most` and in random order.
void run_mixed(Runner& run, std::int32_t most, std::uint32_t seed) {
  std::mt19937 random(seed);
  for (;;) {
    std::vector<Chunk> chunks;
    std::int32_t room = kMaxTokens;
    for (std::int32_t s = 0; s < kSequences; ++s) {
      const auto drawn =
          static_cast<std::int32_t>(random() % (static_cast<std::uint32_t>(most) + 1));
      const std::int32_t count = std::min({drawn, run.left(s), room});
      if (count == 0) continue;
      chunks.push_back({s, count});
      room -= count;
    }
    std::ranges::shuffle(chunks, random);
    if (!chunks.empty()) run.step(chunks);
    std::int32_t left = 0;
    for (std::int32_t s = 0; s < kSequences; ++s) left += run.left(s);
    if (left == 0) return;
  }
}

/// Whether all logits of `run` have the bits of those of `alone`; names the first position where
/// they differ.
testing::AssertionResult agrees(const Runner& run, const Runner& alone, std::int64_t vocabulary) {
  for (std::size_t s = 0; s < kSequences; ++s) {
    const std::vector<float>& got = run.logits(s);
    const std::vector<float>& want = alone.logits(s);
    if (got.size() != want.size()) return testing::AssertionFailure() << "logits are missing";
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (test::same_bits(got[i], want[i])) continue;
      const auto width = static_cast<std::size_t>(vocabulary);
      return testing::AssertionFailure()
             << "sequence " << s << ", position " << i / width << ", token " << i % width << ": "
             << got[i] << ", off by " << got[i] - want[i];
    }
  }
  return testing::AssertionSuccess();
}

void expect_invariance(const Model& model, DType kv_dtype, bool thorough) {
  Runner alone(model, 1, kv_dtype, 1);
  run_alone(alone);
  std::uint32_t page_seed = 2;
  const auto expect_same = [&](int threads, const std::function<void(Runner&)>& schedule,
                               const std::string& what) {
    Runner run(model, threads, kv_dtype, page_seed++);
    schedule(run);
    EXPECT_TRUE(agrees(run, alone, model.program->vocabulary))
        << what << ", " << threads << " threads, KV " << kv_dtype_name(kv_dtype);
  };
  for (const int threads : {1, 2, 3}) {
    expect_same(threads, run_alone, "alone");
    for (const std::int32_t size : {1, 2, 7, 13, 64}) {
      if (!thorough && size != 7) continue;
      expect_same(
          threads, [size](Runner& run) { run_cut(run, size); }, "cut into " + std::to_string(size));
    }
    for (const std::int32_t most : {1, 3, 16, 40}) {
      if (!thorough && most != 3) continue;
      expect_same(
          threads, [&](Runner& run) { run_mixed(run, most, page_seed); },
          "mixed, up to " + std::to_string(most));
    }
  }
}

class BatchInvarianceTest : public testing::TestWithParam<CpuTarget> {
 protected:
  ForcedCpuTarget forced_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(EveryTarget, BatchInvarianceTest,
                         testing::ValuesIn(available_cpu_targets()),
                         [](const auto& target) { return std::string(to_string(target.param)); });

TEST_P(BatchInvarianceTest, GivesTheSameLogitsWhateverElseIsInTheStep) {
  const RandomLlama llama({}, 11);
  for (const DType kv_dtype : {DType::kF32, DType::kBF16, DType::kI8, DType::kF8_E4M3}) {
    // Attention is the same code with and without products of int8.
    if (kv_dtype != DType::kF32 && multiplies_int8(GetParam())) continue;
    expect_invariance({llama.checkpoint(), llama.program()}, kv_dtype, kv_dtype == DType::kF32);
  }
}

TEST_P(BatchInvarianceTest, GivesTheSameLogitsFromEncodedWeightsWhateverElseIsInTheStep) {
  const test::CompiledModel llama = test::encoded_llama(3, 2);
  expect_invariance({llama.checkpoint, llama.program}, DType::kF32, false);
}

TEST_P(BatchInvarianceTest, LooksAtEveryEarlierTokenOfTheSequenceAndAtNoLaterOne) {
  const RandomLlama llama({}, 13);
  const Model model{llama.checkpoint(), llama.program()};
  Runner before(model, 1, DType::kF32, 1);
  run_alone(before);
  constexpr std::int32_t kChanged = 30;
  Runner after(model, 1, DType::kF32, 1);
  TokenId& id = after.ids(0)[kChanged];
  id = static_cast<TokenId>((id + 1) % model.program->vocabulary);
  run_alone(after);
  const auto width = static_cast<std::size_t>(model.program->vocabulary);
  for (std::size_t i = 0; i < static_cast<std::size_t>(kLengths[0]); ++i) {
    const bool same =
        test::same_bits(before.logits(0).data() + i * width, after.logits(0).data() + i * width,
                        model.program->vocabulary);
    EXPECT_EQ(same, i < kChanged) << "position " << i;
  }
  EXPECT_EQ(before.logits(1), after.logits(1));
}

/// Experts, biases, windows, ALiBi, learned positions: the blocks that a llama has not.
TEST(BatchInvarianceOfFamilies, GivesTheSameLogitsWhateverElseIsInTheStep) {
  namespace fs = std::filesystem;
  const fs::path golden = test::source_path("../shared/golden");
  if (!fs::is_directory(golden)) GTEST_SKIP() << golden << " is not there";
  int families = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(golden)) {
    if (!fs::exists(entry.path() / "config.json")) continue;
    SCOPED_TRACE(entry.path().filename().string());
    const auto checkpoint = std::make_shared<Checkpoint>(open_checkpoint(entry.path()).value());
    const Architecture architecture =
        resolve_architecture(find_spec(*checkpoint).value(), *checkpoint).value();
    const auto program = std::make_shared<Program>(compile(architecture, *checkpoint).value());
    if (program->has_encoder || !program->generates()) continue;
    ASSERT_GE(program->context, *std::ranges::max_element(kLengths));
    expect_invariance({checkpoint, program}, DType::kF32, false);
    ++families;
  }
  EXPECT_GT(families, 5);
}

}  // namespace
}  // namespace weft
