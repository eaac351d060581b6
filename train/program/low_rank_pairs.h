#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/model/adapters/adapter.h"
#include "weft/train/program/training_program.h"

namespace weft {

/// The products of a layer that can get a pair, by the names that --targets takes.
enum class TargetRole : std::uint8_t { kQuery, kKey, kValue, kOutput, kGate, kUp, kDown };

/// The role called "q", "k", "v", "o", "gate", "up" or "down". kBadSetting naming the others.
[[nodiscard]] Result<TargetRole> target_role(std::string_view name);

/// The names of all roles.
inline constexpr std::array<std::string_view, 7> kTargetNames = {"q",    "k",  "v",   "o",
                                                                 "gate", "up", "down"};

struct PairSettings {
  std::int64_t rank = 16;
  double alpha = 32;
  std::set<TargetRole> roles;
  std::uint64_t seed = 0;
};

/// Returns the settings that a user has given. An alpha of 0 is twice the rank; without targets all
/// roles get pairs. kBadSetting naming a target.
[[nodiscard]] Result<PairSettings> pair_settings(std::int64_t rank, double alpha,
                                                 std::span<const std::string> targets,
                                                 std::uint64_t seed);

/// A low-rank pair that is trained (Hu et al., arXiv 2106.09685): of a matrix W [outputs, inputs]
/// of the checkpoint, W + scale * B A.
struct LowRankPair {
  std::string tensor;  ///< of the checkpoint
  std::string module;  ///< as PEFT names it
  std::int64_t rank = 0, inputs = 0, outputs = 0;
  float scale = 1;
  std::vector<float> a;  ///< [rank, inputs]
  std::vector<float> b;  ///< [outputs, rank]
  std::vector<float> a_gradient, b_gradient;
};

/// The outputs of a program's matrix that some outputs of a pair's tensor become.
struct PairUse {
  std::size_t pair = 0;
  std::int64_t first = 0;  ///< output of the matrix
  std::int64_t outputs = 0;
  std::int64_t row = 0;  ///< output of the tensor that the first one is
  std::int64_t row_step = 1;
};

/// All pairs of a job, and where the program's products add them.
struct LowRankPairs {
  std::int64_t rank = 0;
  double alpha = 0;
  double dropout = 0;              ///< the part of the pairs' inputs that a step drops, less than 1
  std::vector<LowRankPair> pairs;  ///< sorted by tensor
  std::vector<std::vector<PairUse>> by_matrix;  ///< those of one pair stand side by side
  /// All modules of the layers' products that have none.
  std::vector<std::string> other_modules;
};

/// Checks whether make_pairs() can make pairs, without the memory of pairs. kBadSetting.
[[nodiscard]] Result<void> check_pairs(const TrainingProgram& program,
                                       const PairSettings& settings);

/// New pairs as PEFT makes them: A is uniform in +-1 / sqrt(inputs) (Kaiming's with a = sqrt(5)),
/// by the seed and the tensor's name, and B is 0. A tensor that holds several roles gets a pair if
/// one of them is asked for. kBadSetting where the model has none of the roles, or alpha /
/// rank is no float32.
[[nodiscard]] Result<LowRankPairs> make_pairs(const TrainingProgram& program,
                                              const Architecture& architecture,
                                              const PairSettings& settings);

/// Pairs that begin with an adapter's numbers. kBadSetting naming what of it cannot be trained
/// here: ranks or scales that differ, magnitudes, biases, whole tensors, tensors of no role.
[[nodiscard]] Result<LowRankPairs> pairs_of(const TrainingProgram& program,
                                            const Architecture& architecture,
                                            const Adapter& adapter);

}  // namespace weft
