#include "weft/gpu/ranks/partition_choice.h"

#include <algorithm>
#include <cstddef>
#include <iomanip>
#include <map>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>
#include <variant>

#include "weft/gpu/cuda/layout.h"
#include "weft/gpu/device_error.h"
#include "weft/gpu/device_info.h"
#include "weft/gpu/load_step_devices.h"
#include "weft/model/program/op_work.h"
#include "weft/model/spec/architecture.h"

namespace weft {
namespace {

// The context if the user asks for none: enough for a conversation.
constexpr std::int64_t kUsualContext = 4096;
// The time that adding up a row's stream among GPUs adds to a step: 5 us on two H100s
// (docs/log/2026-11.md), half for the exchange and half for waiting for the slower GPU.
constexpr double kSecondsOfSum = 5e-6;
// The time to pass on a stage's stream, through the host's memory or NCCL: a launch and a copy.
constexpr double kSecondsOfHandover = 20e-6;
// A smaller gain is not worth another device, and is within the error of measured rates.
constexpr double kWorthAnother = 1.1;

using Programs = std::vector<std::shared_ptr<const Program>>;

/// A way to run the model, and the reason against it.
struct Candidate {
  Partition partition;
  Programs programs;  // by rank, stage by stage; empty if the model cannot be cut this way
  std::optional<Error> lacks;
  double seconds = 0;  // seconds of a step of one row

  [[nodiscard]] std::size_t gpus() const {
    const auto on_host = std::ranges::count_if(partition.stages, &Partition::Stage::is_on_host);
    return partition.ranks() - static_cast<std::size_t>(on_host);
  }
};

std::string rounded(double number, int digits, const char* unit) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << number << ' ' << unit;
  return text.str();
}

std::string megabytes(double bytes) { return rounded(bytes * 1e-6, 0, "MB"); }

class Chooser {
 public:
  Chooser(const OpenedModel& model, const std::vector<ChoosableDevice>& devices,
          const ChoiceWishes& wishes)
      : model_(model), wishes_(wishes), layers_(std::ssize(model.architecture->decoder.layers)) {
    for (const ChoosableDevice& device : devices) {
      by_name_.emplace(device.name, &device);
      if (device.name != kHostDevice) gpus_.push_back(device.name);
    }
  }

  Result<PartitionChoice> choose();

 private:
  [[nodiscard]] const ChoosableDevice& device(const std::string& name) const {
    return *by_name_.at(name);
  }
  void consider_alone();
  void consider_gpus(std::size_t count);
  void consider_with_host(std::size_t gpus);
  void consider(Partition partition) { considered_.push_back(judge(std::move(partition))); }
  [[nodiscard]] bool first_stage_has_room(const Candidate& candidate) const;
  [[nodiscard]] Candidate judge(Partition partition) const;
  [[nodiscard]] std::optional<Error> what_is_lacking(const Candidate& candidate) const;
  [[nodiscard]] std::optional<Error> room(const std::string& name, const Program& program,
                                          DType kv_dtype, std::size_t gpus) const;
  [[nodiscard]] double seconds_of(const Candidate& candidate) const;
  [[nodiscard]] const Candidate* best() const;
  [[nodiscard]] Error nothing_fits() const;
  [[nodiscard]] PartitionChoice told(const Candidate& chosen) const;
  [[nodiscard]] std::string piece_text(const std::string& name, const Program& program,
                                       DType kv_dtype) const;
  [[nodiscard]] DType kv_dtype(const Partition& partition) const {
    return wishes_.kv_dtype.value_or(kv_dtype_for(to_string(partition), *model_.program));
  }

  const OpenedModel& model_;
  const ChoiceWishes& wishes_;
  const std::int64_t layers_;
  std::map<std::string, const ChoosableDevice*> by_name_;
  std::vector<std::string> gpus_;
  std::vector<Candidate> considered_;
};

Partition equal_stages(const std::vector<std::string>& names, std::size_t stages) {
  Partition partition;
  const std::size_t width = names.size() / stages;
  for (auto at = names.begin(); at != names.end(); at += static_cast<std::ptrdiff_t>(width)) {
    partition.stages.push_back({{at, at + static_cast<std::ptrdiff_t>(width)}, -1});
  }
  return partition;
}

Result<PartitionChoice> Chooser::choose() {
  consider_alone();
  for (std::size_t count = 2; count < gpus_.size(); count *= 2) consider_gpus(count);
  if (gpus_.size() > 1) consider_gpus(gpus_.size());
  const bool gpus_fit = std::ranges::any_of(considered_, [](const Candidate& one) {
    return !one.lacks && one.partition.stages.front().devices.front() != kHostDevice;
  });
  if (!gpus_fit && !gpus_.empty() && by_name_.contains(std::string(kHostDevice))) {
    consider_with_host(1);
    if (gpus_.size() > 1) consider_with_host(gpus_.size());
  }
  const Candidate* const chosen = best();
  if (chosen == nullptr) return nothing_fits();
  return told(*chosen);
}

void Chooser::consider_alone() {
  for (const auto& [name, ignored] : by_name_) consider({{{{name}, -1}}});
}

void Chooser::consider_gpus(std::size_t count) {
  const std::vector<std::string> names(gpus_.begin(),
                                       gpus_.begin() + static_cast<std::ptrdiff_t>(count));
  for (std::size_t stages = 1; stages <= count; ++stages) {
    if (count % stages == 0) consider(equal_stages(names, stages));
  }
}

/// Considers as many layers as fit on `gpus` GPUs, which share them, and the rest on the host.
void Chooser::consider_with_host(std::size_t gpus) {
  const auto with_layers = [&](std::int64_t layers) {
    Partition partition;
    partition.stages.push_back({{gpus_.begin(), gpus_.begin() + static_cast<std::ptrdiff_t>(gpus)},
                                static_cast<std::int32_t>(layers)});
    partition.stages.push_back({{std::string(kHostDevice)}, -1});
    return partition;
  };
  // More layers take more of the GPUs' memory. Bisection finds the most layers that fit.
  std::int64_t fits = 1;
  std::int64_t too_many = layers_;
  while (too_many - fits > 1) {
    const std::int64_t middle = fits + (too_many - fits) / 2;
    (first_stage_has_room(judge(with_layers(middle))) ? fits : too_many) = middle;
  }
  consider(with_layers(fits));
}

bool Chooser::first_stage_has_room(const Candidate& candidate) const {
  if (candidate.programs.empty()) return false;
  const DType dtype = kv_dtype(candidate.partition);
  auto program = candidate.programs.begin();
  return std::ranges::all_of(
      candidate.partition.stages.front().devices,
      [&](const std::string& name) { return !room(name, **program++, dtype, candidate.gpus()); });
}

Candidate Chooser::judge(Partition partition) const {
  Candidate candidate;
  candidate.partition = std::move(partition);
  if (candidate.partition.ranks() == 1) {
    candidate.programs = {model_.program};
  } else {
    auto programs = compile_parts(model_, candidate.partition);
    if (!programs) {
      candidate.lacks = programs.error();
      return candidate;
    }
    candidate.programs = *std::move(programs);
  }
  candidate.lacks = what_is_lacking(candidate);
  candidate.seconds = seconds_of(candidate);
  return candidate;
}

std::optional<Error> Chooser::what_is_lacking(const Candidate& candidate) const {
  const Partition& partition = candidate.partition;
  const std::size_t on_gpus = candidate.gpus();
  if (on_gpus > 1 && !wishes_.gpus_exchange) {
    return Error{DeviceErrc::kUnfit, "there is no NCCL, which GPUs exchange numbers through"};
  }
  if (on_gpus == 0 && wishes_.has_tuning) {
    return Error{DeviceErrc::kUnfit, "device.tuning is for a GPU"};
  }
  const DType dtype = kv_dtype(partition);
  std::size_t rank = 0;
  for (const Partition::Stage& stage : partition.stages) {
    for (const std::string& name : stage.devices) {
      auto lacks = room(name, *candidate.programs[rank++], dtype, on_gpus);
      if (!lacks) continue;
      if (partition.ranks() > 1) lacks->detail.insert(0, name + ": ");
      return lacks;
    }
  }
  return std::nullopt;
}

std::optional<Error> Chooser::room(const std::string& name, const Program& program, DType kv_dtype,
                                   std::size_t gpus) const {
  const ChoosableDevice& on = device(name);
  CapacityWishes capacity = with_host_share(wishes_.capacity, gpus);
  capacity.kv_dtype = kv_dtype;
  if (capacity.context == 0 && capacity.pages == 0) {
    capacity.context = std::min(kUsualContext, model_.program->context);
  }
  const auto limits =
      device_capacity(program, capacity, on.free_bytes, on.needs(program, capacity));
  return limits ? std::nullopt : std::optional(limits.error());
}

double Chooser::seconds_of(const Candidate& candidate) const {
  double seconds = 0;
  auto next = candidate.programs.begin();
  for (const Partition::Stage& stage : candidate.partition.stages) {
    const auto sums = std::ranges::count_if(
        (*next)->decode.ops, [](const Op& op) { return std::holds_alternative<AllReduceOp>(op); });
    double slowest = 0;
    for (const std::string& name : stage.devices) {
      const double rate = device(name).bytes_per_second;
      if (rate > 0) slowest = std::max(slowest, bytes_of_row(**next) / rate);
      ++next;
    }
    seconds += slowest + static_cast<double>(sums) * kSecondsOfSum;
  }
  return seconds + static_cast<double>(candidate.partition.stages.size() - 1) * kSecondsOfHandover;
}

const Candidate* Chooser::best() const {
  const Candidate* fastest = nullptr;
  for (const Candidate& one : considered_) {
    if (!one.lacks && (fastest == nullptr || one.seconds < fastest->seconds)) fastest = &one;
  }
  const Candidate* chosen = fastest;
  for (const Candidate& one : considered_) {
    if (one.lacks || one.seconds > fastest->seconds * kWorthAnother) continue;
    if (one.partition.ranks() < chosen->partition.ranks()) chosen = &one;
  }
  return chosen;
}

Error Chooser::nothing_fits() const {
  std::string what = "partition: auto: nothing has room for the model";
  if (considered_.empty()) return {DeviceErrc::kUnfit, what + ": no device could be measured"};
  for (const Candidate& one : considered_) {
    what += "; " + to_string(one.partition) + ": " + one.lacks->detail;
  }
  return {considered_.front().lacks->code, what};
}

std::string Chooser::piece_text(const std::string& name, const Program& program,
                                DType kv_dtype) const {
  const ChoosableDevice& on = device(name);
  const Extent layers = program.part.layers_of(layers_);
  std::string text = "  " + name + ": ";
  if (layers.count > 0) {
    text += "layers " + std::to_string(layers.first) + ".." + std::to_string(layers.end() - 1);
  }
  if (program.part.ranks > 1) {
    text += ", part " + std::to_string(program.part.rank + 1) + " of " +
            std::to_string(program.part.ranks);
  }
  text += ", weights " + megabytes(static_cast<double>(program.weight_bytes())) +
          ", keys and values " +
          rounded(static_cast<double>(program.kv_bytes_per_token(kv_dtype)) * 1e-3, 1, "kB") +
          " a token, of " + megabytes(static_cast<double>(on.free_bytes)) + " that are free";
  if (on.bytes_per_second > 0) {
    text += "; reads " + rounded(on.bytes_per_second * 1e-9, 0, "GB/s");
  }
  return text;
}

PartitionChoice Chooser::told(const Candidate& chosen) const {
  const bool timed = chosen.seconds > 0;
  const auto with_time = [](const Candidate& one) {
    return to_string(one.partition) + ": " + rounded(one.seconds * 1e3, 2, "ms") +
           " for a step of one row";
  };
  PartitionChoice choice{to_string(chosen.partition), {}};
  choice.reasons.push_back("partition auto: " +
                           (timed ? with_time(chosen) : choice.partition + ": the only device"));
  std::size_t rank = 0;
  for (const Partition::Stage& stage : chosen.partition.stages) {
    for (const std::string& name : stage.devices) {
      choice.reasons.push_back(
          piece_text(name, *chosen.programs[rank++], kv_dtype(chosen.partition)));
    }
  }
  for (const Candidate& one : considered_) {
    if (&one == &chosen) continue;
    const bool is_hardly_faster = one.seconds < chosen.seconds * kWorthAnother &&
                                  one.partition.ranks() > chosen.partition.ranks();
    choice.reasons.push_back(
        "  not " + (one.lacks
                        ? to_string(one.partition) + ": " + one.lacks->detail
                        : with_time(one) + (is_hardly_faster ? ", not worth another device" : "")));
  }
  return choice;
}

}  // namespace

double bytes_of_row(const Program& program) {
  double bytes = 0;
  const auto experts = static_cast<double>(std::max<std::int64_t>(program.max_experts, 1));
  for (const Op& op : program.decode.ops) {
    const OpWork work = work_of(program, op);
    const auto all = static_cast<double>(work.weight_bytes);
    bytes += work.experts == 0 ? all : all * static_cast<double>(program.max_chosen) / experts;
  }
  return bytes;
}

Result<PartitionChoice> choose_partition(const OpenedModel& model,
                                         const std::vector<ChoosableDevice>& devices,
                                         const ChoiceWishes& wishes) {
  return Chooser(model, devices, wishes).choose();
}

}  // namespace weft
