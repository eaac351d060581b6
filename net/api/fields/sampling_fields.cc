#include "weft/net/api/fields/sampling_fields.h"

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <variant>

#include "weft/net/api/fields/field_name.h"
#include "weft/net/api/fields/sampling_table.h"
#include "weft/net/api/fields/word_tokens.h"
#include "weft/sampling/defaults.h"

namespace weft {
namespace {

namespace json = boost::json;

using sampling_table::Count;
using sampling_table::Flag;
using sampling_table::OwnRows;
using sampling_table::Reading;
using sampling_table::Real;
using sampling_table::SamplingField;
using sampling_table::Special;
using sampling_table::Tokens;

/// Reads a field into its parameter, according to the parameter's kind.
struct Reader {
  std::string_view name;
  Reading& to;

  void operator()(Real place) const {
    const auto value = to.fields.number(name);
    if (!value) return;
    if (std::abs(*value) > std::numeric_limits<float>::max()) {
      return to.fields.fail(name, "is too large");
    }
    place(to.params) = static_cast<float>(*value);
  }
  void operator()(Count place) const {
    constexpr auto kInt = std::numeric_limits<std::int32_t>();
    const auto value = to.fields.integer(name, kInt.min(), kInt.max());
    if (value) place(to.params) = static_cast<std::int32_t>(*value);
  }
  void operator()(Flag place) const {
    place(to.params) = to.fields.flag(name).value_or(place(to.params));
  }
  void operator()(Tokens place) const {
    take_token_ids(to.fields, name, defaults::kMaxTokenList, place(to.params));
  }
  void operator()(const Special& special) const { special.read(to, name); }
};

struct Writer {
  SamplingParams& params;

  json::value operator()(Real place) const { return sampling_table::write_real(place(params)); }
  json::value operator()(Count place) const { return place(params); }
  json::value operator()(Flag place) const { return place(params); }
  json::value operator()(Tokens place) const { return sampling_table::write_tokens(place(params)); }
  json::value operator()(const Special& special) const { return special.write(params); }
};

bool is_echoed(const SamplingField& field) {
  const auto* const special = std::get_if<Special>(&field.kind);
  return special == nullptr || special->write != nullptr;
}

/// vLLM's use_beam_search takes the number of beams from best_of or n; num_beams gives the number
/// directly.
void settle_beams(Reading& to) {
  SamplingParams& params = to.params;
  std::int32_t& beams = params.beams.num_beams;
  if (!to.beam_search) return;
  if (!*to.beam_search) {
    if (beams > 1) to.fields.fail("use_beam_search", "is false, and num_beams above 1");
    return;
  }
  if (beams <= 1) {
    beams = params.best_of > 0 ? params.best_of : params.n;
    params.best_of = 0;
  }
  if (beams <= 1) to.fields.fail("use_beam_search", "wants num_beams, best_of or n above 1");
}

/// Puts neutral values in the place of defaults that a beam search does not allow.
void drop_drawing(const SamplingParams& defaults, SamplingParams& params) {
  const SamplingParams plain;
  if (params.temperature == defaults.temperature) params.temperature = plain.temperature;
  if (params.top_k == defaults.top_k) params.top_k = plain.top_k;
  if (params.top_p == defaults.top_p) params.top_p = plain.top_p;
  if (params.min_p == defaults.min_p) params.min_p = plain.min_p;
}

/// Returns the API's name of the parameter that validate() calls `name`; without one, `name`.
std::string_view api_name(std::string_view name, OwnRows own) {
  if (name == "guess_acceptance") return "speculation.accept";
  const auto table = sampling_table::all();
  const auto row = std::ranges::find(table, name, &SamplingField::own_name);
  if (row != table.end()) return row_for(*row, own).name;
  const auto family = std::ranges::find_if(table, [name](const SamplingField& field) {
    return field.own_name.starts_with(name) && field.own_name.substr(name.size()).starts_with('.');
  });
  return family != table.end() ? row_for(*family, own).name : name;
}

std::string in_api_names(std::string_view detail, OwnRows own) {
  std::string text;
  while (!detail.empty()) {
    const std::string_view word = leading_field(detail);
    text += word.empty() ? detail.substr(0, 1) : api_name(word, own);
    detail.remove_prefix(std::max<std::size_t>(word.size(), 1));
  }
  return text;
}

}  // namespace

SamplingParams take_sampling(BodyFields& fields, const Tokenizer& tokenizer,
                             const SamplingParams& defaults, OwnRows own) {
  Reading to{fields, tokenizer, defaults};
  for (const SamplingField& shared : sampling_table::all()) {
    const SamplingField& field = row_for(shared, own);
    std::visit(Reader{field.name, to}, field.kind);
  }
  settle_beams(to);
  if (to.params.beams.num_beams > 1) drop_drawing(defaults, to.params);
  return std::move(to.params);
}

void take_logprobs(const BodyFields& fields, SamplingParams& sampling) {
  sampling.logprobs = fields.flag("logprobs").value_or(false);
  const auto top = fields.integer("top_logprobs", 0, defaults::kMaxUserTopLogprobs).value_or(0);
  sampling.top_logprobs = static_cast<std::int32_t>(top);
  if (top > 0 && !sampling.logprobs) fields.fail("top_logprobs", "wants logprobs true");
}

std::optional<ApiError> check_sampling(const SamplingParams& params, std::size_t vocabulary,
                                       OwnRows own) {
  const auto valid = validate(params, vocabulary);
  if (valid) return std::nullopt;
  const Error named{valid.error().code, in_api_names(valid.error().detail, own)};
  ApiError error = api_error_of(named);
  error.param = leading_field(named.detail);
  return error;
}

void echo_sampling(const SamplingParams& params, json::object& out) {
  SamplingParams copy = params;
  for (const SamplingField& field : sampling_table::all()) {
    if (is_echoed(field)) out[field.name] = std::visit(Writer{copy}, field.kind);
  }
}

std::span<const std::string_view> sampling_field_names() noexcept {
  static const auto names_of_table = [] {
    std::array<std::string_view, sampling_table::kFields> names;
    std::ranges::transform(sampling_table::all(), names.begin(), &SamplingField::name);
    return names;
  }();
  return names_of_table;
}

}  // namespace weft
