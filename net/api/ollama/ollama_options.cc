#include "weft/net/api/ollama/ollama_options.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

#include "weft/actors/request/stream_defaults.h"
#include "weft/net/api/fields/harmless_fields.h"
#include "weft/net/api/fields/request_fields.h"

namespace weft {
namespace {

using sampling_table::Count;
using sampling_table::Reading;
using sampling_table::Real;
using sampling_table::SamplingField;
using sampling_table::Special;

constexpr std::int64_t kMostInt = std::numeric_limits<std::int32_t>::max();

/// In Ollama's option -1 is the whole context and 0 is no penalty; in the table 0 is the whole
/// context.
void read_repeat_last_n(Reading& to, std::string_view name) {
  const auto last = to.fields.integer(name, -1, kMostInt);
  if (!last) return;
  PenaltyParams& penalties = to.params.penalties;
  if (*last == 0) penalties = {};
  penalties.window = static_cast<std::int32_t>(std::max<std::int64_t>(*last, 0));
}

/// -1 is any seed.
void read_ollama_seed(Reading& to, std::string_view name) {
  constexpr auto kWhole = std::numeric_limits<std::int64_t>();
  const auto seed = to.fields.integer(name, kWhole.min(), kWhole.max());
  if (seed && *seed != -1) to.params.seed = static_cast<std::uint64_t>(*seed);
}

/// The fields to which Ollama gives other names. In the table the window follows the penalties, so
/// that it can switch them off.
constexpr std::array kOllamaRows = std::to_array<SamplingField>({
    {"repeat_penalty",
     Real([](SamplingParams& params) -> float& { return params.penalties.repetition; }),
     "penalties.repetition"},
    {"repeat_last_n", Special{read_repeat_last_n, nullptr}, "penalties.window"},
    {"mirostat",
     Count([](SamplingParams& params) -> std::int32_t& { return params.mirostat.version; }),
     "mirostat.version"},
    {"seed", Special{read_ollama_seed, nullptr}},
});
constexpr RequestNames kOllamaNames{.sampling = kOllamaRows};

/// Returns an object without fields, for a body without options.
simdjson::dom::object no_fields() {
  thread_local simdjson::dom::parser parser;
  thread_local const simdjson::dom::object none = parser.parse(std::string_view("{}"));
  return none;
}

}  // namespace

Request take_ollama_options(BodyFields& fields, const ApiContext& context) {
  const auto given = fields.object("options");
  BodyFields options(given ? *given : no_fields(), fields.path_of("options"), fields);
  Request request = take_request(options, context, kOllamaNames);
  // With -1 or -2 only the context bounds the output.
  const auto most = options.integer("num_predict", -2, kMaxStreamTokens).value_or(0);
  request.max_tokens = static_cast<std::int32_t>(std::max<std::int64_t>(most, 0));
  request.clip_max_tokens = true;
  if (request.sampling.n != 1) options.fail("n", "must be 1", api_code::kUnsupported);
  take_harmless_fields(options, FieldPlace::kOllamaOptions);
  check_request(options, request, *context.card.model, 1, kOllamaNames);
  options.finish();
  return request;
}

}  // namespace weft
