// Each piece of text goes with exactly the tokens that made it, in every API with logprobs,
// streamed or whole, wherever the tokens cut the output: inside of characters, of tags, of stop
// strings.

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/actors/request/choice_buffer.h"
#include "weft/actors/request/request_text.h"
#include "weft/core/text/utf8.h"
#include "weft/net/api/chat/chat_api.h"
#include "weft/net/api/completions/completion_api.h"
#include "weft/net/api/ollama/ollama_api.h"
#include "weft/net/api/responses/response_api.h"
#include "weft/tests/net/api/responses/response_options.h"
#include "weft/tests/net/api/written_events.h"
#include "weft/text/tokenizer/byte_alphabet.h"

namespace weft {
namespace {

namespace json = boost::json;
using json::value;
using test::data_of;
using test::json_of;

constexpr unsigned kCuts = 12;  // cuts of each output, in each alphabet

/// An output and how it is to be read.
struct Script {
  const char* format;
  const char* thoughts;  // a row of that table, or ""
  std::string output;
  std::string stop{};
};

const std::vector<Script>& scripts() {
  static const std::vector<Script> all = {
      {"hermes", "", "Grüße, 世界! 🚀 \n 3 + 4 = 7  "},
      {"hermes", "think", "<think>\nShe asks é.\n</think>\n\n  Let me 🚀 see. < b <tool_cal> \n"},
      {"hermes", "think",
       "<think>a</think> Wait… <tool_call>\n{\"name\": \"now\", \"arguments\": {\"z\": \"ü\"}}\n"
       "</tool_call>\n done ✓"},
      {"hermes", "think", "<think>never closed 世"},
      {"hermes", "", "no call <tool_call>{\"name\" 世 after all"},
      {"hermes", "", "Text that 世界 END of it", "END"},
      {"hermes", "think", "<think>hm</think>ab🚀cd", "cd"},
      {"hermes", "", "x <tool_call>{\"name\": \"now\", \"arguments\": {\"q\": \"cut", "cut"},
      {"qwen3-coder", "think",
       "<think>\n\nx\n</think>\n\n<tool_call>\n<function=now>\n<parameter=a>\n<b> é\n</parameter>\n"
       "</function>\n</tool_call>\nAnd ü."},
      {"harmony", "",
       "<|channel|>analysis<|message|>Hm, é.<|end|><|start|>assistant<|channel|>final<|message|>So "
       "世 it is.<|return|>"},
      {"harmony", "",
       "<|channel|>commentary to=functions.now<|message|>{\"a\": 1}<|call|><|start|>assistant"
       "<|channel|>final<|message|>ü"},
  };
  return all;
}

/// How a vocabulary writes bytes.
enum class Alphabet : std::uint8_t { kByteLevel, kByteFallback };

/// A model whose vocabulary has the parts of an output, and that output as tokens.
struct Cut {
  std::shared_ptr<const ServedModel> model{};
  std::vector<TokenId> tokens{};
};

std::vector<std::string> random_bytes(const std::string& output, std::mt19937& random) {
  const std::size_t longest = 1 + random() % 9;
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < output.size();) {
    const std::size_t size = std::min<std::size_t>(output.size() - at, 1 + random() % longest);
    parts.push_back(output.substr(at, size));
    at += size;
  }
  return parts;
}

/// Parts of valid UTF-8 are tokens of their own; of others each byte is.
std::vector<std::string> names_of(const std::string& part, Alphabet alphabet) {
  if (alphabet == Alphabet::kByteLevel) {
    std::string name;
    append_byte_alphabet(name, part);
    return {name};
  }
  std::vector<std::string> names;
  if (is_utf8(part)) {
    std::string name;
    for (const char c : part) name += c == ' ' ? "\u2581" : std::string(1, c);
    return {name};
  }
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (const char byte : part) {
    const auto code = static_cast<unsigned char>(byte);
    names.push_back(std::string("<0x") + kDigits[code >> 4] + kDigits[code & 15] + ">");
  }
  return names;
}

value decoder_of(Alphabet alphabet) {
  if (alphabet == Alphabet::kByteLevel) return {{"type", "ByteLevel"}};
  return json_of(R"({"type":"Sequence","decoders":[
      {"type":"Replace","pattern":{"String":"\u2581"},"content":" "},{"type":"ByteFallback"},
      {"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})");
}

Cut cut(const Script& script, Alphabet alphabet, std::mt19937& random) {
  json::object vocabulary;
  Cut made;
  for (const std::string& part : random_bytes(script.output, random)) {
    for (const std::string& name : names_of(part, alphabet)) {
      const auto next = static_cast<std::int64_t>(vocabulary.size());
      made.tokens.push_back(
          static_cast<TokenId>(vocabulary.emplace(name, next).first->value().as_int64()));
    }
  }
  const auto silent = static_cast<TokenId>(vocabulary.size());
  vocabulary["<silent>"] = silent;
  const json::object special = {{"id", silent},    {"content", "<silent>"}, {"single_word", false},
                                {"lstrip", false}, {"rstrip", false},       {"normalized", false},
                                {"special", true}};
  const json::object all = {
      {"added_tokens", {special}},
      {"model", {{"type", "BPE"}, {"vocab", std::move(vocabulary)}, {"merges", json::array()}}},
      {"decoder", decoder_of(alphabet)}};
  ServedModel model{.tokenizer = Tokenizer::from_json(json::serialize(all), "cut").value()};
  model.vocabulary = silent + 1;
  made.model = std::make_shared<const ServedModel>(std::move(model));
  // Tokens without a text, anywhere.
  for (int i = 0; i < 2; ++i) {
    const std::size_t at = random() % (made.tokens.size() + 1);
    made.tokens.insert(made.tokens.begin() + static_cast<std::ptrdiff_t>(at), silent);
  }
  return made;
}

/// Stores deliveries, and passes them to a reader at times.
class Reader final : public RequestSink {
 public:
  Reader(const Request& request, std::mt19937& random) : buffer_(request), random_(random) {}

  void deliver(const DeltaView& delta) noexcept override {
    EXPECT_TRUE(buffer_.append(delta));
    if (random_() % 3 == 0) take();
  }
  void finish(Finish&& finish) noexcept override { end = std::move(finish); }
  void take() {
    if (!buffer_.unread()) return;
    buffer_.take(deltas.emplace_back());
  }

  std::vector<Delta> deltas;
  Finish end;

 private:
  ChoiceBuffer buffer_;
  std::mt19937& random_;
};

/// The result of reading an output.
struct Read {
  std::vector<Delta> deltas;
  Finish end;
  std::string content{};  ///< all of its text, however its kind is told
};

RequestText::Options options_of(const Script& script, const Cut& cut, bool typed) {
  RequestText::Options options{.top_logprobs = 1, .logprobs = true};
  if (!typed) return options;
  OutputFormat format = *known_format(script.format);
  if (*script.thoughts != '\0') format = join_formats(format, *known_format(script.thoughts));
  options.format = ModelFormat::make(format, cut.model->tokenizer);
  options.parser.tools = std::make_shared<const ToolSchemas>(
      json_of(R"([{"type":"function","function":{"name":"now","parameters":{}}}])"));
  return options;
}

Read read(const Script& script, const Cut& cut, bool typed, std::mt19937& random) {
  Request request;
  request.typed_output = typed;
  request.sampling.logprobs = true;
  request.sampling.top_logprobs = 1;
  if (!script.stop.empty()) request.stop = {script.stop};
  StopStrings stops = StopStrings::compile(request.stop).value();
  const auto sink = std::make_shared<Reader>(request, random);
  const auto active = std::make_shared<ActiveRequest>(RequestId(1), std::move(request), sink,
                                                      TimePoint(Duration(1)));
  RequestText text(*active, cut.model->tokenizer, std::move(stops), options_of(script, cut, typed));
  for (std::size_t i = 0; i < cut.tokens.size(); ++i) {
    TokenEvent event{.token = cut.tokens[i], .logprob = -static_cast<float>(i)};
    if (i + 1 == cut.tokens.size()) event.end = SequenceEnd::kLength;
    const std::vector<TokenLogprob> top = {{event.token, event.logprob}};
    if (text.push(event, top, TimePoint(Duration(5)))) break;
  }
  EndMsg end{
      RequestTicket(active), nullptr, GroupEnd::kDone, {}, {{0, SequenceEnd::kLength, 0, {}}}};
  Finish finish = text.finish(end, TimePoint(Duration(9)));
  std::move(end.ticket).finish(Finish(finish));
  sink->take();
  Read read{.deltas = sink->deltas, .end = sink->end};
  for (const Delta& delta : read.deltas) {
    for_each_piece(delta.text, delta.marks, [&](const OutputPiece& piece) {
      if (piece.kind == PieceKind::kText) read.content.append(piece.text);
    });
  }
  return read;
}

/// The expected reading of all tokens: decoded, cut at the stop string and taken apart.
std::string expected_content(const Script& script, const Cut& cut, bool typed) {
  std::vector<TokenId> shown = cut.tokens;
  std::string text = cut.model->tokenizer.decode(shown, true).value();
  if (!script.stop.empty()) text = text.substr(0, text.find(script.stop));
  if (!typed) return text;
  const RequestText::Options options = options_of(script, cut, typed);
  OutputParser parser({options.format, &options.format->format}, options.parser);
  TypedText out;
  parser.feed(text, out);
  parser.finish(out);
  std::string content;
  for_each_piece(out.text(), out.marks(), [&](const OutputPiece& piece) {
    if (piece.kind == PieceKind::kText) content.append(piece.text);
  });
  return content;
}

std::vector<value> write(const Read& read, ReplyWriter& writer, Framing framing) {
  EventBatch out(framing);
  writer.begin(out);
  for (const Delta& delta : read.deltas) writer.delta(0, delta, out);
  writer.end(std::vector{read.end}, out);
  std::vector<value> messages;
  for (const std::string& data : data_of(out)) {
    if (data != "[DONE]") messages.push_back(json_of(data));
  }
  return messages;
}

std::string bytes_of(const value& token) {
  std::string bytes;
  for (const value& byte : token.at("bytes").as_array()) {
    bytes.push_back(static_cast<char>(byte.to_number<int>()));
  }
  return bytes;
}

/// A text of an answer, or of a chunk, and the tokens beside it.
struct Listed {
  std::string text;
  std::vector<value> tokens{};
};

void expect_agreement(const Listed& listed) {
  std::string bytes;
  for (const value& token : listed.tokens) {
    bytes += bytes_of(token);
    EXPECT_EQ(token.at("token"), token.at("top_logprobs").at(0).at("token"));
  }
  EXPECT_EQ(bytes, listed.text);
}

Listed listed(const value& text, const value* tokens) {
  Listed one{.text = std::string(text.as_string())};
  if (tokens != nullptr) one.tokens.assign(tokens->as_array().begin(), tokens->as_array().end());
  return one;
}

const value* content_tokens(const value& choice) {
  const value& logprobs = choice.at("logprobs");
  return logprobs.is_null() ? nullptr : &logprobs.at("content");
}

std::vector<Listed> chat_texts(const std::vector<value>& messages) {
  std::vector<Listed> all;
  for (const value& message : messages) {
    const value& choice = message.at("choices").at(0);
    const char* const name = choice.as_object().contains("delta") ? "delta" : "message";
    const json::object& part = choice.at(name).as_object();
    const bool has_text = part.contains("content") && part.at("content").is_string();
    all.push_back(listed(has_text ? part.at("content") : value(""), content_tokens(choice)));
  }
  return all;
}

std::vector<Listed> response_deltas(const std::vector<value>& events) {
  std::vector<Listed> all;
  for (const value& event : events) {
    if (event.at("type") != "response.output_text.delta") continue;
    all.push_back(listed(event.at("delta"), &event.at("logprobs")));
  }
  return all;
}

std::vector<Listed> response_parts(const value& response) {
  std::vector<Listed> all;
  for (const value& item : response.at("output").as_array()) {
    if (item.at("type") != "message") continue;
    for (const value& part : item.at("content").as_array()) {
      all.push_back(listed(part.at("text"), &part.at("logprobs")));
    }
  }
  return all;
}

std::vector<Listed> ollama_texts(const std::vector<value>& objects) {
  std::vector<Listed> all;
  for (const value& object : objects) {
    const value* const tokens = object.as_object().if_contains("logprobs");
    all.push_back(listed(object.at("message").at("content"), tokens));
  }
  return all;
}

std::vector<Listed> completion_texts(const std::vector<value>& messages) {
  std::vector<Listed> all;
  std::size_t offset = 0;
  for (const value& message : messages) {
    const value& choice = message.at("choices").at(0);
    Listed& one = all.emplace_back(listed(choice.at("text"), nullptr));
    if (choice.at("logprobs").is_null()) continue;
    const json::array& tokens = choice.at("logprobs").at("tokens").as_array();
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      EXPECT_EQ(choice.at("logprobs").at("text_offset").at(i), offset);
      std::string name(tokens[i].as_string());
      EXPECT_TRUE(choice.at("logprobs").at("top_logprobs").at(i).as_object().contains(name));
      std::string bytes;
      if (name.starts_with("bytes:")) {
        for (std::size_t at = 6; at < name.size(); at += 4) {
          bytes.push_back(static_cast<char>(std::stoi(name.substr(at + 2, 2), nullptr, 16)));
        }
      } else {
        bytes = name;
      }
      offset += count_code_points(bytes);
      json::array list;
      for (const char byte : bytes) list.push_back(static_cast<unsigned char>(byte));
      one.tokens.push_back({{"bytes", list},
                            {"token", name},
                            {"top_logprobs", value{{{"token", name}}}},
                            {"logprob", choice.at("logprobs").at("token_logprobs").at(i)}});
    }
  }
  return all;
}

Listed together(const std::vector<Listed>& all) {
  Listed one;
  for (const Listed& part : all) {
    one.text += part.text;
    one.tokens.insert(one.tokens.end(), part.tokens.begin(), part.tokens.end());
  }
  return one;
}

void expect_whole(const std::vector<Listed>& parts, const std::string& content) {
  for (const Listed& part : parts) expect_agreement(part);
  EXPECT_EQ(together(parts).text, content);
}

CompletionOptions with_logprobs(bool stream) {
  CompletionOptions options;
  options.id = "id";
  options.model = "demo";
  options.stream = stream;
  options.logprobs = true;
  options.top_logprobs = 1;
  return options;
}

void expect_of_every_chat_api(const Read& read, const Cut& cut, const std::string& content) {
  const auto stream =
      chat_texts(write(read, *make_chat_writer(with_logprobs(true), cut.model), Framing::kSse));
  const auto whole =
      chat_texts(write(read, *make_chat_writer(with_logprobs(false), cut.model), Framing::kBody));
  expect_whole(stream, content);
  expect_whole(whole, content);
  EXPECT_EQ(together(stream).tokens, together(whole).tokens);

  ResponseOptions responses = test::response_options();
  responses.logprobs = true;
  const auto events =
      write(read, *make_response_writer(responses, cut.model, Framing::kSse), Framing::kSse);
  const auto object =
      write(read, *make_response_writer(responses, cut.model, Framing::kBody), Framing::kBody);
  expect_whole(response_deltas(events), content);
  expect_whole(response_parts(events.back().at("response")), content);
  expect_whole(response_parts(object.front()), content);
  EXPECT_EQ(together(response_deltas(events)).tokens, together(whole).tokens);
  EXPECT_EQ(together(response_parts(object.front())).tokens, together(whole).tokens);

  for (const bool streams : {true, false}) {
    const OllamaOptions options{.chat = true, .stream = streams, .logprobs = true};
    const auto framing = streams ? Framing::kLines : Framing::kBody;
    const auto texts = ollama_texts(write(read, *make_ollama_writer(options, cut.model), framing));
    expect_whole(texts, content);
    EXPECT_EQ(together(texts).tokens, together(whole).tokens);
  }
}

TEST(TokenTextPropertyTest, TextAndTokensAgreeInEveryApiStreamedAndWhole) {
  for (const Alphabet alphabet : {Alphabet::kByteLevel, Alphabet::kByteFallback}) {
    for (std::size_t i = 0; i < scripts().size(); ++i) {
      for (unsigned seed = 0; seed < kCuts; ++seed) {
        SCOPED_TRACE("script " + std::to_string(i) + ", seed " + std::to_string(seed) +
                     ", alphabet " + std::to_string(static_cast<int>(alphabet)));
        std::mt19937 random(seed);
        const Script& script = scripts()[i];
        const Cut made = cut(script, alphabet, random);
        const std::string content = expected_content(script, made, /*typed=*/true);
        const Read typed = read(script, made, /*typed=*/true, random);
        EXPECT_EQ(typed.content, content);
        expect_of_every_chat_api(typed, made, content);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(TokenTextPropertyTest, TextAndTokensOfACompletionAgreeStreamedAndWhole) {
  for (const Alphabet alphabet : {Alphabet::kByteLevel, Alphabet::kByteFallback}) {
    for (std::size_t i = 0; i < scripts().size(); ++i) {
      for (unsigned seed = 0; seed < kCuts; ++seed) {
        SCOPED_TRACE("script " + std::to_string(i) + ", seed " + std::to_string(seed) +
                     ", alphabet " + std::to_string(static_cast<int>(alphabet)));
        std::mt19937 random(seed);
        const Script& script = scripts()[i];
        const Cut made = cut(script, alphabet, random);
        const std::string text = expected_content(script, made, /*typed=*/false);
        const Read plain = read(script, made, /*typed=*/false, random);
        const auto stream = completion_texts(
            write(plain, *make_completion_writer(with_logprobs(true), made.model), Framing::kSse));
        const auto whole = completion_texts(write(
            plain, *make_completion_writer(with_logprobs(false), made.model), Framing::kBody));
        expect_whole(stream, text);
        expect_whole(whole, text);
        EXPECT_EQ(together(stream).tokens, together(whole).tokens);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(TokenTextPropertyTest, ACallThatAStopStringCutsIsNoCompleteCall) {
  const Script script{"hermes", "", R"(<tool_call>{"name": "now", "arguments": {"q": "a cut b"}})",
                      "cut"};
  std::mt19937 random(1);
  const Cut made = cut(script, Alphabet::kByteLevel, random);
  const Read answer = read(script, made, /*typed=*/true, random);
  const ChoiceEnd& end = answer.end.choices.at(0);
  EXPECT_EQ(end.reason, FinishReason::kStop);
  EXPECT_EQ(end.stop, "cut");
  EXPECT_EQ(end.calls, 1);
  EXPECT_TRUE(end.in_call);
  const auto whole =
      write(answer, *make_chat_writer(with_logprobs(false), made.model), Framing::kBody);
  const value& choice = whole.front().at("choices").at(0);
  EXPECT_EQ(choice.at("finish_reason"), "stop");
  EXPECT_EQ(choice.at("stop_reason"), "cut");
  EXPECT_EQ(choice.at("message").at("tool_calls").at(0).at("function").at("arguments"),
            R"({"q": "a )");
  EXPECT_TRUE(choice.at("logprobs").at("content").as_array().empty());
}

}  // namespace
}  // namespace weft
