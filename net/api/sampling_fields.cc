#include "weft/net/api/sampling_fields.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "weft/net/api/field_name.h"
#include "weft/net/api/word_tokens.h"
#include "weft/sampling/defaults.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;
namespace json = boost::json;

constexpr std::int64_t kLeast = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

/// What a field is read into.
struct Reading {
  BodyFields& fields;
  const Tokenizer& tokenizer;
  SamplingParams params{};
  std::optional<bool> beam_search{};
};

using Real = float& (*)(SamplingParams&);
using Count = std::int32_t& (*)(SamplingParams&);
using Flag = bool& (*)(SamplingParams&);
using Tokens = std::vector<TokenId>& (*)(SamplingParams&);
/// A field that is like no other. Without `write` it is not echoed.
struct Special {
  void (*read)(Reading&, std::string_view name);
  json::value (*write)(const SamplingParams&);
};

struct SamplingField {
  std::string_view name;
  std::variant<Real, Count, Flag, Tokens, Special> kind;
  std::string_view own_name = name;  ///< what validate() calls it
};

/// The member of SamplingParams at a path of members.
template <auto... kPath>
constexpr auto at = [](SamplingParams& params) -> auto& { return (params.*....*kPath); };

void read_top_k(Reading& to, std::string_view name) {
  const auto value = to.fields.integer(name, -1, kMost);
  if (value) to.params.top_k = static_cast<std::int32_t>(std::max<std::int64_t>(*value, 0));
}

void read_seed(Reading& to, std::string_view name) {
  constexpr auto kWhole = std::numeric_limits<std::int64_t>();
  const auto value = to.fields.integer(name, kWhole.min(), kWhole.max());
  if (value) to.params.seed = static_cast<std::uint64_t>(*value);
}

json::value write_seed(const SamplingParams& params) {
  if (!params.seed) return nullptr;
  return static_cast<std::int64_t>(*params.seed);
}

void read_early_stopping(Reading& to, std::string_view name) {
  const auto value = to.fields.any(name);
  if (!value) return;
  bool at_once = false;
  std::string_view word;
  if (value->get(at_once) == simdjson::SUCCESS) {
    to.params.beams.early_stopping = at_once ? EarlyStopping::kYes : EarlyStopping::kNo;
  } else if (value->get(word) == simdjson::SUCCESS && word == "never") {
    to.params.beams.early_stopping = EarlyStopping::kNever;
  } else {
    to.fields.fail(name, R"(must be true, false or "never")", api_code::kInvalidType);
  }
}

json::value write_early_stopping(const SamplingParams& params) {
  if (params.beams.early_stopping == EarlyStopping::kNever) return "never";
  return params.beams.early_stopping == EarlyStopping::kYes;
}

void read_beam_search(Reading& to, std::string_view name) { to.beam_search = to.fields.flag(name); }

json::value write_beam_search(const SamplingParams& params) { return params.beams.num_beams > 1; }

/// Nothing when the key is no whole number.
std::optional<TokenId> token_of(std::string_view key) {
  TokenId id = kNoToken;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
  if (error != std::errc() || end != key.data() + key.size()) return std::nullopt;
  return id;
}

void read_logit_bias(Reading& to, std::string_view name) {
  const auto object = to.fields.object(name);
  if (!object) return;
  for (const dom::key_value_pair entry : *object) {
    const auto id = token_of(entry.key);
    double bias = 0;
    if (!id) return to.fields.fail(name, shown(entry.key) + " is no token id");
    if (entry.value.get(bias) != simdjson::SUCCESS) {
      return to.fields.fail(name, "the bias of token " + std::to_string(*id) + " must be a number",
                            api_code::kInvalidType);
    }
    // Far outside of what is allowed float's range ends.
    to.params.logit_bias.push_back({*id, static_cast<float>(std::clamp(bias, -1e30, 1e30))});
    if (to.params.logit_bias.size() > defaults::kMaxTokenList) break;  // refused by its length
  }
}

json::value write_logit_bias(const SamplingParams& params) {
  json::object biases;
  for (const auto& [token, bias] : params.logit_bias) biases[std::to_string(token)] = bias;
  return biases;
}

void read_bad_words(Reading& to, std::string_view name) {
  // As many as there may be short lists' entries: each is tokenized.
  take_word_tokens(to.fields, name, to.tokenizer, defaults::kMaxShortTokenList,
                   to.params.bad_tokens);
}

void read_breakers(Reading& to, std::string_view name) {
  take_word_tokens(to.fields, name, to.tokenizer, defaults::kMaxShortTokenList,
                   to.params.dry.breakers);
}

json::value write_tokens(const std::vector<TokenId>& tokens) {
  return json::array(tokens.begin(), tokens.end());
}

json::value write_breakers(const SamplingParams& params) {
  return write_tokens(params.dry.breakers);
}

using P = SamplingParams;

/// The list of all decoding parameters. "dry" and the like of validate()'s conflicts are found as
/// the first row of that family.
constexpr std::array kSamplingFields = std::to_array<SamplingField>({
    {"temperature", Real(at<&P::temperature>)},
    {"top_p", Real(at<&P::top_p>)},
    {"top_k", Special{read_top_k, [](const P& p) { return json::value(p.top_k); }}},
    {"min_p", Real(at<&P::min_p>)},
    {"typical_p", Real(at<&P::typical_p>)},
    {"tfs_z", Real(at<&P::tfs_z>)},
    {"frequency_penalty", Real(at<&P::penalties, &PenaltyParams::frequency>),
     "penalties.frequency"},
    {"presence_penalty", Real(at<&P::penalties, &PenaltyParams::presence>), "penalties.presence"},
    {"repetition_penalty", Real(at<&P::penalties, &PenaltyParams::repetition>),
     "penalties.repetition"},
    {"repetition_window", Count(at<&P::penalties, &PenaltyParams::window>), "penalties.window"},
    {"dry_multiplier", Real(at<&P::dry, &DryParams::multiplier>), "dry.multiplier"},
    {"dry_base", Real(at<&P::dry, &DryParams::base>), "dry.base"},
    {"dry_allowed_length", Count(at<&P::dry, &DryParams::allowed_length>), "dry.allowed_length"},
    {"dry_window", Count(at<&P::dry, &DryParams::window>), "dry.window"},
    {"dry_sequence_breakers", Special{read_breakers, write_breakers}, "dry.breakers"},
    {"mirostat_mode", Count(at<&P::mirostat, &MirostatParams::version>), "mirostat.version"},
    {"mirostat_tau", Real(at<&P::mirostat, &MirostatParams::tau>), "mirostat.tau"},
    {"mirostat_eta", Real(at<&P::mirostat, &MirostatParams::eta>), "mirostat.eta"},
    {"xtc_probability", Real(at<&P::xtc, &XtcParams::probability>), "xtc.probability"},
    {"xtc_threshold", Real(at<&P::xtc, &XtcParams::threshold>), "xtc.threshold"},
    {"dynatemp_range", Real(at<&P::dynamic_temperature, &DynamicTemperatureParams::range>),
     "dynamic_temperature.range"},
    {"dynatemp_exponent", Real(at<&P::dynamic_temperature, &DynamicTemperatureParams::exponent>),
     "dynamic_temperature.exponent"},
    {"fsd_alpha", Real(at<&P::fsd, &FsdParams::alpha>), "fsd.alpha"},
    {"fsd_top_k", Count(at<&P::fsd, &FsdParams::top_k>), "fsd.top_k"},
    {"fsd_max_ngram", Count(at<&P::fsd, &FsdParams::max_ngram>), "fsd.max_ngram"},
    {"fsd_randomized", Flag(at<&P::fsd, &FsdParams::randomized>), "fsd.randomized"},
    {"fsd_random_steps", Count(at<&P::fsd, &FsdParams::random_steps>), "fsd.random_steps"},
    {"num_beams", Count(at<&P::beams, &BeamParams::num_beams>), "beams.num_beams"},
    {"use_beam_search", Special{read_beam_search, write_beam_search}},
    {"length_penalty", Real(at<&P::beams, &BeamParams::length_penalty>), "beams.length_penalty"},
    {"early_stopping", Special{read_early_stopping, write_early_stopping}},
    {"n", Count(at<&P::n>)},
    {"best_of", Count(at<&P::best_of>)},
    {"seed", Special{read_seed, write_seed}},
    {"min_tokens", Count(at<&P::min_tokens>)},
    {"ignore_eos", Flag(at<&P::ignore_eos>)},
    {"stop_token_ids", Tokens(at<&P::stop_tokens>), "stop_tokens"},
    {"bad_token_ids", Tokens(at<&P::bad_tokens>), "bad_tokens"},
    {"bad_words", Special{read_bad_words, nullptr}},
    {"allowed_token_ids", Tokens(at<&P::allowed_tokens>), "allowed_tokens"},
    {"logit_bias", Special{read_logit_bias, write_logit_bias}},
});

constexpr auto kNames = [] {
  std::array<std::string_view, kSamplingFields.size()> names;
  std::ranges::transform(kSamplingFields, names.begin(), &SamplingField::name);
  return names;
}();

/// Reads a field into its place, as its kind wants it.
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
    const auto value = to.fields.integer(name, kLeast, kMost);
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

/// 0.1, not 0.10000000149011612.
double as_written(float number) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  double value = number;
  std::from_chars(text.data(), end, value);
  return value;
}

struct Writer {
  SamplingParams& params;

  json::value operator()(Real place) const { return as_written(place(params)); }
  json::value operator()(Count place) const { return place(params); }
  json::value operator()(Flag place) const { return place(params); }
  json::value operator()(Tokens place) const { return write_tokens(place(params)); }
  json::value operator()(const Special& special) const { return special.write(params); }
};

bool is_echoed(const SamplingField& field) {
  const auto* const special = std::get_if<Special>(&field.kind);
  return special == nullptr || special->write != nullptr;
}

/// vLLM's use_beam_search has best_of or n beams; num_beams says it by itself.
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

/// The name in the API of what validate() calls `own`; itself when there is none.
std::string_view api_name(std::string_view own) {
  const auto row = std::ranges::find(kSamplingFields, own, &SamplingField::own_name);
  if (row != kSamplingFields.end()) return row->name;
  const auto family = std::ranges::find_if(kSamplingFields, [own](const SamplingField& field) {
    return field.own_name.starts_with(own) && field.own_name.substr(own.size()).starts_with('.');
  });
  return family != kSamplingFields.end() ? family->name : own;
}

std::string in_api_names(std::string_view detail) {
  std::string text;
  while (!detail.empty()) {
    const std::string_view word = leading_field(detail);
    text += word.empty() ? detail.substr(0, 1) : api_name(word);
    detail.remove_prefix(std::max<std::size_t>(word.size(), 1));
  }
  return text;
}

}  // namespace

SamplingParams take_sampling(BodyFields& fields, const Tokenizer& tokenizer) {
  Reading to{fields, tokenizer};
  for (const SamplingField& field : kSamplingFields) {
    std::visit(Reader{field.name, to}, field.kind);
  }
  settle_beams(to);
  return std::move(to.params);
}

std::optional<ApiError> check_sampling(const SamplingParams& params, std::size_t vocabulary) {
  const auto valid = validate(params, vocabulary);
  if (valid) return std::nullopt;
  const Error named{valid.error().code, in_api_names(valid.error().detail)};
  ApiError error = api_error_of(named);
  error.param = leading_field(named.detail);
  return error;
}

void echo_sampling(const SamplingParams& params, json::object& out) {
  SamplingParams copy = params;
  for (const SamplingField& field : kSamplingFields) {
    if (is_echoed(field)) out[field.name] = std::visit(Writer{copy}, field.kind);
  }
}

std::span<const std::string_view> sampling_field_names() noexcept { return kNames; }

}  // namespace weft
