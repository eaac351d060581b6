#include "weft/gpu/ranks/partition.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "weft/core/text/trimmed.h"
#include "weft/gpu/device_error.h"
#include "weft/gpu/device_info.h"
#include "weft/gpu/host/host_processors.h"
#include "weft/gpu/ranks/rank_link.h"
#include "weft/model/spec/architecture.h"

namespace weft {
namespace {

Error misfit(const std::string& what) { return {DeviceErrc::kUnfit, "partition: " + what}; }

std::vector<std::string_view> split(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto at = text.find(mark);
    parts.push_back(trimmed(text.substr(0, at)));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

Result<Partition::Stage> parse_stage(std::string_view text) {
  Partition::Stage stage;
  const auto at = text.find('@');
  if (at != std::string_view::npos) {
    const std::string_view number = trimmed(text.substr(at + 1));
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), stage.layers);
    if (error != std::errc() || end != number.data() + number.size() || stage.layers < 1) {
      return misfit("'" + std::string(number) + "' behind @ is no number of layers");
    }
    text = text.substr(0, at);
  }
  stage.whole_experts = text.find('+') != std::string_view::npos;
  if (stage.whole_experts && text.find(',') != std::string_view::npos) {
    return misfit("'" + std::string(trimmed(text)) +
                  "': all devices of a stage have whole experts (+), or columns of each (,)");
  }
  for (const std::string_view device : split(text, stage.whole_experts ? '+' : ',')) {
    if (device.empty()) return misfit("a device is missing");
    stage.devices.emplace_back(device);
  }
  return stage;
}

/// Returns the number of layers of each stage.
Result<std::vector<std::int64_t>> layers_of(const Partition& partition, std::int64_t layers) {
  std::int64_t left = layers;
  std::int64_t open = 0;
  for (const Partition::Stage& stage : partition.stages) {
    left -= std::max(stage.layers, 0);
    open += stage.layers < 0 ? 1 : 0;
  }
  const auto stages = std::to_string(partition.stages.size());
  if (left < open || (open == 0 && left != 0)) {
    return misfit("the model has " + std::to_string(layers) + " layers, which " + stages +
                  " stages cannot share like this");
  }
  std::vector<std::int64_t> counts;
  for (const Partition::Stage& stage : partition.stages) {
    if (stage.layers >= 0) {
      counts.push_back(stage.layers);
      continue;
    }
    const std::int64_t share = (left + open - 1) / open;
    counts.push_back(share);
    left -= share;
    --open;
  }
  return counts;
}

}  // namespace

bool Partition::Stage::is_on_host() const noexcept { return devices.front() == kHostDevice; }

std::size_t Partition::ranks() const noexcept {
  std::size_t count = 0;
  for (const Stage& stage : stages) count += stage.devices.size();
  return count;
}

std::vector<std::int32_t> Partition::widths() const {
  std::vector<std::int32_t> widths;
  for (const Stage& stage : stages) {
    widths.push_back(static_cast<std::int32_t>(stage.devices.size()));
  }
  return widths;
}

std::vector<bool> Partition::host_stages() const {
  std::vector<bool> all;
  for (const Stage& stage : stages) all.push_back(stage.is_on_host());
  return all;
}

Result<Partition> parse_partition(std::string_view text) {
  Partition partition;
  for (const std::string_view stage : split(text, '|')) {
    auto parsed = parse_stage(stage);
    if (!parsed) return parsed.error();
    partition.stages.push_back(*std::move(parsed));
  }
  if (partition.ranks() > kMostRanks) {
    return misfit(std::to_string(partition.ranks()) + " devices, at most " +
                  std::to_string(kMostRanks));
  }
  return partition;
}

std::string to_string(const Partition& partition) {
  std::string text;
  for (const Partition::Stage& stage : partition.stages) {
    if (!text.empty()) text += " | ";
    for (std::size_t i = 0; i < stage.devices.size(); ++i) {
      text.append(i == 0 ? "" : stage.whole_experts ? "+" : ",").append(stage.devices[i]);
    }
    if (stage.layers >= 0) text.append("@").append(std::to_string(stage.layers));
  }
  return text;
}

Result<RankDevices> devices_of(const Partition& partition, bool several_processes) {
  std::vector<std::string_view> gpus;
  std::size_t on_host = 0;
  for (const Partition::Stage& stage : partition.stages) {
    for (const std::string& device : stage.devices) {
      if ((device == kHostDevice) != stage.is_on_host()) {
        return misfit("'" + stage.devices.front() + "' and '" + device +
                      "' share layers: ranks that do are all on the host or all GPUs");
      }
      if (device == kHostDevice) {
        ++on_host;
      } else if (!several_processes && std::ranges::find(gpus, device) != gpus.end()) {
        return misfit("'" + device + "' stands there twice, and a GPU is one rank");
      } else {
        gpus.emplace_back(device);
      }
    }
  }
  if (gpus.empty()) return RankDevices::kHost;
  return on_host == 0 ? RankDevices::kGpus : RankDevices::kBoth;
}

Result<std::vector<Partition>> parse_replicas(const std::vector<std::string>& texts) {
  std::vector<Partition> replicas;
  for (const std::string& text : texts) {
    auto parsed = parse_partition(text);
    if (!parsed) return parsed.error();
    replicas.push_back(*std::move(parsed));
  }
  if (replicas.size() == 1) return replicas;
  const auto misfits = [](const std::string& what) {
    return Error{DeviceErrc::kUnfit, "replicas: " + what};
  };
  Partition all;
  for (const Partition& replica : replicas) {
    const auto kind = devices_of(replica);
    if (!kind) return kind.error();
    if (*kind != *devices_of(replicas.front())) {
      return misfits("'" + to_string(replica) + "' beside '" + to_string(replicas.front()) +
                     "': all must be on the same kinds of devices");
    }
    if (replica.widths() != replicas.front().widths()) {
      return misfits("'" + to_string(replica) + "' beside '" + to_string(replicas.front()) +
                     "': each has as many stages of as many ranks");
    }
    all.stages.insert(all.stages.end(), replica.stages.begin(), replica.stages.end());
  }
  if (!devices_of(all)) {
    return misfits("'" + to_string(replicas.back()) +
                   "': a GPU is in two of them, and each has its own");
  }
  return replicas;
}

int threads_of_replica(std::size_t replicas, int wanted) {
  if (replicas == 1) return wanted;
  const int all = wanted > 0 ? wanted : host_parallelism();
  return std::max(1, all / static_cast<int>(replicas));
}

int threads_of_rank(const Partition& partition, int wanted) {
  const int all = wanted > 0 ? wanted : host_parallelism();
  std::size_t on_host = 0;
  for (const Partition::Stage& stage : partition.stages) {
    if (stage.is_on_host()) on_host += stage.devices.size();
  }
  return std::max(1, all / static_cast<int>(on_host > 0 ? on_host : partition.ranks()));
}

Result<std::vector<ProgramPart>> parts_of(const Partition& partition, std::int64_t layers) {
  const auto counts = layers_of(partition, layers);
  if (!counts) return counts.error();
  std::vector<ProgramPart> parts;
  std::int64_t first = 0;
  for (std::size_t stage = 0; stage < partition.stages.size(); ++stage) {
    const auto width = static_cast<std::int32_t>(partition.stages[stage].devices.size());
    for (std::int32_t rank = 0; rank < width; ++rank) {
      ProgramPart& part = parts.emplace_back();
      part.rank = rank;
      part.ranks = width;
      part.whole_experts = partition.stages[stage].whole_experts;
      part.first_layer = static_cast<std::int32_t>(first);
      part.layers = static_cast<std::int32_t>((*counts)[stage]);
    }
    first += (*counts)[stage];
  }
  return parts;
}

Result<std::vector<std::shared_ptr<const Program>>> compile_parts(const OpenedModel& model,
                                                                  const Partition& partition) {
  const auto layers = static_cast<std::int64_t>(model.architecture->decoder.layers.size());
  const auto parts = parts_of(partition, layers);
  if (!parts) return parts.error();
  std::vector<std::shared_ptr<const Program>> programs;
  for (const ProgramPart& part : *parts) {
    auto program = compile(*model.architecture, *model.checkpoint, part);
    if (!program) return program.error();
    // Tables of positions bound the context, and only the first stage has them.
    program->context = model.program->context;
    programs.push_back(std::make_shared<const Program>(*std::move(program)));
  }
  return programs;
}

}  // namespace weft
