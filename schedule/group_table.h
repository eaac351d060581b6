#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "weft/schedule/group.h"

namespace weft {

/// Owns every group from its submission until nobody names it any more: it has ended
/// (`Group::done`) and no result under way is for it (`Group::in_flight` is 0). Everyone else in
/// this folder refers to groups by address.
///
/// Bounded by whoever submits, who bounds the requests under way. Owner only. Adding and forgetting
/// a group allocates and frees; nothing else does, but for all().
class GroupTable {
 public:
  /// Takes the group and returns it.
  Group& add(std::unique_ptr<Group> group);

  /// A result that was under way for the group has come, or never will.
  void settle_result(Group& group);
  /// Destroys the group if it has ended and no result for it is under way.
  void forget_if_possible(const Group& group);

  [[nodiscard]] std::size_t size() const noexcept { return groups_.size(); }
  /// All groups, in no particular order; those that have ended and wait for a result are among
  /// them.
  [[nodiscard]] std::vector<Group*> all() const;

 private:
  std::unordered_map<const Group*, std::unique_ptr<Group>> groups_;
};

}  // namespace weft
