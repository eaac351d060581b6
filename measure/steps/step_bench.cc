#include "weft/measure/steps/step_bench.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <limits>
#include <utility>

#include "weft/gpu/device_error.h"
#include "weft/gpu/device_info.h"
#include "weft/gpu/ranks/partition.h"
#include "weft/gpu/ranks/step_ranks.h"
#include "weft/measure/load/outcome.h"
#include "weft/measure/measure_error.h"
#include "weft/measure/steps/step_driver.h"

namespace weft::measure {
namespace {

std::vector<std::int32_t> ascending(std::vector<std::int32_t> values) {
  std::ranges::sort(values);
  const auto same = std::ranges::unique(values);
  values.erase(same.begin(), same.end());
  return values;
}

std::int32_t most(const std::vector<std::int32_t>& values, std::int32_t at_least) {
  return values.empty() ? at_least : std::max(at_least, *std::ranges::max_element(values));
}

DType kv_dtype(const StepWishes& wishes, const Program& program) {
  return wishes.kv_dtype.value_or(kv_dtype_for(wishes.device, program));
}

Error bad(std::string detail) { return {MeasureErrc::kBadSteps, std::move(detail)}; }

std::optional<Error> unfit(const Program& program, const StepWishes& wishes) {
  if (!program.generates() || program.has_encoder) {
    return bad("the model has an encoder, and only steps of decoders are measured");
  }
  const auto too_long = [&](const char* flag, std::int32_t tokens) {
    return bad(std::string(flag) + " " + std::to_string(tokens) + ": the model knows " +
               std::to_string(program.context) + " positions");
  };
  const std::int32_t context = most(wishes.contexts, 1);
  const std::int32_t prompt = most(wishes.prompts, 1);
  if (context > program.context) return too_long("--context", context);
  if (prompt > program.context) return too_long("--prefill", prompt);
  if (wishes.steps >= program.context) return too_long("--steps", wishes.steps);
  return std::nullopt;
}

CapacityWishes capacity(const StepWishes& wishes) {
  CapacityWishes all;
  const std::int32_t context = most(wishes.contexts, 1);
  const std::int32_t prompt = most(wishes.prompts, 1);
  all.rows = most(wishes.batches, 1);
  all.page_tokens = wishes.page_tokens;
  // Samplers accept no more tokens than a context has, whether they come from steps or from a
  // prompt.
  all.context = std::max({context, prompt, wishes.steps + 1});
  all.step_tokens = kMostStepTokens;
  const auto pages = [&](std::int64_t tokens) {
    return (tokens + wishes.page_tokens - 1) / wishes.page_tokens;
  };
  const std::int64_t wanted = std::max(all.rows * pages(context), pages(all.context));
  all.pages = static_cast<std::int32_t>(
      std::min<std::int64_t>(wanted, std::numeric_limits<std::int32_t>::max()));
  return all;
}

/// Adds up the work of the ranks that a step waits for; `work` returns a program's work.
template <class Work>
StepWork work_of(const StepWishes& wishes, const Program& program, const Work& work) {
  if (wishes.stages.empty()) return work(program);
  const bool in_common = limiting_device(wishes.device) == kHostDevice;
  const auto partition = parse_partition(wishes.device);
  StepWork all;
  for (std::size_t i = 0; i < wishes.stages.size(); ++i) {
    if (in_common && partition && !partition->stages[i].is_on_host()) continue;
    StepWork most;
    for (const auto& rank : wishes.stages[i]) {
      const StepWork own = work(*rank);
      if (in_common) {
        most += own;
      } else if (own.bytes > most.bytes) {
        most = own;
      }
    }
    all += most;
  }
  return all;
}

/// The times of a step, each with the times of its limits.
struct Samples {
  std::vector<double> took, reads, computes, of_limit, of_peak, times_first;
};

/// Measures all cells on one device.
class Bench {
 public:
  Bench(StepDevice& device, const Program& program, DevicePeak& peak, const StepWishes& wishes,
        const StepProgress& progress)
      : device_(device),
        program_(program),
        peak_(peak),
        wishes_(wishes),
        progress_(progress),
        batches_(ascending(wishes.batches)),
        contexts_(ascending(wishes.contexts)),
        prompts_(ascending(wishes.prompts)),
        driver_(device, wishes.seed, [this] { count(); }) {
    if (batches_.empty()) contexts_.clear();
    total_ = plans();
  }

  Result<StepFigures> run() {
    StepFigures figures;
    figures.step_tokens = device_.limits().step_tokens;
    figures.weight_bytes = program_.weight_bytes();
    figures.kv_bytes = program_.kv_bytes_per_token(dtype());
    figures.reader = peak_.reader();
    figures.computer = peak_.computer();
    for (const std::int32_t tokens : prompts_) {
      auto cell = prefill(tokens);
      if (!cell) return cell.error();
      figures.prefill.push_back(*std::move(cell));
    }
    for (const std::int32_t context : contexts_) {
      auto cells = decode(context);
      if (!cells) return cells.error();
      figures.decode.insert(figures.decode.end(), cells->begin(), cells->end());
    }
    return figures;
  }

 private:
  [[nodiscard]] DType dtype() const { return kv_dtype(wishes_, program_); }

  [[nodiscard]] std::int64_t plans() const {
    const std::int64_t rounds = wishes_.repeats + 1;
    std::int64_t all = 0;
    for (const std::int32_t tokens : prompts_) all += rounds * driver_.plans_for(tokens);
    std::int32_t filled = 0;
    for (const std::int32_t context : contexts_) {
      all += driver_.plans_for(std::int64_t{context - 1 - filled} * batches_.back());
      filled = context - 1;
      all += rounds * static_cast<std::int64_t>(batches_.size()) * (wishes_.steps + 1);
    }
    return all;
  }

  void count() {
    ++done_;
    if (progress_) progress_(done_, total_);
  }

  Result<StepCell> prefill(std::int32_t tokens) {
    StepCell cell;
    cell.tokens = tokens;
    cell.work = work_of(wishes_, program_, [&](const Program& one) {
      return prefill_work(one, dtype(), tokens, device_.limits().step_tokens);
    });
    Samples samples;
    // The first round is not counted, because memory and code are not in the caches yet.
    for (std::int32_t round = 0; round <= wishes_.repeats; ++round) {
      const auto taken = pair(cell.work, samples, 1, [&] { return driver_.prefill(tokens); });
      if (!taken) return taken.error();
      if (round == 0) samples = {};
    }
    conclude(cell, samples);
    return cell;
  }

  /// Measures all batches at one context, one after the other.
  Result<std::vector<StepCell>> decode(std::int32_t context) {
    driver_.fill(batches_.back(), filled_, context - 1);
    filled_ = context - 1;
    std::vector<StepCell> cells;
    for (const std::int32_t batch : batches_) {
      cells.emplace_back();
      cells.back().batch = batch;
      cells.back().tokens = context;
      cells.back().work = work_of(wishes_, program_, [&](const Program& one) {
        return decode_work(one, dtype(), batch, context);
      });
    }
    std::vector<Samples> samples(cells.size());
    for (std::int32_t round = 0; round <= wishes_.repeats; ++round) {
      double first = 0;  // tokens a second of the smallest batch
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const auto took = pair(cells[i].work, samples[i], wishes_.steps, [&] {
          return driver_.decode(cells[i].batch, context - 1, wishes_.steps);
        });
        if (!took) return took.error();
        const double rate = cells[i].batch / *took;
        if (i == 0) first = rate;
        samples[i].times_first.push_back(rate / first);
        if (round == 0) samples[i] = {};
      }
    }
    for (std::size_t i = 0; i < cells.size(); ++i) conclude(cells[i], samples[i]);
    return cells;
  }

  /// Measures the seconds of `step`, in turn with the limits of its work.
  template <class Timed>
  Result<double> pair(const StepWork& work, Samples& samples, std::int32_t times, Timed&& step) {
    const double took = step();
    const auto read = peak_.read(work.bytes, times);
    if (!read) return read.error();
    const auto computed = peak_.compute(work.operations);
    samples.took.push_back(took);
    samples.reads.push_back(*read);
    samples.of_limit.push_back(std::max(*read, computed.value_or(0)) / took);
    if (!computed) return took;
    samples.computes.push_back(*computed);
    samples.of_peak.push_back(*computed / took);
    return took;
  }

  static void conclude(StepCell& cell, const Samples& samples) {
    cell.seconds = Quartiles::of(samples.took);
    cell.reading = Quartiles::of(samples.reads);
    cell.of_limit = Quartiles::of(samples.of_limit);
    if (!samples.computes.empty()) {
      cell.computing = Quartiles::of(samples.computes);
      cell.of_peak = Quartiles::of(samples.of_peak);
    }
    if (!samples.times_first.empty()) cell.times_first = Quartiles::of(samples.times_first);
  }

  StepDevice& device_;
  const Program& program_;
  DevicePeak& peak_;
  const StepWishes& wishes_;
  const StepProgress& progress_;
  std::vector<std::int32_t> batches_, contexts_, prompts_;
  StepDriver driver_;
  std::int32_t filled_ = 0;  // positions that are filled in all rows
  std::int64_t done_ = 0;
  std::int64_t total_ = 0;
};

}  // namespace

Quartiles Quartiles::of(const std::vector<double>& values) {
  return {quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)};
}

double StepCell::rate(bool prefill) const noexcept {
  return (prefill ? tokens : batch) / seconds.median;
}

bool StepCell::computes() const noexcept { return computing && computing->median > reading.median; }

Result<std::vector<std::vector<std::shared_ptr<const Program>>>> stages_of(
    const OpenedModel& model, const std::string& device) {
  std::vector<std::vector<std::shared_ptr<const Program>>> stages;
  const auto partition = parse_partition(device);
  if (!partition) return partition.error();
  if (partition->ranks() < 2) return stages;
  const auto programs = compile_parts(model, *partition);
  if (!programs) return programs.error();
  auto next = programs->begin();
  for (const Partition::Stage& stage : partition->stages) {
    const auto count = static_cast<std::ptrdiff_t>(stage.devices.size());
    stages.emplace_back(next, next + count);
    next += count;
  }
  return stages;
}

std::string limiting_device(const std::string& device) {
  const auto partition = parse_partition(device);
  if (!partition) return device;
  const auto on_host = std::ranges::find_if(
      partition->stages, [](const Partition::Stage& stage) { return stage.is_on_host(); });
  return on_host == partition->stages.end() ? partition->stages.front().devices.front()
                                            : std::string(kHostDevice);
}

std::shared_ptr<StepDevice> as_one_device(const StepDevices& loaded) {
  const DeviceRanks& ranks = loaded.devices.front();
  if (ranks.size() == 1) return ranks.front();
  return std::make_shared<StepRanks>(ranks);
}

double most_bytes(const Program& program, const StepWishes& wishes) {
  const DType dtype = kv_dtype(wishes, program);
  return std::max(
      decode_work(program, dtype, most(wishes.batches, 1), most(wishes.contexts, 1)).bytes,
      prefill_work(program, dtype, most(wishes.prompts, 1), kMostStepTokens).bytes);
}

Result<StepDevices> load_for_steps(const OpenedModel& model, const StepWishes& wishes,
                                   const LoadProgress& progress) {
  if (auto error = unfit(*model.program, wishes)) return *std::move(error);
  DeviceWishes device;
  device.replicas = {wishes.device};
  device.threads = wishes.threads;
  device.kv_dtype = wishes.kv_dtype;
  device.capacity = capacity(wishes);
  device.capacity.rounds_rows = wishes.rounds_rows;
  auto loaded = load_step_devices(model, device, {}, progress);
  if (loaded || loaded.error().code != DeviceErrc::kOutOfMemory) return loaded;
  return Error{loaded.error().code, "--batch " + std::to_string(device.capacity.rows) +
                                        " at --context " + std::to_string(device.capacity.context) +
                                        ": " + loaded.error().detail};
}

Result<StepFigures> measure_steps(StepDevice& device, const Program& program, DevicePeak& peak,
                                  const StepWishes& wishes, const StepProgress& progress) {
  try {
    return Bench(device, program, peak, wishes, progress).run();
  } catch (const std::exception& failure) {
    return Error{DeviceErrc::kDriver, std::string("a step failed: ") + failure.what()};
  }
}

}  // namespace weft::measure
