#include "weft/net/api/llama_api.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "weft/actors/adapters/adapter_registry.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/fields/sampling_table.h"

namespace weft {
namespace {

namespace json = boost::json;

json::value text_or_empty(const Tokenizer& tokenizer, TokenId id) {
  const auto text = tokenizer.token(id);
  return text ? json::value(*text) : json::value("");
}

/// Returns the sampling defaults of requests.
json::object params_of(const ServedModel& model) {
  using sampling_table::write_real;
  const SamplingParams& sampling = model.defaults.sampling;
  const std::int32_t most = model.defaults.max_tokens;
  return {{"temperature", write_real(sampling.temperature)},
          {"top_k", sampling.top_k},
          {"top_p", write_real(sampling.top_p)},
          {"min_p", write_real(sampling.min_p)},
          {"repeat_penalty", write_real(sampling.penalties.repetition)},
          {"n_predict", most > 0 ? most : -1}};
}

/// Returns the adapter that a list of {"id", "scale"} gives the scale 1; empty where all have 0.
std::string named_by(const BodyFields& fields, simdjson::dom::array list, const ModelInfo& card) {
  const auto known =
      card.model->adapters ? card.model->adapters->list() : std::vector<AdapterInfo>();
  std::string name;
  std::size_t place = 0;
  for (const simdjson::dom::element element : list) {
    const BodyFields entry(element.get_object(), indexed(fields.path_of("lora"), place++), fields);
    const std::int64_t id = entry.needed_integer("id", 0, std::numeric_limits<std::int64_t>::max());
    const auto adapter = std::ranges::find(known, id, &AdapterInfo::number);
    if (adapter == known.end()) {
      entry.fail("id", known.empty() ? "names none: the model has no adapters"
                                     : "is none of the ids that GET /lora-adapters lists");
    }
    const double scale = entry.number("scale").value_or(1);
    entry.finish();
    if (fields.error()) return {};
    if (scale == 0) continue;
    if (scale != 1) {
      entry.fail("scale", "must be 0 or 1: adapters have the scale of their files",
                 api_code::kUnsupported);
    }
    if (!name.empty()) {
      fields.fail("lora", "gives more than one adapter a scale", api_code::kUnsupported);
    }
    name = adapter->name;
  }
  return name;
}

}  // namespace

std::string llama_props(const ModelInfo& card, std::size_t slots) {
  const ServedModel& model = *card.model;
  const Tokenizer& tokenizer = model.tokenizer;
  return json_text(
      json::object{{"default_generation_settings",
                    json::object{{"n_ctx", model.context}, {"params", params_of(model)}}},
                   {"total_slots", slots},
                   {"model_alias", card.name},
                   {"model_path", card.name},
                   {"modalities", json::object{{"vision", false}, {"audio", false}}},
                   {"chat_template", tokenizer.chat_template()},
                   {"bos_token", text_or_empty(tokenizer, tokenizer.bos())},
                   {"eos_token", text_or_empty(tokenizer, tokenizer.eos())},
                   {"build_info", "weft-" WEFT_VERSION}});
}

std::string llama_adapters(const ModelInfo& card) {
  const AdapterRegistry* const registry = card.model->adapters.get();
  json::array adapters;
  if (registry == nullptr) return json_text(adapters);
  const std::string standard = registry->standard();
  for (const AdapterInfo& adapter : registry->list()) {
    adapters.push_back(json::object{{"id", adapter.number},
                                    {"path", adapter.name},
                                    {"scale", adapter.name == standard ? 1 : 0}});
  }
  return json_text(adapters);
}

ApiResult<void> choose_llama_adapter(std::string_view text, const ModelInfo& card) {
  // The body is a list, and the parser reads objects.
  const ParsedBody body(std::string(R"({"lora":)").append(text).append("}"));
  if (!body.object()) return body.object().error();
  const BodyFields fields(*body.object());
  const auto list = fields.array("lora");
  if (!list) fields.fail("lora", "is missing", api_code::kMissing);
  const std::string name = list ? named_by(fields, *list, card) : std::string();
  if (auto error = fields.finish()) return *std::move(error);
  if (card.model->adapters == nullptr) return {};
  // The name may have been removed since its id was looked up.
  if (const auto set = card.model->adapters->set_standard(name); !set) {
    return api_error_of(set.error());
  }
  return {};
}

void take_lora(const BodyFields& fields, const ModelInfo& card, Request& request) {
  const AdapterRegistry* const registry = card.model->adapters.get();
  const auto list = fields.array("lora");
  if (!list) {
    if (registry != nullptr && request.adapter.empty()) request.adapter = registry->standard();
    return;
  }
  std::string name = named_by(fields, *list, card);
  if (!card.adapter.empty() && name != card.adapter) {
    return fields.fail("lora", "names another adapter than model does");
  }
  request.adapter = std::move(name);
}

std::string llama_slots(const ModelInfo& card, const std::vector<bool>& busy) {
  json::array slots;
  for (std::size_t i = 0; i < busy.size(); ++i) {
    slots.push_back(json::object{{"id", i},
                                 {"n_ctx", card.model->context},
                                 {"speculative", false},
                                 {"is_processing", static_cast<bool>(busy[i])}});
  }
  return json_text(slots);
}

}  // namespace weft
