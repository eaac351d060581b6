#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace weft::cuda {

/// Memory of a GPU that other ranks of the same process write into (PeerInboxes).
struct PeerInbox {
  int device = 0;
  std::shared_ptr<float> inbox;
};

/// Where ranks of a model that share a process find each other's inboxes. The inboxes live as long
/// as the board, so until no rank can write into them. Thread-safe.
class PeerBoard {
 public:
  void show(std::int32_t stage, std::int32_t rank, PeerInbox inbox) {
    const std::lock_guard lock(mutex_);
    inboxes_[{stage, rank}] = std::move(inbox);
  }

  /// Returns the inboxes of a stage with this many ranks, by rank; empty if a rank is in another
  /// process.
  [[nodiscard]] std::vector<PeerInbox> of_stage(std::int32_t stage, std::int32_t ranks) const {
    const std::lock_guard lock(mutex_);
    std::vector<PeerInbox> all;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      const auto found = inboxes_.find({stage, rank});
      if (found == inboxes_.end()) return {};
      all.push_back(found->second);
    }
    return all;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::int32_t, std::int32_t>, PeerInbox> inboxes_;
};

}  // namespace weft::cuda
