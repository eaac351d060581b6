#include "weft/net/api/llama_api.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string_view>
#include <utility>

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
