#include "weft/train/data/job_state.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "weft/core/io/file.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/checkpoint/safetensors.h"
#include "weft/model/checkpoint/tensor_values.h"
#include "weft/train/data/tensor_file.h"
#include "weft/train/train_error.h"

namespace weft {
namespace {

// A float32 has whole numbers up to 2^24: two of them hold any job's steps.
constexpr std::int64_t kStepUnit = std::int64_t{1} << 20U;

Error bad_state(std::string_view why) { return {TrainErrc::kBadState, std::string(why)}; }

/// The arrays of a pair that a state has, with the ends of their names.
template <class Pair, class Moments, class Visit>
void each_array(Pair& pair, Moments& moments, const Visit& visit) {
  visit(".a", pair.a);
  visit(".b", pair.b);
  visit(".a_first", moments.a_first);
  visit(".a_second", moments.a_second);
  visit(".b_first", moments.b_first);
  visit(".b_second", moments.b_second);
}

/// The name of the tensor that has the number of steps: a state of another job lacks it.
std::string steps_name(const std::string& job) { return "steps of " + job; }

/// Fills `numbers` from a tensor of as many.
Result<void> read_into(const CheckpointFile& file, const std::string& name,
                       std::span<float> numbers) {
  const auto found = std::ranges::find(file.tensors, name, &CheckpointTensor::name);
  if (found == file.tensors.end()) return bad_state("has no " + name);
  if (found->dtype != DType::kF32 || found->size != numbers.size_bytes())
    return bad_state(name + " has another size or type");
  if (auto read = read_values(*found, 0, 1, numbers); !read) return read;
  const bool square = name.ends_with("_second");
  for (const float number : numbers) {
    if (!std::isfinite(number) || (square && number < 0))
      return bad_state(name + " has a number that no state has");
  }
  return {};
}

Result<std::int64_t> read_steps(const CheckpointFile& file, const std::string& job,
                                std::int64_t steps) {
  std::array<float, 2> parts{};
  const std::string name = steps_name(job);
  if (std::ranges::find(file.tensors, name, &CheckpointTensor::name) == file.tensors.end())
    return bad_state("is of another model, other data or other settings");
  if (auto read = read_into(file, name, parts); !read) return read.error();
  for (const float part : parts) {
    if (part < 0 || part > static_cast<float>(kStepUnit) || part != std::floor(part))
      return bad_state("has no number of steps");
  }
  const auto done =
      static_cast<std::int64_t>(parts[0]) * kStepUnit + static_cast<std::int64_t>(parts[1]);
  if (done > steps) return bad_state("has more steps than the job");
  return done;
}

Result<JobState> read_all(const CheckpointFile& file, const std::string& job, std::int64_t steps,
                          JobState state) {
  const auto done = read_steps(file, job, steps);
  if (!done) return done.error();
  state.steps_done = *done;
  Result<void> result;
  for (std::size_t i = 0; i < state.pairs.size(); ++i) {
    LowRankPair& pair = state.pairs[i];
    each_array(pair, state.moments[i], [&](const char* kind, std::vector<float>& numbers) {
      if (result) result = read_into(file, pair.tensor + kind, numbers);
    });
  }
  if (!result) return result.error();
  return state;
}

}  // namespace

Result<void> write_state(const std::filesystem::path& path, const std::string& job,
                         std::int64_t steps_done, const std::vector<LowRankPair>& pairs,
                         const std::vector<PairMoments>& moments) {
  const std::int64_t units = steps_done / kStepUnit;
  const std::array<float, 2> steps = {static_cast<float>(units),
                                      static_cast<float>(steps_done % kStepUnit)};
  std::vector<NamedNumbers> tensors = {{steps_name(job), {2}, steps}};
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    each_array(pairs[i], moments[i], [&](const char* kind, const std::vector<float>& numbers) {
      tensors.push_back(
          {pairs[i].tensor + kind, {static_cast<std::int64_t>(numbers.size())}, numbers});
    });
  }
  std::filesystem::path fresh = path;
  fresh += ".new";
  std::error_code ignored;
  std::filesystem::remove(fresh, ignored);  // a killed process may have left it
  if (auto written = write_tensor_file(fresh, tensors); !written) {
    std::filesystem::remove(fresh, ignored);  // a part of it would keep a full disk full
    return written;
  }
  std::error_code error;
  std::filesystem::rename(fresh, path, error);
  if (!error) return {};
  std::filesystem::remove(fresh, ignored);
  return Error{FileErrc::kCannotWrite, path.string() + ": " + error.message()};
}

Result<JobState> read_state(const std::filesystem::path& path, const std::string& job,
                            std::int64_t steps, JobState like) {
  auto source = open_file_source(path);
  if (!source) return source.error();
  const auto file = read_safetensors(*std::move(source));
  if (!file) return file.error();
  auto state = read_all(*file, job, steps, std::move(like));
  if (!state) return error_in(path.string(), state.error());
  return state;
}

}  // namespace weft
