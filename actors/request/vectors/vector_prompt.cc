#include "weft/actors/request/vectors/vector_prompt.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/defaults.h"
#include "weft/actors/engine_error.h"
#include "weft/actors/request/prompt/prompt_parts.h"
#include "weft/actors/request/request_text.h"
#include "weft/actors/request/vectors/mask_reader.h"
#include "weft/actors/request/vectors/vector_reader.h"
#include "weft/model/vectors/vector_model.h"
#include "weft/text/output/stop_strings.h"
#include "weft/text/text_error.h"
#include "weft/text/tokenizer/text_pair.h"

namespace weft {
namespace {

bool fills_masks(const VectorWish& wish) { return wish.kind == VectorWish::Kind::kMaskFills; }

Result<void> check_mask_wish(const VectorWish& wish, const ServedModel& model) {
  if (!model.vector_facts.mask_fills) {
    return bad_request("model: is no masked language model, or its tokenizer names no mask token");
  }
  if (wish.top_k < 1 || wish.top_k > defaults::kMaxMaskFills) {
    return bad_request("top_k: " + std::to_string(wish.top_k) + " is not in 1 .. " +
                       std::to_string(defaults::kMaxMaskFills));
  }
  if (!wish.second_text.empty()) return bad_request("second_text: not with mask tokens");
  if (wish.cut_at != 0 || wish.text_tokens != 0) {
    return bad_request("cut_at: a prompt with mask tokens is not cut");
  }
  return {};
}

/// Checks that this model gives the requested vector.
Result<void> check_wish(const Request& request, const ServedModel& model) {
  const VectorWish& wish = *request.vector;
  if (request.prompt_logprobs) {
    return bad_request("prompt_logprobs: not with a vector, for which no token is predicted");
  }
  if (model.vectors == nullptr) {
    return bad_request("model: gives no vectors, as it has an encoder and a decoder");
  }
  const bool scores = wish.kind == VectorWish::Kind::kScores;
  if (scores && !model.vectors->scores) {
    return bad_request(
        "model: gives no scores, as it is no classifier (its architecture is none for sequence "
        "classification)");
  }
  if (fills_masks(wish)) {
    const auto possible = check_mask_wish(wish, model);
    if (!possible) return possible;
  }
  if (!scores && model.vectors->scores) {
    return bad_request("model: is a classifier, which gives scores and no embeddings");
  }
  if (wish.dimensions < 0 || wish.dimensions > model.vectors->size()) {
    return bad_request("dimensions: " + std::to_string(wish.dimensions) +
                       " is more than the model's " + std::to_string(model.vectors->size()));
  }
  if (wish.cut_at < VectorWish::kAsLong) {
    return bad_request("cut_at: " + std::to_string(wish.cut_at));
  }
  if (wish.text_tokens < 0) {
    return bad_request("text_tokens: " + std::to_string(wish.text_tokens));
  }
  if (!request.messages.empty()) return bad_request("messages: a vector is of a prompt");
  if (!wish.second_text.empty() && !request.prompt_tokens.empty()) {
    return bad_request("prompt_tokens: with second_text both are texts");
  }
  if (request.activation_reader) {
    return bad_request("activation_reader: not with a vector, which reads by itself");
  }
  return {};
}

Error input_too_long(std::size_t most, const std::string& why) {
  return {EngineErrc::kContextLengthExceeded, "This model takes inputs of " + std::to_string(most) +
                                                  " tokens. However, your input has " + why +
                                                  ". Please reduce its length, or have it cut."};
}

/// Returns the most tokens of an input, including tokens that the tokenizer adds.
std::size_t most_tokens(const ServedModel& model) {
  const std::int64_t said = model.vectors->max_tokens;
  return static_cast<std::size_t>(said > 0 ? std::min(said, model.context) : model.context);
}

struct PromptInput {
  std::vector<TokenId> ids;
  std::int32_t second_text = 0;
};

Result<void> add_text(const Request& request, const ServedModel& model, std::size_t most,
                      PromptInput& input) {
  const VectorWish& wish = *request.vector;
  const bool cuts = wish.cut_at != 0;
  constexpr auto kAll = std::numeric_limits<std::size_t>::max();
  const std::size_t own = wish.text_tokens > 0 ? static_cast<std::size_t>(wish.text_tokens) : kAll;
  if (!wish.second_text.empty()) {
    const auto second = encode_pair(
        model.tokenizer, {request.prompt, wish.second_text},
        {.tokens = most, .cuts = cuts, .second = own, .cut_begin = wish.cut_begin}, input.ids);
    if (!second) return second.error();
    input.second_text = *second;
    return {};
  }
  if (cuts || own < kAll) {
    return encode_cut(model.tokenizer, request.prompt,
                      {.tokens = cuts ? most : kAll, .own = own, .begin = wish.cut_begin},
                      input.ids);
  }
  // The mask token is a special one.
  return model.tokenizer.encode(
      request.prompt, {.parse_special = fills_masks(wish), .max_tokens = most}, input.ids);
}

/// Cuts a list of token ids that is an input by itself.
void cut_tokens(const VectorWish& wish, std::size_t most, std::vector<TokenId>& ids) {
  if (wish.cut_at == 0 || ids.size() <= most) return;
  if (wish.cut_begin) {
    ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(most));
  } else {
    ids.resize(most);
  }
}

Result<PromptInput> read_input(const Request& request, const ServedModel& model) {
  const VectorWish& wish = *request.vector;
  std::size_t most = most_tokens(model);
  if (wish.cut_at > 0) most = std::min(most, static_cast<std::size_t>(wish.cut_at));
  PromptInput input;
  if (!request.prompt_tokens.empty()) {
    if (!request.prompt.empty()) {
      return bad_request("prompt, prompt_tokens: more than one is given");
    }
    input.ids = request.prompt_tokens;
    cut_tokens(wish, most, input.ids);
  } else if (auto added = add_text(request, model, most, input); !added) {
    const Error& why = added.error();
    if (why.code == TextErrc::kTooManyTokens) return input_too_long(most, why.detail);
    return bad_request("prompt: " + to_string(why));
  }
  if (input.ids.size() > most) {
    return input_too_long(most, std::to_string(input.ids.size()) + " tokens");
  }
  const auto known = check_tokens(input.ids, model);
  if (!known) return known.error();
  return input;
}

Result<std::shared_ptr<ResultReader>> result_reader_of(const VectorWish& wish,
                                                       const ServedModel& model,
                                                       const std::vector<TokenId>& prompt) {
  using Reader = std::shared_ptr<ResultReader>;
  if (!fills_masks(wish)) {
    const auto tokens = static_cast<std::int32_t>(prompt.size());
    return Reader(std::make_shared<VectorReader>(model.vectors, wish, tokens));
  }
  const auto masks = std::ranges::count(prompt, model.tokenizer.mask());
  if (masks == 0) return bad_request("prompt: has no mask token");
  if (masks > defaults::kMaxMasks) {
    return bad_request("prompt: has " + std::to_string(masks) + " mask tokens, more than " +
                       std::to_string(defaults::kMaxMasks));
  }
  if (std::int64_t{masks} * wish.top_k * std::ssize(prompt) > defaults::kMaxFilledTokens) {
    return bad_request("top_k: " + std::to_string(wish.top_k) + " copies of " +
                       std::to_string(prompt.size()) + " tokens for each of " +
                       std::to_string(masks) + " mask tokens are more than " +
                       std::to_string(defaults::kMaxFilledTokens) + " tokens");
  }
  return Reader(std::make_shared<MaskReader>(model.tokenizer, prompt, wish.top_k));
}

}  // namespace

Result<std::unique_ptr<RequestGroup>> prepare_vector_request(
    RequestTicket& ticket, const ServedModel& model,
    const std::shared_ptr<const PreparedAdapter>& adapter) {
  Request& request = ticket->request();
  const auto possible = check_wish(request, model);
  if (!possible) return possible.error();
  auto input = read_input(request, model);
  if (!input) return input.error();
  auto reader = result_reader_of(*request.vector, model, input->ids);
  if (!reader) return reader.error();
  const auto tokens = static_cast<std::int32_t>(input->ids.size());
  GroupSpec spec;
  spec.prompt = std::move(input->ids);
  spec.traits = {.kv = {model.angles_of(tokens)}, .second_text = input->second_text};
  set_adapter(spec, adapter);
  spec.max_tokens = request.max_tokens = 0;
  spec.sampling = std::make_shared<const SamplingParams>();
  spec.reader = *reader;
  const auto scoped = set_cache_domain(spec, request, model);
  if (!scoped) return scoped.error();
  RequestText::Options options{.sequences = 0, .prompt_tokens = tokens};
  options.vector = *std::move(reader);
  auto text = std::make_unique<RequestText>(*ticket, model.tokenizer,
                                            StopStrings::compile({}).value(), options);
  return make_group(std::move(spec), ticket, std::move(text));
}

}  // namespace weft
