#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/train/program/low_rank_pairs.h"
#include "weft/train/step/optimizer.h"

namespace weft {

/// What a job needs to go on: the pairs and moments behind some steps.
struct JobState {
  std::int64_t steps_done = 0;
  std::vector<LowRankPair> pairs;  ///< their gradients are not part of it
  std::vector<PairMoments> moments;
};

/// Writes the state of a job to `path`, replacing an earlier file as a whole. kCannotWrite.
[[nodiscard]] Result<void> write_state(const std::filesystem::path& path, const std::string& job,
                                       std::int64_t steps_done,
                                       const std::vector<LowRankPair>& pairs,
                                       const std::vector<PairMoments>& moments);

/// Reads the state of the job of this name, `steps` long. `like` has pairs and moments of the
/// job's sizes, which are filled. kBadState where the file is no state, of another job, or has a
/// number that none has: not finite, a negative square, steps that are no whole number up to
/// `steps`; errors of the file.
[[nodiscard]] Result<JobState> read_state(const std::filesystem::path& path, const std::string& job,
                                          std::int64_t steps, JobState like);

}  // namespace weft
