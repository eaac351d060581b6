#include "weft/train/data/examples.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "weft/core/io/file.h"
#include "weft/gpu/load_progress.h"
#include "weft/train/train_error.h"

namespace weft {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 5> kMessageRoles = {"system", "developer", "user",
                                                           "assistant", "tool"};

Error bad(std::string_view field, std::string_view why) {
  return {TrainErrc::kBadData, std::string(field).append(": ").append(why)};
}

/// Returns the number at `field`, 1 where there is none.
Result<float> weight_in(const json::object& object, std::string_view field) {
  const json::value* value = object.if_contains("weight");
  if (value == nullptr) return 1.0F;
  boost::system::error_code error;
  const double weight = value->to_number<double>(error);
  if (error || !(weight >= 0)) return bad(field, "must be a number of 0 or more");
  // A conversion of a number out of range is undefined.
  constexpr double kMost = std::numeric_limits<float>::max();
  if (weight > kMost || (weight > 0 && static_cast<float>(weight) == 0))
    return bad(field, "is no float32: too large, or too near to 0");
  return static_cast<float>(weight);
}

std::string_view text_in(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : "";
}

/// Says what is wrong with a message; nothing where it is one.
std::optional<Error> mistake_in(const json::value& message, const std::string& field) {
  if (!message.is_object()) return bad(field, "must be an object");
  const json::object& object = message.get_object();
  if (std::ranges::find(kMessageRoles, text_in(object, "role")) == kMessageRoles.end())
    return bad(field + ".role", "must be system, developer, user, assistant or tool");
  const json::value* content = object.if_contains("content");
  const bool calls = object.contains("tool_calls");
  if (content == nullptr || content->is_null()) {
    if (!calls) return bad(field + ".content", "is missing");
  } else if (!content->is_string() && !content->is_array()) {
    return bad(field + ".content", "must be a text or a list of parts");
  }
  const auto weight = weight_in(object, field + ".weight");
  if (!weight) return weight.error();
  if (object.contains("weight") && text_in(object, "role") != "assistant")
    return bad(field + ".weight", "only answers of the assistant have weights");
  return std::nullopt;
}

Result<json::array> messages_in(const json::object& line) {
  const json::value& value = line.at("messages");
  if (!value.is_array() || value.get_array().empty())
    return bad("messages", "must be a list of one message or more");
  json::array messages = value.get_array();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (auto error = mistake_in(messages[i], "messages[" + std::to_string(i) + "]"))
      return *std::move(error);
  }
  return messages;
}

std::string field_of(std::size_t message) { return "messages[" + std::to_string(message) + "]"; }

bool begins_with(const std::vector<TokenId>& all, const std::vector<TokenId>& part) {
  return part.size() <= all.size() && std::equal(part.begin(), part.end(), all.begin());
}

bool is_weightless(const Example& example) {
  return std::ranges::all_of(example.weights, [](float weight) { return weight == 0; });
}

/// A line's object, with one of its two forms.
Result<json::object> parse_line(std::string_view line) {
  if (line.size() > kMostLineBytes) {
    return bad("the line", "has " + std::to_string(line.size()) + " bytes, and a line may have " +
                               std::to_string(kMostLineBytes) + ": split it");
  }
  boost::system::error_code error;
  json::value value = json::parse(line, error);
  if (error) return bad("the line", "is no JSON: " + error.message());
  if (!value.is_object()) return bad("the line", "must be a JSON object");
  json::object object = std::move(value.get_object());
  if (const auto weight = weight_in(object, "weight"); !weight) return weight.error();
  if (object.contains("text") == object.contains("messages"))
    return bad("the line", "must have either messages or text");
  return object;
}

Error no_text() { return bad("text", "must be a text"); }

Error no_answer() { return bad("messages", "there is no answer of the assistant to learn from"); }

bool is_learnt(const json::object& message) {
  return text_in(message, "role") == "assistant" && weight_in(message, "").value() != 0;
}

/// Returns the product of a line's and an answer's weight.
Result<float> product_of(float line, float own, const std::string& field) {
  const float product = line * own;
  if (std::isfinite(product) && (product > 0 || line == 0 || own == 0)) return product;
  return bad(field, "times the line's weight is no float32 of more than 0");
}

/// An answer of a conversation.
struct Answer {
  std::size_t message = 0;
  float weight = 0;        ///< with the line's
  bool is_learnt = false;  ///< its own weight is not 0
};

/// Returns the assistant's messages, of which one or more are learnt.
Result<std::vector<Answer>> answers_in(const json::array& messages, float line_weight) {
  std::vector<Answer> answers;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const json::object& message = messages[i].get_object();
    if (text_in(message, "role") != "assistant") continue;
    const bool learnt = is_learnt(message);
    const auto own =
        product_of(line_weight, weight_in(message, "").value(), field_of(i) + ".weight");
    if (!own) return own.error();
    answers.push_back({i, *own, learnt});
  }
  if (std::ranges::none_of(answers, &Answer::is_learnt)) return no_answer();
  return answers;
}

/// Gives the tokens that the template marks the weights of their answers: of one answer each, or
/// one weight where the template has another number of marks.
Result<void> learn_marked(std::span<const MarkedPrompt::Answer> marks,
                          std::span<const Answer> answers, Example& example) {
  example.learnt = Learnt::kMarked;
  const float first = answers.front().weight;
  const bool is_same =
      std::ranges::all_of(answers, [&](const Answer& one) { return one.weight == first; });
  if (marks.size() != answers.size() && !is_same) {
    return bad("messages", "the chat template marks " + std::to_string(marks.size()) +
                               " answers of " + std::to_string(answers.size()) +
                               ", so these must have the same weight");
  }
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const float weight = is_same ? first : answers[i].weight;
    for (std::size_t t = std::max<std::size_t>(marks[i].begin, 1); t < marks[i].end; ++t)
      example.weights[t] = weight;
  }
  return {};
}

}  // namespace

std::string how_learnt(const Examples& examples) {
  constexpr std::string_view kMarked = "where the chat template marks them ({% generation %})";
  constexpr std::string_view kEnded =
      "from behind their generation prompt to their end token, since the chat template has no "
      "generation marks with tokens of their own";
  if (examples.ended == 0 && examples.marked == 0) return {};
  std::string text = "The answers are learnt ";
  if (examples.ended == 0) return text.append(kMarked);
  if (examples.marked == 0) return text.append(kEnded);
  text.append(kMarked).append(" in ").append(std::to_string(examples.marked));
  text.append(" conversations, and in ").append(std::to_string(examples.ended));
  return text.append(", whose marks have no tokens of their own, up to their end token");
}

Result<void> check_training_line(std::string_view line) {
  const auto object = parse_line(line);
  if (!object) return object.error();
  if (const json::value* text = object->if_contains("text")) {
    if (!text->is_string() || text->get_string().empty()) return no_text();
    return {};
  }
  if (const json::value* tools = object->if_contains("tools"); tools && !tools->is_array())
    return bad("tools", "must be a list");
  const auto messages = messages_in(*object);
  if (!messages) return messages.error();
  for (const json::value& message : *messages) {
    if (is_learnt(message.get_object())) return {};
  }
  return no_answer();
}

ExampleReader::ExampleReader(const Tokenizer& tokenizer, Options options)
    : tokenizer_(tokenizer), chat_(tokenizer), options_(std::move(options)) {}

Result<Examples> ExampleReader::read(const std::filesystem::path& path) const {
  const auto text = read_text_file(path, kAnySize);
  if (!text) return text.error();
  Examples examples;
  std::int64_t number = 0;
  for (std::size_t begin = 0; begin < text->size();) {
    const std::size_t end = std::min(text->find('\n', begin), text->size());
    const auto line = std::string_view(*text).substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto example = read_line(line);
    if (!example) {
      const std::string place = path.string() + ":" + std::to_string(number);
      return Error{example.error().code, place + ": " + example.error().detail};
    }
    examples.marked += example->learnt == Learnt::kMarked ? 1 : 0;
    examples.ended += example->learnt == Learnt::kEnded ? 1 : 0;
    if (is_weightless(*example)) {
      ++examples.without_weight;
      continue;
    }
    if (example->ids.size() > options_.tokens) {
      ++examples.cut;
      example->ids.resize(options_.tokens);
      example->weights.resize(options_.tokens);
      if (is_weightless(*example)) {
        ++examples.cut_out;
        continue;
      }
    }
    examples.all.push_back(*std::move(example));
  }
  if (!examples.all.empty()) return examples;
  return Error{TrainErrc::kBadData, path.string() + ": there is nothing to learn in it"};
}

Result<Example> ExampleReader::read_line(std::string_view line) const {
  const auto object = parse_line(line);
  if (!object) return object.error();
  const float weight = weight_in(*object, "weight").value();
  const bool has_text = object->contains("text");
  auto example = has_text ? read_text(*object, weight) : read_messages(*object, weight);
  if (!example) return example;
  if (auto checked = check_tokens(*example, has_text ? "text" : "messages"); !checked)
    return checked.error();
  return example;
}

Result<Example> ExampleReader::read_text(const json::object& line, float weight) const {
  throw_if_stopped(options_.stop);
  const json::value& text = line.at("text");
  if (!text.is_string() || text.get_string().empty()) return no_text();
  Example example;
  const auto encoded = tokenizer_.encode(text.get_string(), {.add_special = true}, example.ids);
  if (!encoded) return error_in("text", encoded.error());
  if (example.ids.empty()) return bad("text", "has no tokens");
  if (!options_.end_tokens.empty() && !is_end(example.ids.back()))
    example.ids.push_back(options_.end_tokens.front());
  example.weights.assign(example.ids.size(), weight);
  example.weights.front() = 0;
  return example;
}

Result<Example> ExampleReader::read_messages(const json::object& line, float weight) const {
  const auto messages = messages_in(line);
  if (!messages) return messages.error();
  const auto answers = answers_in(*messages, weight);
  if (!answers) return answers.error();
  throw_if_stopped(options_.stop);
  auto prompt = chat_.encode_marked(conversation_of(line, messages->size(), false), options_.now);
  if (!prompt) return prompt.error();
  Example example{std::move(prompt->ids), {}, Learnt::kEnded};
  example.weights.resize(example.ids.size());
  if (!prompt->answers.empty()) {
    if (auto done = learn_marked(prompt->answers, *answers, example); !done) return done.error();
    return example;
  }
  for (const Answer& answer : *answers) {
    if (!answer.is_learnt) continue;
    const auto end = learn_ended(line, answer.message, answer.weight, example);
    if (!end) return end.error();
    if (*end >= options_.tokens) break;  // read() cuts off the rest
  }
  return example;
}

// An answer is what the template writes behind its beginning. So the model learns from the tokens
// that it is given when it serves: those of the messages before, with a generation prompt. Returns
// where the answer ends.
Result<std::size_t> ExampleReader::learn_ended(const json::object& line, std::size_t message,
                                               float weight, Example& example) const {
  const auto before = encode(line, message, true);
  if (!before) return before.error();
  const auto behind = encode(line, message + 1, false);
  if (!behind) return behind.error();
  if (!begins_with(example.ids, *behind) || !begins_with(*behind, *before)) {
    return bad(field_of(message),
               "the chat template writes this answer in another way than it is generated in; let "
               "the conversation end with it, or give it the weight 0");
  }
  for (std::size_t t = before->size(); t < behind->size(); ++t) {
    if (t > 0) example.weights[t] = weight;
    if (is_end(example.ids[t])) break;
  }
  return behind->size();
}

Conversation ExampleReader::conversation_of(const json::object& line, std::size_t messages,
                                            bool prompts) const {
  Conversation conversation;
  const json::array& all = line.at("messages").get_array();
  for (std::size_t i = 0; i < messages; ++i) {
    json::object message = all[i].get_object();
    message.erase("weight");
    conversation.messages.push_back(std::move(message));
  }
  if (const json::value* tools = line.if_contains("tools")) conversation.tools = *tools;
  conversation.add_generation_prompt = prompts;
  return conversation;
}

Result<std::vector<TokenId>> ExampleReader::encode(const json::object& line, std::size_t messages,
                                                   bool prompts) const {
  throw_if_stopped(options_.stop);
  return chat_.encode(conversation_of(line, messages, prompts), options_.now);
}

Result<void> ExampleReader::check_tokens(const Example& example, std::string_view field) const {
  const auto wrong = std::ranges::find_if(
      example.ids, [&](TokenId id) { return id < 0 || id >= options_.vocabulary; });
  if (wrong == example.ids.end()) return {};
  return bad(field, "has the token " + std::to_string(*wrong) +
                        ", and the model's vocabulary ends at " +
                        std::to_string(options_.vocabulary));
}

bool ExampleReader::is_end(TokenId id) const {
  return std::ranges::find(options_.end_tokens, id) != options_.end_tokens.end();
}

}  // namespace weft
