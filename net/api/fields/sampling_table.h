#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/core/token.h"
#include "weft/net/api/fields/body_fields.h"
#include "weft/sampling/sampling_params.h"
#include "weft/text/tokenizer/tokenizer.h"

/// The one list of the API's decoding parameters, by which sampling_fields.h decodes and echoes.
namespace weft::sampling_table {

/// Where a field is read into.
struct Reading {
  BodyFields& fields;
  const Tokenizer& tokenizer;
  SamplingParams params{};
  std::optional<bool> beam_search{};
};

/// Returns the parameter that a field of a plain kind sets.
using Real = float& (*)(SamplingParams&);
using Count = std::int32_t& (*)(SamplingParams&);
using Flag = bool& (*)(SamplingParams&);
using Tokens = std::vector<TokenId>& (*)(SamplingParams&);
/// A field of a kind of its own. Without `write` it is not echoed.
struct Special {
  void (*read)(Reading&, std::string_view name);
  boost::json::value (*write)(const SamplingParams&);
};

struct SamplingField {
  std::string_view name;
  std::variant<Real, Count, Flag, Tokens, Special> kind;
  std::string_view own_name = name;  ///< what validate() calls it
};

/// Rows that an API has in the place of the table's of the same own_name, which it calls otherwise
/// or gives another meaning.
using OwnRows = std::span<const SamplingField>;

/// Returns the row of `own` that stands in the place of `field`, or `field` itself.
[[nodiscard]] const SamplingField& row_for(const SamplingField& field, OwnRows own) noexcept;

/// The rows of the table, in the order in which they are read and echoed.
[[nodiscard]] std::span<const SamplingField> all() noexcept;
/// How many rows there are.
inline constexpr std::size_t kFields = 41;

/// Writes 0.1, not 0.10000000149011612.
[[nodiscard]] boost::json::value write_real(float number);
/// Writes a list of ids.
[[nodiscard]] boost::json::value write_tokens(const std::vector<TokenId>& tokens);

}  // namespace weft::sampling_table
