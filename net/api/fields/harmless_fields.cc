#include "weft/net/api/fields/harmless_fields.h"

#include <array>
#include <string>

namespace weft {
namespace {

namespace dom = simdjson::dom;

/// Makes the table, a row for each field. The short names of places serve its rows alone.
consteval auto make_harmless_fields() {
  using enum FieldPlace;
  return std::to_array<HarmlessField>({
      {kRequest, "user", Harmless::kAnything, "OpenAI's clients: who asks"},
      {kRequest, "metadata", Harmless::kAnything, "OpenAI's clients: labels of a kept answer"},
      {kRequest, "store", Harmless::kAnything, "OpenAI's clients: whether OpenAI keeps the answer"},
      {kRequest, "safety_identifier", Harmless::kAnything, "OpenAI's clients: who asks"},
      {kRequest, "prompt_cache_key", Harmless::kAnything,
       "OpenAI's clients, Codex: a cache's place"},
      {kRequest, "prompt_cache_retention", Harmless::kAnything, "OpenAI's clients: a cache's time"},
      {kRequest, "request_id", Harmless::kAnything, "vLLM's clients: a name in its log"},
      {kRequest, "cache_prompt", Harmless::kFlag,
       "llama.cpp's clients: whether a prompt is cached"},
      {kCompletion, "spaces_between_special_tokens", Harmless::kTrue,
       "vLLM's clients: its default"},
      {kCompletion, "verbosity", Harmless::kVerbosity,
       "OpenAI's clients: a wish that only OpenAI's models know"},
      {kCompletion, "web_search_options", Harmless::kEmptyObject,
       "OpenAI's clients: a search that asks for nothing"},
      {kResponse, "stream_options", Harmless::kAnything, "OpenAI's clients: padding of events"},
      {kResponse, "client_metadata", Harmless::kAnything, "Codex: about itself"},
      {kResponse, "context_management", Harmless::kEmptyList, "OpenAI's clients: no compaction"},
      {kMessages, "cache_control", Harmless::kAnything,
       "Anthropic's clients: a cache's end, of the whole body"},
      {kMessages, "diagnostics", Harmless::kAnything,
       "Anthropic's clients: what a cache has missed"},
      {kMessages, "inference_geo", Harmless::kAnything,
       "Anthropic's clients: where it is computed"},
      {kMessages, "mcp_servers", Harmless::kEmptyList, "Anthropic's clients: no servers of tools"},
      {kMessages, "speed", Harmless::kAnything, "Anthropic's clients: how fast it is computed"},
      {kMessages, "user_profile_id", Harmless::kAnything, "Anthropic's clients: who asks"},
      {kMessages, "workspace_id", Harmless::kAnything, "Anthropic's clients: who asks"},
      {kOutputConfig, "task_budget", Harmless::kAnything,
       "Anthropic's clients: a wish that only their models know"},
      {kOllama, "keep_alive", Harmless::kAnything,
       "Ollama's clients: how long the model stays loaded, which is the server's to say"},
      {kOllama, "shift", Harmless::kFlag,
       "Ollama's clients: drops what is old when the context is full, where outputs end here"},
      {kOllama, "images", Harmless::kEmptyList, "Ollama's clients: no pictures"},
      {kOllama, "suffix", Harmless::kEmptyText, "Ollama's clients: nothing behind the output"},
      {kOllama, "template", Harmless::kEmptyText, "Ollama's clients: the model's own"},
      {kOllama, "context", Harmless::kEmptyList, "Ollama's clients: nothing was said before"},
      {kOllamaMessage, "images", Harmless::kEmptyList, "Ollama's clients: no pictures"},
      {kOllamaOptions, "num_ctx", Harmless::kAnything,
       "Ollama's clients: the context, which is the server's"},
      {kOllamaOptions, "num_keep", Harmless::kAnything,
       "Ollama's clients: what stays when the context is full"},
      {kOllamaOptions, "num_batch", Harmless::kAnything, "Ollama's clients: how it is computed"},
      {kOllamaOptions, "num_gpu", Harmless::kAnything, "Ollama's clients: where it is computed"},
      {kOllamaOptions, "main_gpu", Harmless::kAnything, "Ollama's clients: where it is computed"},
      {kOllamaOptions, "num_thread", Harmless::kAnything, "Ollama's clients: how it is computed"},
      {kOllamaOptions, "numa", Harmless::kAnything, "Ollama's clients: where it is computed"},
      {kOllamaOptions, "low_vram", Harmless::kAnything, "Ollama's clients: how it is computed"},
      {kOllamaOptions, "f16_kv", Harmless::kAnything, "Ollama's clients: how it is computed"},
      {kOllamaOptions, "use_mmap", Harmless::kAnything, "Ollama's clients: how a file is read"},
      {kOllamaOptions, "use_mlock", Harmless::kAnything, "Ollama's clients: how a file is read"},
      {kOllamaOptions, "logits_all", Harmless::kAnything, "Ollama's clients: what is computed"},
      {kOllamaOptions, "vocab_only", Harmless::kFalse, "Ollama's clients: its default"},
      {kOllamaOptions, "embedding_only", Harmless::kFalse, "Ollama's clients: its default"},
      {kOllamaOptions, "penalize_newline", Harmless::kTrue, "Ollama's clients: its default"},
      {kStreamOptions, "include_obfuscation", Harmless::kFlag,
       "OpenAI's clients: padding of events"},
      {kResponseText, "verbosity", Harmless::kVerbosity,
       "Codex: a wish that only OpenAI's models know"},
      {kMessage, "name", Harmless::kAnything, "OpenAI's clients: templates do not know it"},
      {kMessage, "refusal", Harmless::kAnything, "OpenAI's clients, in history"},
      {kMessage, "annotations", Harmless::kAnything, "OpenAI's clients, in history"},
      {kMessage, "provider_specific_fields", Harmless::kAnything, "LiteLLM, in history"},
      {kMessage, "cache_control", Harmless::kAnything,
       "LiteLLM, OpenRouter's clients: a cache's end"},
      {kHistory, "reasoning_details", Harmless::kAnything,
       "OpenRouter's clients: earlier thoughts, once more"},
      {kHistory, "thinking_blocks", Harmless::kAnything, "LiteLLM: the same"},
      {kHistory, "audio", Harmless::kAnything, "OpenAI's clients: sound beside a text"},
      {kHistory, "phase", Harmless::kText, "Codex: a comment or an answer"},
      {kItem, "id", Harmless::kAnything, "OpenAI's clients, in history"},
      {kItem, "status", Harmless::kAnything, "OpenAI's clients, in history"},
      {kPart, "annotations", Harmless::kAnything, "OpenAI's clients, in history"},
      {kPart, "logprobs", Harmless::kAnything, "OpenAI's clients, in history"},
      {kPart, "cache_control", Harmless::kAnything, "LiteLLM, OpenRouter's clients: a cache's end"},
      {kPart, "citations", Harmless::kAnything, "Anthropic's clients, in history"},
  });
}

constexpr auto kHarmlessFields = make_harmless_fields();

bool is_this_flag(dom::element value, bool wanted) {
  bool flag = false;
  return value.get(flag) == simdjson::SUCCESS && flag == wanted;
}

template <class Container>
bool is_empty(dom::element value) {
  Container container;
  return value.get(container) == simdjson::SUCCESS && container.begin() == container.end();
}

bool is_empty_text(dom::element value) {
  std::string_view text;
  return value.get(text) == simdjson::SUCCESS && text.empty();
}

bool is_verbosity(dom::element value) {
  std::string_view text;
  return value.get(text) == simdjson::SUCCESS &&
         (text == "low" || text == "medium" || text == "high");
}

}  // namespace

bool is_harmless(dom::element value, Harmless values) {
  switch (values) {
    case Harmless::kAnything:
      return true;
    case Harmless::kText:
      return value.is_string();
    case Harmless::kFlag:
      return value.is_bool();
    case Harmless::kTrue:
      return is_this_flag(value, true);
    case Harmless::kFalse:
      return is_this_flag(value, false);
    case Harmless::kEmptyList:
      return is_empty<dom::array>(value);
    case Harmless::kEmptyObject:
      return is_empty<dom::object>(value);
    case Harmless::kEmptyText:
      return is_empty_text(value);
    case Harmless::kVerbosity:
      return is_verbosity(value);
  }
  return false;
}

std::span<const HarmlessField> harmless_fields() noexcept { return kHarmlessFields; }

std::string_view path_of(FieldPlace place) noexcept {
  using enum FieldPlace;
  switch (place) {
    case kRequest:
    case kCompletion:
    case kResponse:
    case kMessages:
    case kOllama:
      return {};
    case kOutputConfig:
      return "output_config.";
    case kOllamaOptions:
      return "options.";
    case kStreamOptions:
      return "stream_options.";
    case kResponseText:
      return "text.";
    case kMessage:
    case kHistory:
    case kOllamaMessage:
      return "messages[].";
    case kItem:
      return "input[].";
    case kPart:
      return "messages[].content[].";
  }
  return {};
}

std::string_view words_of(Harmless values) noexcept {
  switch (values) {
    case Harmless::kAnything:
      return "anything";
    case Harmless::kText:
      return "a text";
    case Harmless::kFlag:
      return "true, false";
    case Harmless::kTrue:
      return "true";
    case Harmless::kFalse:
      return "false";
    case Harmless::kEmptyList:
      return "an empty list";
    case Harmless::kEmptyObject:
      return "an empty object";
    case Harmless::kEmptyText:
      return "an empty text";
    case Harmless::kVerbosity:
      return "low, medium, high";
  }
  return {};
}

void take_harmless_fields(const BodyFields& fields, FieldPlace place) {
  for (const HarmlessField& field : kHarmlessFields) {
    if (field.place != place) continue;
    const auto value = fields.any(field.name);
    if (!value || is_harmless(*value, field.values)) continue;
    fields.fail(field.name, "can only be " + std::string(words_of(field.values)) + " here",
                api_code::kUnsupported);
  }
}

}  // namespace weft
