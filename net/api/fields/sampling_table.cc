#include "weft/net/api/fields/sampling_table.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>
#include <limits>
#include <string>

#include "weft/net/api/fields/word_tokens.h"
#include "weft/sampling/defaults.h"

namespace weft::sampling_table {
namespace {

namespace dom = simdjson::dom;
namespace json = boost::json;

/// Returns the member of SamplingParams at a path of members.
template <auto... kPath>
constexpr auto kAt = [](SamplingParams& params) -> auto& { return (params.*....*kPath); };

void read_top_k(Reading& to, std::string_view name) {
  const auto value = to.fields.integer(name, -1, std::numeric_limits<std::int32_t>::max());
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

/// Returns nothing when the key is not a whole number in its usual form: "05" would be a second
/// name of "5".
std::optional<TokenId> token_of(std::string_view key) {
  TokenId id = kNoToken;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
  if (error != std::errc() || std::to_string(id) != key) return std::nullopt;
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
    // The clamped range is far beyond the allowed one, and within float's.
    to.params.logit_bias.push_back({*id, static_cast<float>(std::clamp(bias, -1e30, 1e30))});
    // a later check refuses so many
    if (to.params.logit_bias.size() > defaults::kMaxTokenList) break;
  }
}

json::value write_logit_bias(const SamplingParams& params) {
  json::object biases;
  for (const auto& [token, bias] : params.logit_bias) {
    biases[std::to_string(token)] = write_real(bias);
  }
  return biases;
}

void read_bad_words(Reading& to, std::string_view name) {
  // The bound on words is that of a short list's entries, because each word is tokenized.
  take_word_tokens(to.fields, name, to.tokenizer, defaults::kMaxShortTokenList,
                   to.params.bad_tokens);
}

void read_breakers(Reading& to, std::string_view name) {
  take_word_tokens(to.fields, name, to.tokenizer, defaults::kMaxShortTokenList,
                   to.params.dry.breakers);
}

json::value write_breakers(const SamplingParams& params) {
  return write_tokens(params.dry.breakers);
}

using P = SamplingParams;

/// The list of all decoding parameters. validate() names a family such as "dry" in a conflict,
/// which is found as the family's first row.
constexpr std::array kSamplingFields = std::to_array<SamplingField>({
    {"temperature", Real(kAt<&P::temperature>)},
    {"top_p", Real(kAt<&P::top_p>)},
    {"top_k", Special{read_top_k, [](const P& p) { return json::value(p.top_k); }}},
    {"min_p", Real(kAt<&P::min_p>)},
    {"typical_p", Real(kAt<&P::typical_p>)},
    {"tfs_z", Real(kAt<&P::tfs_z>)},
    {"frequency_penalty", Real(kAt<&P::penalties, &PenaltyParams::frequency>),
     "penalties.frequency"},
    {"presence_penalty", Real(kAt<&P::penalties, &PenaltyParams::presence>), "penalties.presence"},
    {"repetition_penalty", Real(kAt<&P::penalties, &PenaltyParams::repetition>),
     "penalties.repetition"},
    {"repetition_window", Count(kAt<&P::penalties, &PenaltyParams::window>), "penalties.window"},
    {"dry_multiplier", Real(kAt<&P::dry, &DryParams::multiplier>), "dry.multiplier"},
    {"dry_base", Real(kAt<&P::dry, &DryParams::base>), "dry.base"},
    {"dry_allowed_length", Count(kAt<&P::dry, &DryParams::allowed_length>), "dry.allowed_length"},
    {"dry_window", Count(kAt<&P::dry, &DryParams::window>), "dry.window"},
    {"dry_sequence_breakers", Special{read_breakers, write_breakers}, "dry.breakers"},
    {"mirostat_mode", Count(kAt<&P::mirostat, &MirostatParams::version>), "mirostat.version"},
    {"mirostat_tau", Real(kAt<&P::mirostat, &MirostatParams::tau>), "mirostat.tau"},
    {"mirostat_eta", Real(kAt<&P::mirostat, &MirostatParams::eta>), "mirostat.eta"},
    {"xtc_probability", Real(kAt<&P::xtc, &XtcParams::probability>), "xtc.probability"},
    {"xtc_threshold", Real(kAt<&P::xtc, &XtcParams::threshold>), "xtc.threshold"},
    {"dynatemp_range", Real(kAt<&P::dynamic_temperature, &DynamicTemperatureParams::range>),
     "dynamic_temperature.range"},
    {"dynatemp_exponent", Real(kAt<&P::dynamic_temperature, &DynamicTemperatureParams::exponent>),
     "dynamic_temperature.exponent"},
    {"fsd_alpha", Real(kAt<&P::fsd, &FsdParams::alpha>), "fsd.alpha"},
    {"fsd_top_k", Count(kAt<&P::fsd, &FsdParams::top_k>), "fsd.top_k"},
    {"fsd_max_ngram", Count(kAt<&P::fsd, &FsdParams::max_ngram>), "fsd.max_ngram"},
    {"fsd_randomized", Flag(kAt<&P::fsd, &FsdParams::randomized>), "fsd.randomized"},
    {"fsd_random_steps", Count(kAt<&P::fsd, &FsdParams::random_steps>), "fsd.random_steps"},
    {"num_beams", Count(kAt<&P::beams, &BeamParams::num_beams>), "beams.num_beams"},
    {"use_beam_search", Special{read_beam_search, write_beam_search}},
    {"length_penalty", Real(kAt<&P::beams, &BeamParams::length_penalty>), "beams.length_penalty"},
    {"early_stopping", Special{read_early_stopping, write_early_stopping}},
    {"n", Count(kAt<&P::n>)},
    {"best_of", Count(kAt<&P::best_of>)},
    {"seed", Special{read_seed, write_seed}},
    {"min_tokens", Count(kAt<&P::min_tokens>)},
    {"ignore_eos", Flag(kAt<&P::ignore_eos>)},
    {"stop_token_ids", Tokens(kAt<&P::stop_tokens>), "stop_tokens"},
    {"bad_token_ids", Tokens(kAt<&P::bad_tokens>), "bad_tokens"},
    {"bad_words", Special{read_bad_words, nullptr}},
    {"allowed_token_ids", Tokens(kAt<&P::allowed_tokens>), "allowed_tokens"},
    {"logit_bias", Special{read_logit_bias, write_logit_bias}},
});

static_assert(kSamplingFields.size() == kFields);

}  // namespace

std::span<const SamplingField> all() noexcept { return kSamplingFields; }

const SamplingField& row_for(const SamplingField& field, OwnRows own) noexcept {
  const auto row = std::ranges::find(own, field.own_name, &SamplingField::own_name);
  return row == own.end() ? field : *row;
}

json::value write_real(float number) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  double value = number;
  std::from_chars(text.data(), end, value);
  return value;
}

json::value write_tokens(const std::vector<TokenId>& tokens) {
  return json::array(tokens.begin(), tokens.end());
}

}  // namespace weft::sampling_table
