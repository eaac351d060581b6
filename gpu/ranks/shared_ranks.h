#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/host/host_memory.h"
#include "weft/gpu/ranks/rank_link.h"

namespace weft {

/// The sizes of the memory that ranks share.
struct RanksLayout {
  std::vector<std::int32_t> widths;  ///< ranks of each stage
  std::int64_t hidden = 0;           ///< H
  std::int64_t step_tokens = 0;      ///< most tokens of a step
  std::int64_t columns = 0;          ///< most columns that a rank gives to gather()
  std::int64_t rows = 0;             ///< most rows for which a step chooses a token
  bool shares_processors = false;    ///< more threads than processors: no thread spins
};

/// Memory through which ranks on one host exchange numbers; ranks are threads or processes. An
/// all-reduce is one-shot: each rank writes into its own slot, and all read every slot. A stage has
/// two sets of slots, used alternately, so that each all-reduce needs only one wait. Before a rank
/// writes into a set again, it has met the other ranks after they read that set.
class SharedRanks : public std::enable_shared_from_this<SharedRanks> {
 public:
  /// kOutOfMemory naming the size.
  [[nodiscard]] static Result<std::shared_ptr<SharedRanks>> make(const RanksLayout& layout);
  /// Uses bytes(layout) bytes of zeros, or memory that other processes already use.
  [[nodiscard]] static std::shared_ptr<SharedRanks> on(const RanksLayout& layout,
                                                       HostMemory memory);
  /// Returns the bytes that ranks of this layout share.
  [[nodiscard]] static std::size_t bytes(const RanksLayout& layout);

  SharedRanks(const SharedRanks&) = delete;
  SharedRanks& operator=(const SharedRanks&) = delete;
  ~SharedRanks();

  /// Returns the link of a rank. Call it once for each rank. The link keeps the memory.
  [[nodiscard]] std::unique_ptr<RankLink> link(std::int32_t stage, std::int32_t rank);

  /// Reports that a rank is lost; wakes all waiting ranks. Any thread.
  void abandon() noexcept;

 private:
  struct Places;
  class Link;

  SharedRanks(const RanksLayout& layout, HostMemory memory);

  const RanksLayout layout_;
  HostMemory memory_;
  std::unique_ptr<Places> places_;
};

}  // namespace weft
