#include "weft/model/quantize/mix_rules.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <tuple>
#include <utility>

namespace weft {
namespace {

namespace json = boost::json;

// --- A tensor's properties for the rules.

enum class Role : std::uint8_t {
  kEmbedding,
  kHead,
  kQkv,
  kKvB,
  kValue,
  kKey,
  kQuery,
  kAttentionOut,
  kUp,
  kGate,
  kDown,
  kOther,
};

struct NamePart {
  std::string_view text;
  Role role;
};

constexpr std::array<std::string_view, 2> kEmbeddings = {"token_embd.weight",
                                                         "per_layer_token_embd.weight"};
constexpr std::string_view kHeadName = "output.weight";

/// The first of these parts that is in a tensor's name determines its role.
constexpr std::array kNameParts = {
    NamePart{"attn_qkv.weight", Role::kQkv}, NamePart{"attn_kv_b.weight", Role::kKvB},
    NamePart{"attn_v.weight", Role::kValue}, NamePart{"attn_k.weight", Role::kKey},
    NamePart{"attn_q.weight", Role::kQuery}, NamePart{"attn_output.weight", Role::kAttentionOut},
    NamePart{"ffn_up", Role::kUp},           NamePart{"ffn_gate", Role::kGate},
    NamePart{"ffn_down", Role::kDown},
};

/// Parts of names of tensors that keep their type, in the families that Weft reads.
constexpr std::array<std::string_view, 6> kKeptParts = {
    "_norm.weight", "ffn_gate_inp.weight",  "altup",
    "laurel",       "per_layer_model_proj", "attn_rel_b.weight"};
constexpr std::array<std::string_view, 2> kKeptNames = {"position_embd.weight",
                                                        "token_types.weight"};

bool has(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

bool is_end(std::string_view name) {
  return name == kHeadName || std::ranges::find(kEmbeddings, name) != kEmbeddings.end();
}

Role role_of(std::string_view name) {
  if (name == kHeadName) return Role::kHead;
  if (is_end(name)) return Role::kEmbedding;
  const auto* found =
      std::ranges::find_if(kNameParts, [&](const NamePart& part) { return has(name, part.text); });
  return found == kNameParts.end() ? Role::kOther : found->role;
}

/// Returns whether a tensor is a matrix, or several, of more than one row.
bool is_matrix(const MixTensor& tensor) {
  const auto extent = std::ranges::find_if(tensor.shape, [](std::int64_t n) { return n > 1; });
  return tensor.shape.end() - extent >= 2;
}

bool changes(const MixTensor& tensor) {
  const std::string_view name = tensor.name;
  return is_matrix(tensor) && name.ends_with("weight") &&
         std::ranges::none_of(kKeptParts, [&](std::string_view part) { return has(name, part); }) &&
         std::ranges::find(kKeptNames, name) == kKeptNames.end();
}

/// Returns the layer number in a name like "blk.3.ffn_up.weight".
std::optional<std::int64_t> layer_of(std::string_view name) {
  constexpr std::string_view kBlock = "blk.";
  if (!name.starts_with(kBlock)) return std::nullopt;
  std::int64_t layer = 0;
  const char* const end = name.data() + name.size();
  const auto [next, error] = std::from_chars(name.data() + kBlock.size(), end, layer);
  if (error != std::errc() || next == end || *next != '.') return std::nullopt;
  return layer;
}

// --- Conditions.

/// A tensor's position among a number of tensors.
struct Ordinal {
  std::int64_t at = 0;
  std::int64_t count = 0;

  [[nodiscard]] bool is_before(std::int64_t parts) const { return at < count / parts; }
  [[nodiscard]] bool is_in_last_eighth() const { return at >= 7 * count / 8; }
  /// Returns true for the first and the last eighth, and for every third position between them.
  [[nodiscard]] bool gets_more_bits() const {
    return is_before(8) || is_in_last_eighth() || (at - count / 8) % 3 == 2;
  }
};

/// A tensor's properties for the conditions.
struct Candidate {
  Role role = Role::kOther;
  Ordinal place;         ///< its layer among the layers, or its index among attention's values
  Ordinal counted;       ///< its index among the tensors of its role; `count` is the layers'
  bool stacked = false;  ///< a stack of experts
  bool whole = true;     ///< its rows are whole blocks of the mix's type
  bool has_importance = false;
  const MixModel* model = nullptr;
};

using Condition = bool (*)(const Candidate&);

bool always(const Candidate&) { return true; }
bool falcon(const Candidate& c) { return c.model->architecture == "falcon"; }
bool shares_kv(const Candidate& c) { return c.model->queries_per_kv_head >= 4; }
bool shares_or_routes(const Candidate& c) { return shares_kv(c) || c.model->experts >= 4; }
bool eight_experts(const Candidate& c) { return c.model->experts == 8; }
bool other_than_falcon(const Candidate& c) { return !falcon(c); }
bool eight_not_falcon(const Candidate& c) { return eight_experts(c) && !falcon(c); }
bool neither_eight_nor_falcon(const Candidate& c) { return !eight_experts(c) && !falcon(c); }
bool eight_more_bits(const Candidate& c) { return eight_experts(c) && c.place.gets_more_bits(); }
bool broken_rows(const Candidate& c) { return !c.whole; }
bool stacked(const Candidate& c) { return c.stacked; }
bool first_two(const Candidate& c) { return c.place.at < 2; }
bool first_four(const Candidate& c) { return c.place.at < 4; }
bool first_eighth(const Candidate& c) { return c.place.is_before(8); }
bool first_eighth_counted(const Candidate& c) { return c.counted.is_before(8); }
bool first_sixteenth(const Candidate& c) { return c.place.is_before(16); }
bool middle(const Candidate& c) { return !c.place.is_before(8) && !c.place.is_in_last_eighth(); }
bool more_bits(const Candidate& c) { return c.place.gets_more_bits(); }
bool blind(const Candidate& c) { return !c.has_importance; }
bool blind_first_eighth(const Candidate& c) { return blind(c) && first_eighth(c); }
bool seeing_first_eighth(const Candidate& c) { return !blind(c) && first_eighth(c); }
bool falcon_first_sixteenth(const Candidate& c) { return falcon(c) && first_sixteenth(c); }
bool falcon_more_bits(const Candidate& c) { return falcon(c) && more_bits(c); }
bool more_bits_not_falcon(const Candidate& c) { return !falcon(c) && more_bits(c); }
bool first_eighth_not_falcon(const Candidate& c) { return !falcon(c) && first_eighth(c); }

// --- The rules.

constexpr std::size_t kMixCount = static_cast<std::size_t>(MixId::kMXFP4_MOE) + 1;
constexpr std::size_t kRoleCount = static_cast<std::size_t>(Role::kOther) + 1;

/// Some members of an enumeration.
template <class Enum, std::size_t kCount>
class SetOf {
 public:
  constexpr SetOf(std::initializer_list<Enum> members) {
    for (const Enum member : members) bits_ |= std::uint64_t{1} << static_cast<unsigned>(member);
  }
  [[nodiscard]] static constexpr SetOf all() {
    SetOf set{};
    set.bits_ = (std::uint64_t{1} << kCount) - 1;
    return set;
  }
  [[nodiscard]] constexpr SetOf without(SetOf other) const {
    SetOf set = *this;
    set.bits_ &= ~other.bits_;
    return set;
  }
  [[nodiscard]] constexpr bool contains(Enum member) const {
    return (bits_ >> static_cast<unsigned>(member) & 1U) != 0;
  }

 private:
  std::uint64_t bits_ = 0;
};

using Mixes = SetOf<MixId, kMixCount>;
using Roles = SetOf<Role, kRoleCount>;
using enum MixId;

constexpr Mixes kAllMixes = Mixes::all();
constexpr Roles kAnyRole = Roles::all();
/// Mixes of about two bits a weight. Only the rules of the third group apply to them.
constexpr Mixes kTwoBits = {kIQ2_XXS, kIQ2_XS, kIQ1_S, kIQ2_S, kIQ2_M, kIQ1_M};
constexpr Mixes kMoreBits = kAllMixes.without(kTwoBits);
constexpr Roles kValues = {Role::kValue, Role::kQkv, Role::kKvB};
constexpr Roles kKeysAndQueries = {Role::kKey, Role::kQuery};
constexpr Roles kGatesAndUps = {Role::kGate, Role::kUp};

/// The type of tensors with some roles in some mixes, if a condition holds.
struct Rule {
  Mixes mixes;
  Roles roles;
  Condition holds;
  DType dtype;
};

/// The first rule that matches a tensor applies; without a match the type is the mix's own. A tied
/// embedding has the head's role.
constexpr std::array kRules = {
    // The head.
    Rule{{kMXFP4_MOE}, {Role::kHead}, always, DType::kQ8_0},
    Rule{kAllMixes, {Role::kHead}, falcon, DType::kQ8_0},
    Rule{kAllMixes, {Role::kHead}, broken_rows, DType::kQ8_0},
    Rule{{kIQ2_XXS, kIQ2_XS, kIQ3_XXS, kIQ1_S, kIQ2_S, kIQ2_M, kIQ1_M},
         {Role::kHead},
         always,
         DType::kQ5_K},
    Rule{{kQ8_0}, {Role::kHead}, always, DType::kQ8_0},
    Rule{kAllMixes, {Role::kHead}, always, DType::kQ6_K},
    // The embedding; also MXFP4, which is for experts.
    Rule{{kMXFP4_MOE}, kAnyRole, stacked, DType::kMXFP4},
    Rule{{kMXFP4_MOE}, kAnyRole, always, DType::kQ8_0},
    Rule{{kIQ2_XXS, kIQ2_XS, kIQ1_S, kIQ1_M}, {Role::kEmbedding}, always, DType::kQ2_K},
    Rule{{kIQ2_S, kIQ2_M, kIQ3_XXS}, {Role::kEmbedding}, always, DType::kIQ3_S},
    Rule{{kTQ1_0, kTQ2_0}, {Role::kEmbedding}, always, DType::kQ4_K},
    // Two bits.
    Rule{kTwoBits, kValues, shares_or_routes, DType::kQ4_K},
    Rule{{kIQ2_S, kIQ2_M}, kValues, always, DType::kIQ3_S},
    Rule{kTwoBits, kValues, always, DType::kQ2_K},
    Rule{kTwoBits, {Role::kKey}, eight_experts, DType::kQ4_K},
    Rule{{kIQ2_S, kIQ2_M}, {Role::kDown}, first_eighth_counted, DType::kIQ3_S},
    Rule{kTwoBits, {Role::kDown}, first_eighth_counted, DType::kQ2_K},
    Rule{kTwoBits, {Role::kAttentionOut}, eight_experts, DType::kQ5_K},
    Rule{{kIQ1_S, kIQ1_M}, {Role::kAttentionOut}, always, DType::kIQ2_XXS},
    Rule{{kIQ2_S, kIQ2_M}, {Role::kAttentionOut}, always, DType::kIQ3_S},
    // Values.
    Rule{kMoreBits, kValues, eight_experts, DType::kQ8_0},
    Rule{{kQ2_K, kQ2_K_S, kIQ3_XXS, kIQ3_XS, kIQ3_S}, kValues, shares_kv, DType::kQ4_K},
    Rule{{kQ2_K}, kValues, always, DType::kQ3_K},
    Rule{{kIQ3_XXS}, kValues, blind, DType::kIQ3_S},
    Rule{{kIQ3_M}, kValues, always, DType::kQ4_K},
    Rule{{kQ3_K_M}, kValues, first_two, DType::kQ5_K},
    Rule{{kQ3_K_M}, kValues, always, DType::kQ4_K},
    Rule{{kQ3_K_L}, kValues, always, DType::kQ5_K},
    Rule{{kIQ4_NL, kIQ4_XS}, kValues, shares_kv, DType::kQ5_K},
    Rule{{kQ4_K_M, kQ5_K_M}, kValues, more_bits, DType::kQ6_K},
    Rule{{kQ4_K_S}, kValues, first_four, DType::kQ5_K},
    // Keys and queries.
    Rule{kMoreBits, {Role::kKey}, eight_experts, DType::kQ8_0},
    Rule{{kIQ3_XS}, kKeysAndQueries, always, DType::kIQ3_XXS},
    Rule{{kIQ3_XXS}, kKeysAndQueries, always, DType::kIQ2_S},
    // The second matrix of the feed-forward network.
    Rule{{kQ2_K}, {Role::kDown}, always, DType::kQ3_K},
    Rule{{kQ2_K_S}, {Role::kDown}, first_eighth, DType::kQ4_K},
    Rule{{kIQ3_XXS}, {Role::kDown}, blind_first_eighth, DType::kQ4_K},
    Rule{{kIQ3_XXS}, {Role::kDown}, blind, DType::kQ3_K},
    Rule{{kQ3_K_M}, {Role::kDown}, first_sixteenth, DType::kQ5_K},
    Rule{{kQ3_K_M}, {Role::kDown}, other_than_falcon, DType::kQ4_K},
    Rule{{kQ3_K_M}, {Role::kDown}, more_bits, DType::kQ4_K},
    Rule{{kIQ3_M}, {Role::kDown}, first_eighth, DType::kQ4_K},
    Rule{{kIQ3_M}, {Role::kDown}, eight_more_bits, DType::kQ4_K},
    Rule{{kQ3_K_L}, {Role::kDown}, falcon, DType::kQ4_K},
    Rule{{kQ3_K_L}, {Role::kDown}, always, DType::kQ5_K},
    Rule{{kQ4_K_M}, {Role::kDown}, falcon_first_sixteenth, DType::kQ6_K},
    Rule{{kQ4_K_M}, {Role::kDown}, falcon_more_bits, DType::kQ5_K},
    Rule{{kQ4_K_M}, {Role::kDown}, more_bits_not_falcon, DType::kQ6_K},
    Rule{{kIQ4_NL, kIQ4_XS}, {Role::kDown}, blind_first_eighth, DType::kQ5_K},
    Rule{{kQ5_K_M}, {Role::kDown}, more_bits, DType::kQ6_K},
    Rule{{kQ4_K_S}, {Role::kDown}, first_eighth_not_falcon, DType::kQ5_K},
    Rule{{kQ4_0}, {Role::kDown}, seeing_first_eighth, DType::kQ4_1},
    Rule{{kQ5_0}, {Role::kDown}, seeing_first_eighth, DType::kQ5_1},
    // The attention's output.
    Rule{{kQ2_K, kIQ3_XS, kIQ3_XXS, kQ3_K_S, kQ3_K_M, kIQ4_NL, kQ4_K_S, kQ4_K_M, kIQ3_S, kIQ3_M,
          kIQ4_XS},
         {Role::kAttentionOut},
         eight_not_falcon,
         DType::kQ5_K},
    Rule{{kQ3_K_L}, {Role::kAttentionOut}, falcon, DType::kQ4_K},
    Rule{{kQ2_K}, {Role::kAttentionOut}, neither_eight_nor_falcon, DType::kQ3_K},
    Rule{{kIQ3_XXS}, {Role::kAttentionOut}, neither_eight_nor_falcon, DType::kIQ3_S},
    Rule{{kQ3_K_M, kIQ3_M}, {Role::kAttentionOut}, neither_eight_nor_falcon, DType::kQ4_K},
    Rule{{kQ3_K_L}, {Role::kAttentionOut}, neither_eight_nor_falcon, DType::kQ5_K},
    // Gates.
    Rule{{kIQ3_XS}, kGatesAndUps, middle, DType::kIQ3_XXS},
};

DType by_rule(MixId mix, const Candidate& candidate) {
  const auto* rule = std::ranges::find_if(kRules, [&](const Rule& one) {
    return one.mixes.contains(mix) && one.roles.contains(candidate.role) && one.holds(candidate);
  });
  const DType dtype = rule == kRules.end() ? mix_of(mix).dtype : rule->dtype;
  // Eight heads share a value in these models, so the matrix is small.
  const bool is_small =
      candidate.model->is_70b && kMoreBits.contains(mix) && kValues.contains(candidate.role);
  return is_small && (dtype == DType::kQ3_K || dtype == DType::kQ4_K) ? DType::kQ5_K : dtype;
}

/// Replaces types with blocks of 256 by types with blocks of 32.
constexpr std::array kSmallerBlocks = {
    std::pair{DType::kIQ1_S, DType::kIQ4_NL},   std::pair{DType::kIQ1_M, DType::kIQ4_NL},
    std::pair{DType::kIQ2_XXS, DType::kIQ4_NL}, std::pair{DType::kIQ2_XS, DType::kIQ4_NL},
    std::pair{DType::kIQ2_S, DType::kIQ4_NL},   std::pair{DType::kIQ3_XXS, DType::kIQ4_NL},
    std::pair{DType::kIQ3_S, DType::kIQ4_NL},   std::pair{DType::kIQ4_XS, DType::kIQ4_NL},
    std::pair{DType::kQ2_K, DType::kQ4_0},      std::pair{DType::kQ3_K, DType::kQ4_0},
    std::pair{DType::kTQ1_0, DType::kQ4_0},     std::pair{DType::kTQ2_0, DType::kQ4_0},
    std::pair{DType::kQ4_K, DType::kQ5_0},      std::pair{DType::kQ5_K, DType::kQ5_1},
    std::pair{DType::kQ6_K, DType::kQ8_0},
};

bool is_whole(std::int64_t row, DType dtype) { return row % block_of(dtype).elements == 0; }

/// Returns the type, or its replacement if a row does not consist of whole blocks.
DType fitting(std::int64_t row, DType dtype) {
  if (is_whole(row, dtype)) return dtype;
  const auto* smaller =
      std::ranges::find(kSmallerBlocks, dtype, [](auto pair) { return pair.first; });
  if (smaller != kSmallerBlocks.end() && is_whole(row, smaller->second)) return smaller->second;
  return DType::kF16;
}

/// Visits the tensors in llama.cpp's order, because some rules count tensors.
class TypeChooser {
 public:
  TypeChooser(const MixChoice& choice, const MixModel& model, std::span<const MixTensor> tensors)
      : choice_(choice), model_(model) {
    for (const MixTensor& tensor : tensors) {
      const Role role = role_of(tensor.name);
      if (kValues.contains(role)) ++values_;
      if (role == Role::kHead) has_head_ = true;
    }
  }

  DType choose(const MixTensor& tensor) {
    const DType own = mix_of(choice_.mix).dtype;
    if (!is_encoded(own)) return own;
    const std::int64_t row = tensor.shape.back();
    if (choice_.pure) return fitting(row, own);
    return fitting(row, by_rule(choice_.mix, candidate(tensor, is_whole(row, own))));
  }

 private:
  Candidate candidate(const MixTensor& tensor, bool whole) {
    Candidate one;
    one.role = role_of(tensor.name);
    if (one.role == Role::kEmbedding && !has_head_) one.role = Role::kHead;
    one.stacked = tensor.shape.size() >= 3 && tensor.shape.front() > 1;
    one.whole = whole;
    one.has_importance = choice_.has_importance;
    one.model = &model_;
    // Values of all kinds have one counter.
    const Role counted = kValues.contains(one.role) ? Role::kValue : one.role;
    const std::int64_t number = counts_[static_cast<std::size_t>(counted)]++;
    one.counted = one.place = {number, counted == Role::kValue ? values_ : model_.layers};
    // The tensors of experts need not be in the order of the layers.
    if (counted != Role::kValue && model_.experts > 1)
      one.place.at = layer_of(tensor.name).value_or(number);
    return one;
  }

  const MixChoice& choice_;
  const MixModel& model_;
  std::int64_t values_ = 0;
  bool has_head_ = false;
  std::array<std::int64_t, kRoleCount> counts_{};
};

// --- The metadata.

/// Returns a whole number, or the first number of a list.
std::optional<std::int64_t> number_in(const json::value& config, const std::string& key) {
  const json::value* value = config.get_object().if_contains(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* list = value->if_array()) {
    if (list->empty()) return std::nullopt;
    value = &list->front();
  }
  boost::system::error_code error;
  const auto number = value->to_number<std::int64_t>(error);
  if (error) return std::nullopt;
  return number;
}

struct Large {
  std::string_view architecture;
  std::int64_t layers;
};
constexpr std::array kLarge = {Large{"llama", 80}, Large{"qwen2", 80}, Large{"olmo", 80},
                               Large{"jais2", 68}};

bool is_large(const MixModel& model, std::int64_t predicting_layers) {
  const auto* found = std::ranges::find(kLarge, model.architecture, &Large::architecture);
  if (found == kLarge.end() || found->layers != model.layers - predicting_layers) return false;
  return model.architecture != "llama" || (model.experts != 8 && model.queries_per_kv_head != 1);
}

}  // namespace

MixModel mix_model(const json::value& config) {
  MixModel model;
  if (const json::value* name = config.get_object().if_contains("general.architecture");
      name != nullptr && name->is_string())
    model.architecture = name->get_string();
  const auto number = [&](const char* key) {
    return number_in(config, model.architecture + "." + key);
  };
  model.layers = number("block_count").value_or(0);
  model.experts = number("expert_count").value_or(0);
  const std::int64_t heads = number("attention.head_count").value_or(1);
  const std::int64_t kv_heads = number("attention.head_count_kv").value_or(heads);
  model.queries_per_kv_head = kv_heads > 0 ? heads / kv_heads : 0;
  model.is_70b = is_large(model, number("nextn_predict_layers").value_or(0));
  return model;
}

std::map<std::string, DType, std::less<>> mix_types(const MixChoice& choice, const MixModel& model,
                                                    std::span<const MixTensor> tensors) {
  std::vector<const MixTensor*> ordered;
  for (const MixTensor& tensor : tensors) ordered.push_back(&tensor);
  std::ranges::sort(ordered, {}, [](const MixTensor* tensor) {
    return std::tuple(layer_of(tensor->name).value_or(-1), std::string_view(tensor->name));
  });
  TypeChooser chooser(choice, model, tensors);
  std::map<std::string, DType, std::less<>> types;
  for (const MixTensor* tensor : ordered) {
    if (changes(*tensor)) types.emplace(tensor->name, chooser.choose(*tensor));
  }
  return types;
}

bool needs_importance(MixId mix, std::string_view tensor, DType dtype) noexcept {
  constexpr std::array kCoarse = {DType::kIQ3_XXS, DType::kIQ2_XXS, DType::kIQ2_XS,
                                  DType::kIQ2_S,   DType::kIQ1_M,   DType::kIQ1_S};
  if (is_end(tensor)) return false;
  if (dtype == DType::kQ2_K) return mix == MixId::kQ2_K_S;
  return std::ranges::find(kCoarse, dtype) != kCoarse.end();
}

}  // namespace weft
