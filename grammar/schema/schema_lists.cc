#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/grammar/schema/json_schema.h"

// Lists that contain each element at most once: the members of an object, and unique items.

namespace weft::grammar {
namespace {

using Value = boost::json::value;
using Object = boost::json::object;
using Array = boost::json::array;
using Part = GrammarBuilder::Part;

/// The most values of an item that are listed. With more values uniqueItems is not enforced.
constexpr std::size_t kMostValues = 256;
/// The most nodes for a schema's arrays in any order, a tenth of a grammar's nodes; ten values take
/// 10,000. Beyond it, items come in the schema's order.
constexpr std::size_t kMostUnordered = 20'000;

/// Returns how many sets of at most `most` out of `all` things exist; kMostUnordered or more means
/// too many.
std::size_t sets_of(std::size_t all, std::uint64_t most) {
  std::size_t sets = 0;
  std::size_t of_size = 1;
  for (std::size_t size = 0; size <= all && size <= most; ++size) {
    sets += of_size;
    if (sets >= kMostUnordered) return sets;
    of_size = of_size * (all - size) / (size + 1);
  }
  return sets;
}

/// Writes arrays of some of the parts in any order; a state is the set of the parts written so far.
class UnorderedWriter {
 public:
  UnorderedWriter(GrammarBuilder& builder, std::span<const Part> parts, std::uint64_t least,
                  std::uint64_t most)
      : builder_(builder),
        parts_(parts),
        least_(least),
        most_(most),
        space_(builder.json().space),
        comma_(builder.json().comma),
        known_(std::size_t{1} << parts.size()) {}

  /// Returns the text that may follow once the parts of a set have been written.
  Part after(std::uint32_t set, std::size_t written) {
    if (known_[set]) return *known_[set];
    std::vector<Part> ways;
    if (written >= least_) ways.push_back(written > 0 ? space_ : Part{});
    for (std::uint32_t i = 0; i < parts_.size() && written < most_; ++i) {
      if ((set >> i & 1U) != 0) continue;
      const Part rest = after(set | 1U << i, written + 1);
      ways.push_back(written > 0 ? builder_.sequence({comma_, parts_[i], rest})
                                 : builder_.sequence({parts_[i], rest}));
    }
    return known_[set].emplace(builder_.any_of(ways));
  }

 private:
  GrammarBuilder& builder_;
  const std::span<const Part> parts_;
  const std::uint64_t least_;
  const std::uint64_t most_;
  const Part space_;
  const Part comma_;
  std::vector<std::optional<Part>> known_;
};

}  // namespace

SchemaReader::Part SchemaReader::some_in_order(std::span<const Listed> all,
                                               std::optional<Part> others, Counts counts,
                                               const std::string& path) {
  const JsonParts& json = builder_.json();
  const Part nothing = builder_.any_of(std::span<const Part>());
  if (counts.most >= all.size() && !others) counts.most = kNoBound;
  const bool is_bounded = counts.most < kNoBound;
  // Members are counted only as far as it matters: whether there is any, and up to the bounds.
  const std::uint64_t counted = is_bounded ? std::min<std::uint64_t>(counts.most, all.size())
                                           : std::min<std::uint64_t>(counts.least, all.size() + 1);
  const std::uint64_t top = std::max<std::uint64_t>(1, counted);
  constexpr std::uint64_t kMostCounted = 20'000;
  if (top > 1 && top > kMostCounted / (all.size() + 1)) {
    const bool passes = lets_pass(below(path, is_bounded ? "maxProperties" : "minProperties"),
                                  "is too large beside so many properties");
    return passes ? some_in_order(all, others, {}, path) : Part{};
  }
  if (!work((all.size() + 1) * top / 8)) return {};
  // Goes from the last member back: after[n] is the text that may follow n members.
  std::vector<Part> after(top + 1);
  for (std::uint64_t written = 0; written <= top; ++written) {
    const std::uint64_t least = counts.least > written ? counts.least - written : 0;
    const bool may_end = least == 0;
    if (!others || (is_bounded && written >= counts.most)) {
      after[written] = !may_end ? nothing : written > 0 ? json.space : Part{};
      continue;
    }
    const auto at_least = static_cast<std::uint32_t>(std::min<std::uint64_t>(least, kNoBound - 1));
    const auto at_most = is_bounded ? static_cast<std::uint32_t>(counts.most - written) : kNoBound;
    const Part more = builder_.sequence({json.comma, *others});
    if (written > 0) {
      after[written] =
          at_most < at_least
              ? nothing
              : builder_.sequence({builder_.repeat(more, at_least, at_most), json.space});
      continue;
    }
    const Part some =
        builder_.sequence({*others,
                           builder_.repeat(more, at_least > 0 ? at_least - 1 : 0,
                                           at_most == kNoBound ? kNoBound : at_most - 1),
                           json.space});
    after[written] = at_most < at_least ? nothing : may_end ? builder_.optional(some) : some;
  }
  for (std::size_t i = all.size(); i > 0; --i) {
    std::vector<Part> before(top + 1, nothing);
    for (std::uint64_t written = 0; written <= std::min<std::uint64_t>(top, i - 1); ++written) {
      std::vector<Part> ways;
      if (!is_bounded || written < counts.most) {
        const Part rest = after[std::min(written + 1, top)];
        ways.push_back(written > 0 ? builder_.sequence({json.comma, all[i - 1].part, rest})
                                   : builder_.sequence({all[i - 1].part, rest}));
      }
      if (!all[i - 1].is_required) ways.push_back(after[written]);
      before[written] = builder_.any_of(ways);
    }
    after = std::move(before);
  }
  return after[0];
}

std::optional<SchemaReader::Part> SchemaReader::unique_array(const Value* items, Counts counts,
                                                             const std::string& path) {
  std::vector<Value> values;
  if (items == nullptr || !list_values(*items, values, 0)) return std::nullopt;
  if (counts.most < counts.least || values.size() < counts.least) {
    return builder_.any_of(std::span<const Part>());
  }
  std::vector<Part> parts;
  for (const Value& value : values) parts.push_back(given_value(builder_, value));
  const Part open = builder_.sequence({builder_.literal("["), builder_.json().space});
  const Part close = builder_.literal("]");
  const std::size_t sets = sets_of(values.size(), counts.most);
  const std::size_t nodes = sets * values.size();
  if (values.size() < 16 && nodes + unordered_ <= kMostUnordered) {
    unordered_ += nodes;
    if (!work(nodes / 8)) return std::nullopt;
    UnorderedWriter writer(builder_, parts, counts.least, counts.most);
    return builder_.sequence({open, writer.after(0, 0), close});
  }
  std::vector<Listed> all;
  for (const Part part : parts) all.push_back({part, false});
  return builder_.sequence({open, some_in_order(all, std::nullopt, counts, path), close});
}

/// Adds all values that a schema allows, each once; returns false where they cannot be listed.
bool SchemaReader::list_values(const Value& schema, std::vector<Value>& values, int depth) {
  constexpr int kDeepest = 4;
  const Value& found = target(schema, 0);
  if (found == Value(false)) return true;
  if (!found.is_object() || depth > kDeepest || !work(1)) return false;
  const Object& object = found.get_object();
  for (const std::string_view keyword : {"anyOf", "oneOf"}) {
    const Value* const list = object.if_contains(keyword);
    if (list == nullptr) continue;
    if (!list->is_array() || without(object, keyword).size() > 0) return false;
    return std::ranges::all_of(
        list->get_array(), [&](const Value& one) { return list_values(one, values, depth + 1); });
  }
  return list_typed_values(object, values);
}

bool SchemaReader::list_typed_values(const Object& schema, std::vector<Value>& values) {
  const auto add = [&](Value value) {
    if (std::ranges::find(values, value) == values.end()) values.push_back(std::move(value));
    return values.size() <= kMostValues && work(1 + values.size() / 8);
  };
  for (const auto& member : schema) {
    const std::string_view keyword = member.key();
    const bool is_read = keyword == "type" || keyword == "enum" || keyword == "const" ||
                         keyword == "minimum" || keyword == "maximum" || is_annotation(keyword);
    if (!is_read) return false;
  }
  const std::vector<std::string> types = types_of(schema);
  const Value* const single = schema.if_contains("const");
  const Value* const list = schema.if_contains("enum");
  if (single != nullptr || list != nullptr) {
    if (schema.contains("minimum") || schema.contains("maximum")) return false;
    if (list != nullptr && (single != nullptr || !list->is_array())) return false;
    const Array given = single != nullptr ? Array{*single} : list->get_array();
    return std::ranges::all_of(given, [&](const Value& value) {
      const bool fits =
          !schema.contains("type") ||
          std::ranges::any_of(types, [&](const auto& type) { return has_type(value, type); });
      return !fits || add(value);
    });
  }
  const Value* const low = schema.if_contains("minimum");
  const Value* const high = schema.if_contains("maximum");
  return !types.empty() && std::ranges::all_of(types, [&](const std::string& type) {
    if (type == "null") return add(nullptr);
    if (type == "boolean") return add(true) && add(false);
    const bool is_range = type == "integer" && low != nullptr && high != nullptr &&
                          low->is_int64() && high->is_int64();
    if (!is_range || low->get_int64() < -1'000'000'000 || high->get_int64() > 1'000'000'000) {
      return false;
    }
    for (std::int64_t i = low->get_int64(); i <= high->get_int64(); ++i) {
      if (!add(i)) return false;
    }
    return true;
  });
}

}  // namespace weft::grammar
