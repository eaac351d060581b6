#include "weft/measure/server/server_question.h"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <utility>

#include "weft/measure/measure_error.h"

namespace weft::measure {

namespace json = boost::json;

namespace {

// Common words. In most vocabularies each is one token, including the space before it.
constexpr std::array<std::string_view, 32> kWords = {
    "the", "of",  "and",  "to",  "in",   "is",   "that", "it",   "was",  "for",  "on",
    "are", "as",  "with", "his", "they", "at",   "be",   "this", "have", "from", "or",
    "one", "had", "by",   "but", "not",  "what", "all",  "were", "we",   "when"};

// Some editors write it at the beginning of a file.
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string quoted(std::string_view text) { return json::serialize(json::string(text)); }

/// Returns the fields that all requests share, after prompt and length: `,"a":1,"b":2}`.
std::string tail_of(const QuestionOptions& options) {
  json::object fields;
  if (!options.model.empty()) fields["model"] = options.model;
  if (options.ignore_eos) fields["ignore_eos"] = true;
  fields["temperature"] = 0;  // the cheapest choice of a token, and always the same one
  if (options.api == ServerApi::kResponses) {
    fields["store"] = false;
  } else {
    fields["stream"] = true;
    fields["stream_options"] = json::object{{"include_usage", true}};
  }
  for (const auto& [name, value] : options.extra) fields[name] = value;
  return "," + json::serialize(fields).substr(1);
}

const json::value* field(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::optional<GivenPrompt> prompt_in(std::string_view line, std::string& mistake) {
  json::error_code error;
  const json::value parsed = json::parse(line, error);
  if (error || !parsed.is_object()) {
    mistake = error ? "no JSON: " + error.message() : "no JSON object";
    return std::nullopt;
  }
  if (const json::value* prompt = field(parsed.as_object(), "prompt")) {
    if (prompt->is_string() || prompt->is_array()) return GivenPrompt{json::serialize(*prompt)};
    mistake = "\"prompt\" is no text and no list of token ids";
  } else if (const json::value* messages = field(parsed.as_object(), "messages")) {
    if (messages->is_array()) return GivenPrompt{json::serialize(*messages), true};
    mistake = "\"messages\" is no list";
  } else {
    mistake = "neither \"prompt\" nor \"messages\"";
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(ServerApi api) noexcept {
  switch (api) {
    case ServerApi::kCompletions:
      return "completions";
    case ServerApi::kChat:
      return "chat";
    case ServerApi::kResponses:
      break;
  }
  return "responses";
}

std::string_view path_of(ServerApi api) noexcept {
  switch (api) {
    case ServerApi::kCompletions:
      return "/v1/completions";
    case ServerApi::kChat:
      return "/v1/chat/completions";
    case ServerApi::kResponses:
      break;
  }
  return "/v1/responses";
}

Result<std::vector<GivenPrompt>> parse_prompts(std::string_view text, const std::string& name) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<GivenPrompt> prompts;
  std::optional<bool> as_json;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) continue;
    if (!as_json) as_json = line[begin] == '{';
    if (!*as_json) {
      prompts.push_back({quoted(line)});
      continue;
    }
    std::string mistake;
    auto prompt = prompt_in(line, mistake);
    if (!prompt) {
      std::string where = name + ": line ";
      where.append(std::to_string(number)).append(": ").append(mistake);
      return Error{MeasureErrc::kBadLoad, std::move(where)};
    }
    prompts.push_back(*std::move(prompt));
  }
  if (prompts.empty()) return Error{MeasureErrc::kBadLoad, name + ": there is no prompt in it"};
  return prompts;
}

Result<void> check_prompts(const QuestionOptions& options) {
  for (std::size_t i = 0; i < options.prompts.size(); ++i) {
    const GivenPrompt& prompt = options.prompts[i];
    const bool text = prompt.json.starts_with('"');
    const bool completions = options.api == ServerApi::kCompletions;
    if (completions ? !prompt.messages : prompt.messages || text) continue;
    return Error{MeasureErrc::kBadLoad,
                 "prompt " + std::to_string(i + 1) +
                     (completions ? " has messages; the API completions wants a prompt"
                                  : " has token ids; the API " +
                                        std::string(to_string(options.api)) + " wants texts")};
  }
  return {};
}

QuestionWriter::QuestionWriter(QuestionOptions options)
    : options_(std::move(options)), tail_(tail_of(options_)), random_(options_.seed) {}

bool QuestionWriter::exact() const noexcept {
  return options_.prompts.empty() && options_.api == ServerApi::kCompletions;
}

void QuestionWriter::append_ids(std::int32_t count, std::string& out) {
  std::uniform_int_distribution<std::int32_t> draw(options_.lowest_id, options_.highest_id);
  out.push_back('[');
  for (std::int32_t i = 0; i < count; ++i) {
    if (i > 0) out.push_back(',');
    out.append(std::to_string(draw(random_)));
  }
  out.push_back(']');
}

void QuestionWriter::append_words(std::int32_t count, std::string& out) {
  std::uniform_int_distribution<std::size_t> draw(0, kWords.size() - 1);
  out.push_back('"');
  for (std::int32_t i = 0; i < count; ++i) {
    if (i > 0) out.push_back(' ');
    out.append(kWords[draw(random_)]);
  }
  out.push_back('"');
}

void QuestionWriter::append_prompt(std::int32_t tokens, std::string& out) {
  const GivenPrompt* given =
      options_.prompts.empty() ? nullptr : &options_.prompts[asked_ % options_.prompts.size()];
  const bool wrap = options_.api == ServerApi::kChat && (given == nullptr || !given->messages);
  if (wrap) out.append(R"([{"role":"user","content":)");
  if (given != nullptr) {
    out.append(given->json);
  } else if (options_.api == ServerApi::kCompletions) {
    append_ids(tokens, out);
  } else {
    append_words(tokens, out);
  }
  if (wrap) out.append("}]");
}

std::string QuestionWriter::next(const Arrival& asked, std::string_view stream_id) {
  std::string body = "{";
  switch (options_.api) {
    case ServerApi::kCompletions:
      body.append(R"("prompt":)");
      break;
    case ServerApi::kChat:
      body.append(R"("messages":)");
      break;
    case ServerApi::kResponses:
      body.append(R"("type":"response.create","stream_id":)").append(quoted(stream_id));
      body.append(R"(,"input":)");
      break;
  }
  append_prompt(asked.prompt, body);
  ++asked_;
  const bool responses = options_.api == ServerApi::kResponses;
  body.append(responses ? R"(,"max_output_tokens":)" : R"(,"max_tokens":)");
  body.append(std::to_string(asked.output));
  if (asked.cls == RequestClass::kBatch) body.append(R"(,"service_tier":"flex")");
  return body.append(tail_);
}

std::string cancel_message(std::string_view stream_id) {
  return R"({"type":"response.cancel","stream_id":)" + quoted(stream_id) + "}";
}

}  // namespace weft::measure
