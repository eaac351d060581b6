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

    std::vector<std::string> devices;  ///< as list_devices() names them; one may stand there twice
    std::int32_t layers = -1;          ///< of the decoder; -1: its share of those left
    bool whole_experts = false;        ///< each has whole experts, instead of columns of every one
  };
  std::vector<Stage> stages;

  [[nodiscard]] std::size_t ranks() const noexcept;
  [[nodiscard]] std::vector<std::int32_t> widths() const;
  [[nodiscard]] std::vector<bool> host_stages() const;  ///< by stage, whether it is on the host
};

/// Reads "cuda:0,cuda:1 | cuda:2@20 | cpu": commas between devices that share layers, a plus
/// instead where each shall have whole experts, bars between the stages of a pipeline, @ and a
/// number of layers behind a stage. kUnfit naming what is wrong.
[[nodiscard]] Result<Partition> parse_partition(std::string_view text);
[[nodiscard]] std::string to_string(const Partition& partition);

/// The kinds of devices that the ranks of a partition are on.
enum class RankDevices : std::uint8_t { kHost, kGpus, kBoth };

/// kUnfit for a stage that is on both, and for a GPU that stands there twice, unless the ranks are
/// in several processes, each of which may call another GPU so; what else a device is called is
/// found out where it is opened.
[[nodiscard]] Result<RankDevices> devices_of(const Partition& partition,
                                             bool several_processes = false);

/// Reads the partition of each replica; one device is a partition of one rank. At least one. kUnfit
/// naming what is wrong with a text, or that replicas are not alike: on other kinds of devices,
/// stages or ranks of another number, or a GPU in two of them.
[[nodiscard]] Result<std::vector<Partition>> parse_replicas(const std::vector<std::string>& texts);

/// How many of the host's threads each replica has, one at least: its share of `wanted`, or of all
/// (0).
[[nodiscard]] int threads_of_replica(std::size_t replicas, int wanted);

/// How many of the host's threads each rank on the host has, one at least: its share of `wanted`,
/// or of all (0). Where all ranks are GPUs, how many each loads with.
[[nodiscard]] int threads_of_rank(const Partition& partition, int wanted);

/// The part of each rank, stage by stage. Layers without a stated number are shared evenly; kUnfit
/// where a stage would have none, or the numbers do not add up to the model's layers.
[[nodiscard]] Result<std::vector<ProgramPart>> parts_of(const Partition& partition,
                                                        std::int64_t layers);

/// The programs of all ranks, stage by stage. Errors of parts_of() and compile().
[[nodiscard]] Result<std::vector<std::shared_ptr<const Program>>> compile_parts(
    const OpenedModel& model, const Partition& partition);

}  // namespace weft
