#include "weft/actors/request/prompt/prompt.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/actors/request/output_form.h"
#include "weft/actors/request/prompt/prompt_parts.h"
#include "weft/actors/request/prompt/shortened_conversation.h"
#include "weft/actors/request/prompt_logprobs.h"
#include "weft/actors/request/prompt_tokens.h"
#include "weft/actors/request/request_text.h"
#include "weft/actors/request/vectors/vector_prompt.h"
#include "weft/sampling/beam_search.h"
#include "weft/text/output/stop_strings.h"
#include "weft/text/text_error.h"

namespace weft {
namespace {

Error bad_field(const char* field, const Error& error) {
  return bad_request(std::string(field) + ": " + to_string(error));
}

// The message has the words of other servers, for which clients search.
Error context_exceeded(const ServedModel& model, const std::string& why) {
  return {EngineErrc::kContextLengthExceeded, "This model's maximum context length is " +
                                                  std::to_string(model.context) +
                                                  " tokens. However, " + why};
}

const char* prompt_of(const Request& request) {
  return request.messages.empty() ? "prompt" : "messages";
}

// `why` says how many tokens there are at least.
Error too_many_tokens(const Request& request, const ServedModel& model, const Error& why) {
  const std::string said = prompt_of(request);
  return context_exceeded(model, "your " + said + " resulted in " + why.detail +
                                     ". Please reduce the length of the " + said + ".");
}

// A text may have megabytes: it is tokenized only until it is known not to fit.
std::size_t max_prompt_tokens(const ServedModel& model) {
  return static_cast<std::size_t>(std::max<std::int64_t>(model.context, 0));
}

Result<std::vector<TokenId>> conversation_tokens(const Request& request, const ServedModel& model,
                                                 std::chrono::local_seconds now) {
  Conversation conversation{.messages = request.messages,
                            .tools = request.tools,
                            .chat_template_kwargs = request.chat_template_kwargs,
                            .add_generation_prompt = request.add_generation_prompt,
                            .continue_final_message = request.continue_final_message};
  const std::size_t shortened = shortened_prompt(request, model);
  auto ids = request.drop_oldest_messages && shortened > 0
                 ? shortened_tokens(model.chat, std::move(conversation), now, shortened)
                 : model.chat.encode(std::move(conversation), now, max_prompt_tokens(model));
  if (ids) return ids;
  if (ids.error().code == TextErrc::kTooManyTokens) {
    return too_many_tokens(request, model, ids.error());
  }
  return bad_request(to_string(ids.error()));
}

// A user's text never contains special tokens: only BOS and the like are added around it.
Result<std::vector<TokenId>> text_tokens(const Request& request, const ServedModel& model) {
  std::vector<TokenId> ids;
  const auto encoded =
      model.tokenizer.encode(request.prompt, {.max_tokens = max_prompt_tokens(model)}, ids);
  if (encoded) return ids;
  if (encoded.error().code == TextErrc::kTooManyTokens) {
    return too_many_tokens(request, model, encoded.error());
  }
  return bad_field("prompt", encoded.error());
}

// Templates read fields of every entry, so every entry must be an object.
Result<void> check_objects(const std::string& field, const boost::json::array& list) {
  const auto* const other = std::ranges::find_if_not(list, &boost::json::value::is_object);
  if (other == list.end()) return {};
  return bad_request(field + "[" + std::to_string(other - list.begin()) + "]: is no JSON object");
}

Result<void> check_lists(const Request& request) {
  if (const auto messages = check_objects("messages", request.messages); !messages) {
    return messages;
  }
  if (request.tools.is_null()) return {};
  const boost::json::array* const tools = request.tools.if_array();
  if (tools == nullptr) return bad_request("tools: is no JSON array");
  return check_objects("tools", *tools);
}

// Returns the prompt's tokens: of a text with the tokenizer's BOS and the like, of given tokens
// unchanged, or of a conversation.
Result<std::vector<TokenId>> prompt_tokens(const Request& request, const ServedModel& model,
                                           std::chrono::local_seconds now) {
  const int given = (request.prompt.empty() ? 0 : 1) + (request.prompt_tokens.empty() ? 0 : 1) +
                    (request.messages.empty() ? 0 : 1);
  if (given > 1) return bad_request("prompt, prompt_tokens, messages: more than one is given");
  if (const auto lists = check_lists(request); !lists) return lists.error();
  if (!request.messages.empty()) return conversation_tokens(request, model, now);
  if (!request.prompt_tokens.empty()) return request.prompt_tokens;
  return text_tokens(request, model);
}

// Returns the parameters for the device: ranking needs logprobs even if the caller does not.
SamplingParams for_device(const SamplingParams& sampling, std::size_t ends) {
  SamplingParams device = sampling;
  if (sampling.beams.num_beams > 1) {
    device.logprobs = true;
    device.top_logprobs = beam_candidates(sampling.beams.num_beams, ends);
  } else if (sampling.best_of > sampling.n) {
    device.logprobs = true;
  }
  return device;
}

// In the words of OpenAI's API, which tell clients to shorten a conversation.
Error too_long(const Request& request, const ServedModel& model, std::size_t prompt) {
  const std::string said = prompt_of(request);
  if (request.max_tokens <= 0 || request.clip_max_tokens) {
    return context_exceeded(model, "your " + said + " resulted in " + std::to_string(prompt) +
                                       " tokens. Please reduce the length of the " + said + ".");
  }
  const auto whole = static_cast<std::int64_t>(prompt) + request.max_tokens;
  return context_exceeded(model, "you requested " + std::to_string(whole) + " tokens (" +
                                     std::to_string(prompt) + " in the " + said + ", " +
                                     std::to_string(request.max_tokens) +
                                     " in the completion). Please reduce the length of the " +
                                     said + " or completion.");
}

Result<std::int32_t> output_bound(const Request& request, const ServedModel& model,
                                  std::size_t prompt) {
  const std::int64_t room = model.context - static_cast<std::int64_t>(prompt);
  if (request.max_tokens < 0)
    return bad_request("max_tokens: " + std::to_string(request.max_tokens));
  const bool fits = request.max_tokens <= room || request.clip_max_tokens;
  if (room < 1 || !fits) return too_long(request, model, prompt);
  if (request.max_tokens > 0) {
    return static_cast<std::int32_t>(std::min<std::int64_t>(request.max_tokens, room));
  }
  const std::int64_t most = model.defaults.max_tokens > 0 ? model.defaults.max_tokens : room;
  return static_cast<std::int32_t>(std::min<std::int64_t>(most, room));
}

Result<void> check_forced(TokenId token, const ServedModel& model) {
  if (token == kNoToken) return {};
  const std::string field = "forced_bos_token_id: " + std::to_string(token);
  if (!model.has_encoder) return bad_request(field + " is for models with an encoder");
  if (token < 0 || token >= model.vocabulary)
    return bad_request(field + " is not in the vocabulary of " + std::to_string(model.vocabulary));
  return {};
}

// Returns the request's reader of activations, and gives it the prompt.
Result<std::shared_ptr<ActivationReader>> reader_of(const Request& request, const GroupSpec& spec,
                                                    const ServedModel& model) {
  std::shared_ptr<ActivationReader> reader = request.activation_reader;
  if (request.prompt_logprobs) {
    if (reader) return bad_request("prompt_logprobs: not with an activation_reader");
    if (model.has_encoder) {
      return bad_request(
          "prompt_logprobs: the model's encoder reads the prompt, and predicts none "
          "of its tokens");
    }
    if (!request.prompt_logprobs->takes(spec.prompt.size())) {
      return bad_request("prompt_logprobs: " + std::to_string(spec.prompt.size()) +
                         " tokens with " + std::to_string(request.prompt_logprobs->top_count()) +
                         " others each are more than " +
                         std::to_string(request.prompt_logprobs->most()) + " logprobs");
    }
    request.prompt_logprobs->begin(spec.prompt);
    reader = request.prompt_logprobs;
  }
  const auto prompt = static_cast<std::int32_t>(spec.prompt.size());
  if (reader && spec.sequences > 1 && reader->end_position() > prompt) {
    return bad_request("activation_reader: reads one sequence, and the request asks for " +
                       std::to_string(spec.sequences));
  }
  return reader;
}

// Fills in everything but the prompt, which is already set.
Result<void> complete(GroupSpec& spec, Request& request, const ServedModel& model,
                      std::uint64_t seed) {
  const auto bound = output_bound(request, model, spec.prompt.size());
  if (!bound) return bound.error();
  const SamplingParams& sampling = request.sampling;
  spec.max_tokens = request.max_tokens = *bound;
  spec.sequences = sampling.beams.num_beams > 1 ? sampling.beams.num_beams
                                                : std::max(sampling.n, sampling.best_of);
  auto reader = reader_of(request, spec, model);
  if (!reader) return reader.error();
  const auto scoped = set_cache_domain(spec, request, model);
  if (!scoped) return scoped.error();
  const auto guesses = set_guesses(spec, request, model);
  if (!guesses) return guesses.error();
  spec.reader = *std::move(reader);
  spec.seed = sampling.seed.value_or(seed);
  spec.end_tokens = end_tokens_of(sampling, model);
  spec.sampling =
      std::make_shared<const SamplingParams>(for_device(sampling, spec.end_tokens.size()));
  const auto whole = static_cast<std::int64_t>(spec.prompt.size()) + spec.max_tokens;
  spec.traits.kv.angles = model.angles_of(whole);
  return {};
}

RequestText::Options text_options(const Request& request, const GroupSpec& spec,
                                  std::size_t prompt) {
  const SamplingParams& sampling = request.sampling;
  RequestText::Options options;
  options.sequences = spec.sequences;
  options.ranked = spec.beams() || spec.sequences > sampling.n;
  options.prompt_tokens = static_cast<std::int32_t>(prompt);
  options.logprobs = sampling.logprobs;
  options.top_logprobs = sampling.top_logprobs;
  return options;
}

}  // namespace

Result<void> check_prompt_length(const Request& request, const ServedModel& model) {
  if (request.vector || !model.generates) return {};
  const std::size_t most = max_prompt_tokens(model);
  if (request.prompt_tokens.size() > most) {
    return too_long(request, model, request.prompt_tokens.size());
  }
  const auto longest = model.tokenizer.bytes_per_token(/*parse_special=*/false);
  if (!longest) return {};
  const std::size_t least = (request.prompt.size() + *longest - 1) / *longest;
  if (least <= most) return {};
  return too_many_tokens(request, model, weft::too_many_tokens(least));
}

Result<std::unique_ptr<RequestGroup>> prepare_request(
    RequestTicket& ticket, const ServedModel& model, std::chrono::local_seconds now,
    std::uint64_t seed, const std::shared_ptr<const PreparedAdapter>& adapter) {
  Request& request = ticket->request();
  if (request.vector) return prepare_vector_request(ticket, model, adapter);
  if (!model.generates) {
    return bad_request("model: gives vectors and no text: see /v1/embeddings, or async_embed()");
  }
  const auto valid =
      validate(request.sampling, static_cast<std::size_t>(model.vocabulary), model.end_tokens);
  if (!valid) return bad_field("sampling", valid.error());
  if (!request.stop.empty() && !model.tokenizer.exists()) {
    return bad_field("stop", no_tokenizer());
  }
  auto stops = StopStrings::compile(request.stop);
  if (!stops) return bad_field("stop", stops.error());
  auto ids = prompt_tokens(request, model, now);
  if (!ids) return ids.error();
  const auto known = check_tokens(*ids, model);
  if (!known) return known.error();
  if (request.prompt_ids) request.prompt_ids->set(*ids);
  const auto form = constrain_output(request, *ids, model);
  if (!form) return form.error();
  if (form->not_enforced) ticket->let_pass(form->not_enforced);
  const std::size_t prompt = ids->size();
  const auto forced = check_forced(request.forced_bos, model);
  if (!forced) return forced.error();

  GroupSpec spec;
  spec.prompt = std::move(*ids);
  if (model.has_encoder) {
    spec.encoder_input = std::exchange(spec.prompt, {std::max<TokenId>(model.start_token, 0)});
    const TokenId first =
        request.forced_bos == kNoToken ? model.defaults.forced_bos : request.forced_bos;
    if (first != kNoToken) spec.prompt.push_back(first);
    if (std::cmp_greater(prompt, model.context)) {
      return too_long(request, model, prompt);
    }
  }
  const auto completed = complete(spec, request, model, seed);
  if (!completed) return completed.error();
  set_adapter(spec, adapter);
  auto options = text_options(request, spec, prompt);
  options.format = form->format;
  options.parser = form->parser;
  auto text = std::make_unique<RequestText>(*ticket, model.tokenizer, std::move(*stops), options);
  // Nothing reads these any more. Thousands of values take milliseconds to destroy: not on the
  // thread that ends the request, where the texts of other requests wait.
  request.messages = boost::json::array();
  request.chat_template_kwargs = boost::json::object();
  request.tools = nullptr;
  request.speculation.prediction = {};
  return make_group(std::move(spec), ticket, std::move(text));
}

}  // namespace weft
