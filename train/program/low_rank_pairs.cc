#include "weft/train/program/low_rank_pairs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/spec/architecture.h"
#include "weft/train/random_numbers.h"
#include "weft/train/train_error.h"

namespace weft {
namespace {

constexpr std::array<std::pair<std::string_view, TargetRole>, 7> kRoles = {{
    {"q", TargetRole::kQuery},
    {"k", TargetRole::kKey},
    {"v", TargetRole::kValue},
    {"o", TargetRole::kOutput},
    {"gate", TargetRole::kGate},
    {"up", TargetRole::kUp},
    {"down", TargetRole::kDown},
}};

/// A tensor that products of the layers read: its size, roles and uses.
struct Module {
  const CheckpointTensor* tensor = nullptr;
  std::int64_t outputs = 0, inputs = 0;
  std::set<TargetRole> roles;
  std::vector<std::pair<std::size_t, PairUse>> uses;  ///< with the matrix
};
using Modules = std::map<std::string, Module>;

/// Outputs of a matrix that one role has.
struct RoleRange {
  TargetRole role;
  std::int64_t first, end;
};

std::vector<RoleRange> roles_of(const MatrixPlan& matrix, bool gated,
                                const std::optional<HeadShape>& shape) {
  const std::string_view name = matrix.name;
  const std::int64_t all = matrix.outputs;
  if (shape && name.ends_with("attention.qkv")) {
    const std::int64_t queries = std::int64_t{shape->heads} * shape->head_size;
    const std::int64_t keys = queries + std::int64_t{shape->kv_heads} * shape->head_size;
    return {{TargetRole::kQuery, 0, queries},
            {TargetRole::kKey, queries, keys},
            {TargetRole::kValue, keys, all}};
  }
  if (name.ends_with("attention.out")) return {{TargetRole::kOutput, 0, all}};
  if (name.ends_with("mlp.down")) return {{TargetRole::kDown, 0, all}};
  if (gated) return {{TargetRole::kGate, 0, all / 2}, {TargetRole::kUp, all / 2, all}};
  if (name.ends_with("mlp.up")) return {{TargetRole::kUp, 0, all}};
  return {};
}

/// Finds the tensors of the layers' products.
class ModuleFinder {
 public:
  explicit ModuleFinder(const TrainingProgram& training) : training_(training) {}

  [[nodiscard]] Modules find() {
    const Program& program = training_.program;
    std::map<BufferId, HeadShape> shapes;
    for (const Op& op : program.decode.ops) {
      if (const auto* rotary = std::get_if<RotaryOp>(&op))
        shapes[rotary->qkv.before] = rotary->shape;
    }
    for (std::size_t at = 0; at < program.first_head_op; ++at) {
      const auto* op = std::get_if<LinearOp>(&program.decode.ops[at]);
      if (op == nullptr || !seen_.insert(op->weight).second) continue;
      const auto shape = shapes.find(op->out);
      add(op->weight, shape == shapes.end() ? std::nullopt : std::optional(shape->second));
    }
    return std::move(modules_);
  }

 private:
  void add(MatrixId id, const std::optional<HeadShape>& shape) {
    const auto at = static_cast<std::size_t>(id);
    const MatrixPlan& matrix = training_.program.matrices[at];
    const auto ranges = roles_of(matrix, training_.gated[at] != 0, shape);
    if (ranges.empty()) return;
    for (const MatrixPart& part : matrix.parts) {
      if (part.tensor->shape.size() != 2 || part.inputs != matrix.inputs) continue;
      Module& module = modules_[part.tensor->name];
      module.tensor = part.tensor;
      const bool turned = part.stride_input != 1;
      module.inputs = part.inputs;
      module.outputs = part.tensor->shape[turned ? 1 : 0];
      const std::int64_t unit = turned ? 1 : part.inputs;
      for (const RoleRange& range : ranges) {
        if (part.first_output < range.end && part.first_output + part.outputs > range.first)
          module.roles.insert(range.role);
      }
      module.uses.push_back(
          {at,
           {0, part.first_output, part.outputs, part.offset / unit, part.stride_output / unit}});
    }
  }

  const TrainingProgram& training_;
  std::set<MatrixId> seen_;
  Modules modules_;
};

/// The path of a tensor's module in transformers' model, which has a prefix that some files lack.
std::string module_of(std::string tensor, const Architecture& architecture) {
  if (tensor.ends_with(".weight"))
    tensor.resize(tensor.size() - std::string_view(".weight").size());
  const auto& prefixes = architecture.optional_prefixes;
  const bool has_prefix = std::ranges::any_of(
      prefixes, [&](const std::string& each) { return tensor.starts_with(each); });
  return prefixes.empty() || has_prefix || tensor.starts_with("blk.") ? tensor
                                                                      : prefixes.front() + tensor;
}

std::uint64_t number_of(std::string_view text, std::uint64_t seed) {
  std::uint64_t number = RandomNumbers(seed).next();
  for (const char letter : text) {
    number = RandomNumbers(number ^ static_cast<unsigned char>(letter)).next();
  }
  return number;
}

/// Adds a pair of zeros for a module, with its uses.
LowRankPair& add_pair(LowRankPairs& all, const Module& module, const Architecture& architecture) {
  LowRankPair& pair = all.pairs.emplace_back();
  pair.tensor = module.tensor->name;
  pair.module = module_of(pair.tensor, architecture);
  pair.rank = all.rank;
  pair.inputs = module.inputs;
  pair.outputs = module.outputs;
  pair.scale = static_cast<float>(all.alpha / static_cast<double>(all.rank));
  pair.a.resize(static_cast<std::size_t>(pair.rank * pair.inputs));
  pair.b.resize(static_cast<std::size_t>(pair.outputs * pair.rank));
  pair.a_gradient.resize(pair.a.size());
  pair.b_gradient.resize(pair.b.size());
  for (const auto& [matrix, use] : module.uses) {
    PairUse own = use;
    own.pair = all.pairs.size() - 1;
    all.by_matrix[matrix].push_back(own);
  }
  return pair;
}

void fill_at_random(LowRankPair& pair, std::uint64_t seed) {
  RandomNumbers random(number_of(pair.tensor, seed));
  const float bound = 1.0F / std::sqrt(static_cast<float>(pair.inputs));
  for (float& number : pair.a) number = bound * (2 * random.uniform() - 1);
}

Error refused(std::string why) { return {TrainErrc::kBadSetting, std::move(why)}; }

bool is_wanted(const Module& module, const PairSettings& settings) {
  return std::ranges::any_of(module.roles,
                             [&](TargetRole role) { return settings.roles.contains(role); });
}

/// Why an adapter's pair cannot be trained on here; nothing where it can.
std::optional<Error> misfit(const AdapterTarget& target, const AdapterTarget& first,
                            const Modules& modules) {
  const std::string name = "--init: " + target.tensor;
  if (!modules.contains(target.tensor) || target.expert >= 0)
    return refused(name + " is no product of a layer that is trained here");
  if (!target.magnitude.empty()) return refused(name + " has a magnitude (DoRA)");
  if (target.rank != first.rank || target.scale != first.scale)
    return refused(name + " has another rank or scale than " + first.tensor);
  return std::nullopt;
}

}  // namespace

Result<TargetRole> target_role(std::string_view name) {
  const auto* found =
      std::ranges::find(kRoles, name, &std::pair<std::string_view, TargetRole>::first);
  if (found != kRoles.end()) return found->second;
  return refused("targets: \"" + std::string(name) + "\" is none of q, k, v, o, gate, up, down");
}

Result<PairSettings> pair_settings(std::int64_t rank, double alpha,
                                   std::span<const std::string> targets, std::uint64_t seed) {
  PairSettings settings;
  settings.rank = rank;
  settings.alpha = alpha > 0 ? alpha : 2.0 * static_cast<double>(rank);
  settings.seed = seed;
  for (const std::string& name : targets) {
    const auto role = target_role(name);
    if (!role) return role.error();
    settings.roles.insert(*role);
  }
  if (!targets.empty()) return settings;
  for (const auto& [name, role] : kRoles) settings.roles.insert(role);
  return settings;
}

Result<void> check_pairs(const TrainingProgram& program, const PairSettings& settings) {
  if (settings.rank < 1) return refused("rank: must be 1 or more");
  if (!(std::abs(settings.alpha / static_cast<double>(settings.rank)) <=
        std::numeric_limits<float>::max()))
    return refused("alpha: alpha / rank must be a float32");
  const Modules modules = ModuleFinder(program).find();
  const bool has_some = std::ranges::any_of(
      modules, [&](const auto& named) { return is_wanted(named.second, settings); });
  if (!has_some) return refused("targets: the model has no product of these roles");
  return {};
}

Result<LowRankPairs> make_pairs(const TrainingProgram& program, const Architecture& architecture,
                                const PairSettings& settings) {
  if (auto checked = check_pairs(program, settings); !checked) return checked.error();
  LowRankPairs all;
  all.rank = settings.rank;
  all.alpha = settings.alpha;
  all.by_matrix.resize(program.program.matrices.size());
  for (const auto& [name, module] : ModuleFinder(program).find()) {
    if (is_wanted(module, settings)) {
      fill_at_random(add_pair(all, module, architecture), settings.seed);
    } else {
      all.other_modules.push_back(module_of(name, architecture));
    }
  }
  return all;
}

Result<LowRankPairs> pairs_of(const TrainingProgram& program, const Architecture& architecture,
                              const Adapter& adapter) {
  if (!adapter.biases.empty() || !adapter.whole.empty() || !adapter.rows.empty())
    return refused("--init: the adapter changes more than it has low-rank pairs for");
  if (adapter.targets.empty()) return refused("--init: the adapter has no pair");
  const Modules modules = ModuleFinder(program).find();
  const AdapterTarget& first = adapter.targets.front();
  std::map<std::string, const AdapterTarget*> targets;
  for (const AdapterTarget& target : adapter.targets) {
    if (auto error = misfit(target, first, modules)) return *std::move(error);
    targets[target.tensor] = &target;
  }
  LowRankPairs all;
  all.rank = first.rank;
  all.alpha = double{first.scale} * static_cast<double>(first.rank);
  all.by_matrix.resize(program.program.matrices.size());
  for (const auto& [name, module] : modules) {
    const auto target = targets.find(name);
    if (target == targets.end()) {
      all.other_modules.push_back(module_of(name, architecture));
      continue;
    }
    LowRankPair& pair = add_pair(all, module, architecture);
    pair.a = target->second->a;
    pair.b = target->second->b;
    pair.scale = first.scale;
  }
  return all;
}

}  // namespace weft
