#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/model/open_model.h"
#include "weft/model/program/program.h"

namespace weft {

/// The devices that a model runs on, and how they share it.
struct Partition {
  /// A stage of the pipeline: its devices share its layers.
  struct Stage {
    [[nodiscard]] bool is_on_host() const noexcept;

    std::vector<std::string> devices;  ///< names from list_devices(); a name may occur twice
    std::int32_t layers = -1;  ///< layers of the decoder; -1: a share of the layers that are left
    /// Each device has whole experts instead of columns of every expert.
    bool whole_experts = false;
  };
  std::vector<Stage> stages;

  [[nodiscard]] std::size_t ranks() const noexcept;
  [[nodiscard]] std::vector<std::int32_t> widths() const;
  [[nodiscard]] std::vector<bool> host_stages() const;  ///< by stage: whether it is on the host
};

/// Reads a text such as "cuda:0,cuda:1 | cuda:2@20 | cpu". Commas separate devices that share
/// layers; a plus instead gives each device whole experts. Bars separate the stages of a pipeline.
/// After a stage "@" and a number of layers may follow. kUnfit names the error.
[[nodiscard]] Result<Partition> parse_partition(std::string_view text);
[[nodiscard]] std::string to_string(const Partition& partition);

/// The kinds of devices that the ranks of a partition are on.
enum class RankDevices : std::uint8_t { kHost, kGpus, kBoth };

/// Returns the kinds of a partition's devices. kUnfit for a stage with both kinds. kUnfit also for
/// a GPU that occurs twice, unless the ranks are in several processes, where the same name may mean
/// different GPUs. Other names are checked when the device is opened.
[[nodiscard]] Result<RankDevices> devices_of(const Partition& partition,
                                             bool several_processes = false);

/// Reads the partition of each replica, at least one; one device is a partition of one rank. kUnfit
/// names the error in a text, or says that replicas differ (in kinds of devices, stages or ranks)
/// or share a GPU.
[[nodiscard]] Result<std::vector<Partition>> parse_replicas(const std::vector<std::string>& texts);

/// Returns how many of the host's threads each replica has, at least one: a share of `wanted`, or
/// of all (0).
[[nodiscard]] int threads_of_replica(std::size_t replicas, int wanted);

/// Returns how many of the host's threads each rank on the host has, at least one: a share of
/// `wanted`, or of all (0). If all ranks are GPUs, returns how many threads load each rank.
[[nodiscard]] int threads_of_rank(const Partition& partition, int wanted);

/// Returns the part of each rank, stage by stage. Layers without a stated number are divided
/// evenly. kUnfit if a stage would have none, or if the numbers do not add up to the model's
/// layers.
[[nodiscard]] Result<std::vector<ProgramPart>> parts_of(const Partition& partition,
                                                        std::int64_t layers);

/// Returns the programs of all ranks, stage by stage. Errors of parts_of() and compile().
[[nodiscard]] Result<std::vector<std::shared_ptr<const Program>>> compile_parts(
    const OpenedModel& model, const Partition& partition);

}  // namespace weft
