#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "weft/schedule/group.h"

namespace weft {

/// Owns every group from its submission until it has ended (`Group::done`) and no pending result is
/// for it (`Group::in_flight` is 0). All other classes of this folder refer to groups by
/// address.
///
/// The submitter bounds the number of groups, as it bounds the requests. Owner only. Only adding
/// and forgetting a group, and all(), allocate or free.
class GroupTable {
 public:
  /// Takes the group and returns it.
  Group& add(std::unique_ptr<Group> group);

  /// A pending result for the group has arrived, or never will.
  void settle_result(Group& group);
  /// Destroys the group if it has ended and no result for it is pending.
  void forget_if_possible(const Group& group);

  [[nodiscard]] std::size_t size() const noexcept { return groups_.size(); }
  /// All groups in no particular order, including ended groups with pending
  /// results.
  [[nodiscard]] std::vector<Group*> all() const;

 private:
  std::unordered_map<const Group*, std::unique_ptr<Group>> groups_;
};

}  // namespace weft
