#include "weft/schedule/group_table.h"

#include <utility>

#include "weft/core/error/internal_error.h"

namespace weft {

Group& GroupTable::add(std::unique_ptr<Group> group) {
  Group& one = *group;
  groups_.emplace(&one, std::move(group));
  return one;
}

void GroupTable::settle_result(Group& group) {
  if (group.in_flight == 0) internal_error("a result for a group that expects none");
  --group.in_flight;
  forget_if_possible(group);
}

void GroupTable::forget_if_possible(const Group& group) {
  if (group.done && group.in_flight == 0) groups_.erase(&group);
}

std::vector<Group*> GroupTable::all() const {
  std::vector<Group*> all;
  all.reserve(groups_.size());
  for (const auto& [key, group] : groups_) all.push_back(group.get());
  return all;
}

}  // namespace weft
