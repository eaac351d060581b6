#include "weft/gpu/adapter_pairs.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "weft/gpu/device_error.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/program/operands.h"

namespace weft {
namespace {

Error unfit(std::string_view what, const std::string& tensor) {
  std::string detail(what);
  detail.append(" ").append(tensor).append(
      ": an adapter that is chosen by requests cannot have it; merge the adapter into the model");
  return {DeviceErrc::kUnfit, std::move(detail)};
}

/// Returns the names of the tensors that the program computes with.
std::set<std::string_view> tensors_of(const Program& program) {
  std::set<std::string_view> names;
  for (const MatrixPlan& matrix : program.matrices) {
    for (const MatrixPart& part : matrix.parts) names.insert(part.tensor->name);
  }
  for (const OpList* list : {&program.encode, &program.decode}) {
    for (const Op& op : list->ops) {
      std::visit(
          [&](const auto& one) {
            for_each_table(one, [&](const TableRows& table) { names.insert(table.tensor->name); });
          },
          op);
    }
  }
  return names;
}

Result<void> check_whole(const Adapter& adapter) {
  if (!adapter.biases.empty())
    return unfit("the adapter changes the bias", adapter.biases.front().tensor);
  if (!adapter.whole.empty())
    return unfit("the adapter replaces the tensor", adapter.whole.front().name);
  if (!adapter.rows.empty())
    return unfit("the adapter replaces rows of", adapter.rows.front().tensor);
  return {};
}

Result<void> check(const AdapterTarget& target, std::int64_t most) {
  if (!target.magnitude.empty())
    return unfit("the adapter has a magnitude (DoRA) for", target.tensor);
  if (target.rank <= most) return {};
  std::string detail = "the adapter has rank " + std::to_string(target.rank) + " for ";
  detail.append(target.tensor).append(", and adapters.max_rank is ").append(std::to_string(most));
  return Error{DeviceErrc::kUnfit, std::move(detail)};
}

}  // namespace

AdapterId adapter_id(const Adapter& adapter) noexcept {
  AdapterId id;
  std::copy_n(adapter.hash.begin(), id.bytes.size(), id.bytes.begin());
  return id;
}

Result<std::vector<const AdapterTarget*>> pairs_at_sites(const Adapter& adapter,
                                                         const Program& adapted) {
  if (auto able = check_whole(adapter); !able) return able.error();
  std::map<std::string_view, const AdapterTarget*> targets;
  for (const AdapterTarget& target : adapter.targets) {
    if (auto able = check(target, adapted.adapter_rank); !able) return able.error();
    targets[target.tensor] = &target;
  }
  std::vector<const AdapterTarget*> pairs;
  std::set<std::string_view> placed;
  for (const AdapterSite& site : adapted.adapter_sites) {
    const auto found = targets.find(site.tensor->name);
    pairs.push_back(found == targets.end() ? nullptr : found->second);
    if (found != targets.end()) placed.insert(found->first);
  }
  const std::set<std::string_view> used = tensors_of(adapted);
  for (const auto& [tensor, target] : targets) {
    if (!placed.contains(tensor) && used.contains(tensor))
      return unfit("the adapter changes an embedding, a head or experts:", target->tensor);
  }
  return pairs;
}

}  // namespace weft
