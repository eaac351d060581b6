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

/// The place that a field is read into, and what is needed to read it.
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
/// A field that needs its own functions. Without `write` it is not echoed.
struct Special {
  void (*read)(Reading&, std::string_view name);
  boost::json::value (*write)(const SamplingParams&);
};

struct SamplingField {
  std::string_view name;
  std::variant<Real, Count, Flag, Tokens, Special> kind;
  std::string_view own_name = name;  ///< the name that validate() uses
};

/// Rows that an API puts in place of the table's rows with the same own_name, because it uses
/// another name or another meaning.
using OwnRows = std::span<const SamplingField>;

/// Returns the row of `own` that stands in the place of `field`, or `field` itself.
[[nodiscard]] const SamplingField& row_for(const SamplingField& field, OwnRows own) noexcept;

/// The rows of the table, in the order in which they are read and echoed.
[[nodiscard]] std::span<const SamplingField> all() noexcept;
/// The number of rows.
inline constexpr std::size_t kFields = 41;

/// Writes a number as people do: 0.1, not 0.10000000149011612.
[[nodiscard]] boost::json::value write_real(float number);
/// Writes a list of ids.
[[nodiscard]] boost::json::value write_tokens(const std::vector<TokenId>& tokens);

}  // namespace weft::sampling_table
