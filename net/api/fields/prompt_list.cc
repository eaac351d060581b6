#include "weft/net/api/fields/prompt_list.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "weft/net/api/fields/request_fields.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;

constexpr std::string_view kTypes =
    "must be a string, a list of strings, a list of token ids, or a list of lists of token ids";

Request text_prompt(BodyFields& fields, std::string_view path, std::string_view text,
                    const ServedModel& model) {
  if (text.empty()) fields.fail(path, "is empty");
  need_tokenizer(fields, path, model);
  Request request;
  request.prompt = text;
  return request;
}

Request token_prompt(BodyFields& fields, const std::string& path, dom::array ids,
                     const ServedModel& model, bool cut) {
  Request request;
  if (!cut && std::cmp_greater(ids.size(), model.context)) {
    fields.fail(path,
                "This model's maximum context length is " + std::to_string(model.context) +
                    " tokens. However, this prompt has more.",
                api_code::kContextLength);
    return request;
  }
  for (const dom::element entry : ids) {
    const std::size_t index = request.prompt_tokens.size();
    const auto id = whole_number(entry);
    if (!id) {
      fields.fail(indexed(path, index), "must be a token id", api_code::kInvalidType);
    } else if (*id < 0 || *id >= model.vocabulary) {
      fields.fail(indexed(path, index),
                  std::to_string(*id) + " is not in 0 .. " + std::to_string(model.vocabulary - 1));
    }
    if (fields.error()) return request;
    request.prompt_tokens.push_back(static_cast<TokenId>(*id));
  }
  if (request.prompt_tokens.empty()) fields.fail(path, "is empty");
  return request;
}

/// Reads a list of texts or of lists of ids.
std::vector<Request> prompts_of(BodyFields& fields, dom::array list, const ServedModel& model,
                                const PromptList& said) {
  std::vector<Request> prompts;
  if (!has_at_most(fields, said.name, list, said.most, "prompts")) return prompts;
  const bool texts = (*list.begin()).is_string();
  for (const dom::element entry : list) {
    const std::string path = indexed(said.name, prompts.size());
    std::string_view text;
    dom::array ids;
    if (texts && entry.get(text) == simdjson::SUCCESS) {
      prompts.push_back(text_prompt(fields, path, text, model));
    } else if (!texts && entry.get(ids) == simdjson::SUCCESS) {
      prompts.push_back(token_prompt(fields, path, ids, model, said.cut));
    } else {
      fields.fail(said.name, kTypes, api_code::kInvalidType);
    }
    if (fields.error()) return {};
  }
  return prompts;
}

std::vector<Request> one(Request request) {
  std::vector<Request> prompts;
  prompts.push_back(std::move(request));
  return prompts;
}

}  // namespace

std::vector<Request> take_prompts(BodyFields& fields, const ServedModel& model,
                                  const PromptList& list) {
  const std::string name(list.name);
  const auto prompt = fields.any(name);
  std::string_view text;
  dom::array entries;
  if (!prompt) {
    fields.fail(name, "is missing", api_code::kMissing);
  } else if (prompt->get(text) == simdjson::SUCCESS) {
    return one(text_prompt(fields, name, text, model));
  } else if (prompt->get(entries) != simdjson::SUCCESS) {
    fields.fail(name, kTypes, api_code::kInvalidType);
  } else if (entries.begin() == entries.end()) {
    fields.fail(name, "is empty");
  } else if ((*entries.begin()).is_number()) {
    return one(token_prompt(fields, name, entries, model, list.cut));
  } else {
    return prompts_of(fields, entries, model, list);
  }
  return {};
}

}  // namespace weft
