#include "weft/text/chat/chat_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/text/text_error.h"

namespace weft {
namespace {

namespace json = boost::json;
using test::FailsWith;
using Tokens = std::vector<TokenId>;

constexpr std::chrono::local_seconds kEpoch{};

/// Tokens a to e, and the BOS, which it puts before every text.
constexpr std::string_view kTokenizer = R"({
  "added_tokens": [{"id": 5, "content": "<s>", "special": true}],
  "decoder": {"type": "Fuse"},
  "post_processor": {"type": "TemplateProcessing", "pair": [], "special_tokens":
    {"<s>": {"id": "<s>", "ids": [5], "tokens": ["<s>"]}},
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
               {"Sequence": {"id": "A", "type_id": 0}}]},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4}, "merges": []}})";

class ChatEncoderTest : public testing::Test {
 protected:
  static Tokenizer load(std::string_view config) {
    const test::TempFolder folder;
    folder.write("tokenizer.json", kTokenizer);
    folder.write("tokenizer_config.json", config);
    return Tokenizer::load(folder.path()).value();
  }
  static Conversation says(std::string_view content) {
    return {.messages = {{{"role", "user"}, {"content", content}}}};
  }

  const Tokenizer tokenizer_ = load(R"({"bos_token": "<s>", "chat_template":
      "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}{{ tools }}"})");
};

TEST_F(ChatEncoderTest, AddsNoSpecialTokensToThoseThatTheTemplateWrites) {
  const ChatEncoder none(tokenizer_, "{{ messages[0].content }}");
  EXPECT_EQ(none.encode(says("ab"), kEpoch).value(), (Tokens{0, 1}));
  const ChatEncoder chat(tokenizer_, "{{ bos_token }}{{ messages[0].content }}");
  EXPECT_EQ(chat.encode(says("ab"), kEpoch).value(), (Tokens{5, 0, 1}));
}

TEST_F(ChatEncoderTest, MarkedAnswersAreTheTokensWithAByteOfTheirText) {
  const auto answers_of = [&](std::string_view source) {
    std::vector<std::pair<std::size_t, std::size_t>> answers;
    const auto marked = ChatEncoder(tokenizer_, source).encode_marked(says("ab"), kEpoch);
    for (const auto& [begin, end] : marked.value().answers) answers.emplace_back(begin, end);
    return answers;
  };
  using Answers = std::vector<std::pair<std::size_t, std::size_t>>;
  EXPECT_EQ(answers_of("c{% generation %}{{ messages[0].content }}{% endgeneration %}d"),
            (Answers{{1, 3}}));
  EXPECT_EQ(answers_of("{% for i in [1, 2] %}c{% generation %}d{% endgeneration %}{% endfor %}"),
            (Answers{{1, 2}, {3, 4}}));
  EXPECT_EQ(answers_of("<s>{% generation %}{% endgeneration %}a"), (Answers{{1, 1}}))
      << "of nothing";
  EXPECT_EQ(answers_of("a{% generation %}b<s>{% endgeneration %}"), (Answers{{1, 3}}));
  EXPECT_EQ(answers_of("abc"), Answers());
  EXPECT_EQ(answers_of("{% set x %}{% generation %}a{% endgeneration %}{% endset %}{{ x }}"),
            Answers())
      << "of a captured text";
}

/// Tokens are the bytes from ' ' to '~', by their own codes, and the tags below.
class FinalMessageTest : public testing::Test {
 protected:
  static Tokenizer bytes() {
    json::object vocabulary;
    for (char c = ' '; c <= '~'; ++c) vocabulary[std::string(1, c)] = c - ' ';
    const json::object all = {
        {"model", {{"type", "BPE"}, {"vocab", std::move(vocabulary)}, {"merges", json::array()}}},
        {"decoder", {{"type", "Fuse"}}}};
    return Tokenizer::from_json(json::serialize(all), "bytes").value();
  }
  /// The prompt of a conversation whose last message is to be continued.
  [[nodiscard]] Result<std::string> prompt(std::string_view source, json::object last) const {
    json::array messages{{{"role", "user"}, {"content", "q"}}};
    messages.push_back(std::move(last));
    const auto ids =
        ChatEncoder(tokenizer_, source)
            .encode({.messages = std::move(messages), .continue_final_message = true}, kEpoch);
    if (!ids) return ids.error();
    return tokenizer_.decode(*ids, false);
  }
  static json::object said(std::string_view text) {
    return {{"role", "assistant"}, {"content", text}};
  }

  const Tokenizer tokenizer_ = bytes();
  static constexpr std::string_view kTurns =
      "{% for m in messages %}[{{ m.role }}:{{ m.content }}]{% endfor %}"
      "{% if add_generation_prompt %}[assistant:{% endif %}";
};

TEST_F(FinalMessageTest, ThePromptEndsWithTheTextThatIsContinued) {
  EXPECT_EQ(prompt(kTurns, said("The answer")).value(), "[user:q][assistant:The answer");
  EXPECT_EQ(prompt(kTurns, said("ends in a space ")).value(),
            "[user:q][assistant:ends in a space ");
  EXPECT_EQ(prompt(kTurns, said("")).value(), "[user:q][assistant:");
  EXPECT_EQ(
      prompt("{% for m in messages %}{{ m.content | tojson }};{% endfor %}", said("a")).value(),
      "\"q\";\"a");
}

TEST_F(FinalMessageTest, ATextThatTheTemplateTrimsIsTrimmed) {
  EXPECT_EQ(
      prompt("{% for m in messages %}[{{ m.content | trim }}]{% endfor %}", said(" a b ")).value(),
      "[q][a b");
}

TEST_F(FinalMessageTest, TheLastTextOfAListOfPartsIsContinued) {
  json::object last{{"role", "assistant"},
                    {"content", json::array{{{"type", "text"}, {"text", "a"}},
                                            {{"type", "text"}, {"text", "b"}}}}};
  EXPECT_EQ(prompt("{% for m in messages %}{% for p in m.content %}{{ p.text or p }};{% endfor %}"
                   "{% endfor %}",
                   std::move(last))
                .value(),
            "q;a;b");
}

TEST_F(FinalMessageTest, AThoughtIsContinuedWhereThereIsNoTextBehindIt) {
  constexpr std::string_view kThinks =
      "{% for m in messages %}[{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>"
      "{% endif %}{{ m.content }}]{% endfor %}";
  json::object last = said("");
  last["reasoning_content"] = "hm";
  EXPECT_EQ(prompt(kThinks, last).value(), "[q][<think>hm");
  last["content"] = "so";
  EXPECT_EQ(prompt(kThinks, last).value(), "[q][<think>hm</think>so");
}

TEST_F(FinalMessageTest, SaysWhatCannotBeContinued) {
  EXPECT_THAT(prompt(kTurns, {{"role", "user"}, {"content", "a"}}),
              FailsWith(TextErrc::kTemplateFailed, "messages: the last message is not the"));
  json::object calls = said("a");
  calls["tool_calls"] = json::array{json::object{{"function", json::object{{"name", "f"}}}}};
  EXPECT_THAT(prompt(kTurns, calls), FailsWith(TextErrc::kTemplateFailed, "has calls"));
  EXPECT_THAT(prompt(kTurns, {{"role", "assistant"}, {"content", nullptr}}),
              FailsWith(TextErrc::kTemplateFailed, "has no text"));
  EXPECT_THAT(prompt("{{ messages[0].content }}", said("a")),
              FailsWith(TextErrc::kTemplateFailed, "does not write its text"));
}

TEST_F(FinalMessageTest, AMessageMayHaveTheMarkInIt) {
  const std::string mark =
      "\xF0\x9F\xBF\xBE"
      "0"
      "\xF0\x9F\xBF\xBE";
  const auto ids =
      ChatEncoder(tokenizer_, kTurns)
          .encode({.messages = {{{"role", "user"}, {"content", mark + " x"}}, said("a")},
                   .continue_final_message = true},
                  kEpoch);
  ASSERT_TRUE(ids);
  EXPECT_TRUE(tokenizer_.decode(*ids, false).value().ends_with("x][assistant:a"));
}

TEST_F(ChatEncoderTest, WithoutATokenizerThereAreNoConversations) {
  const ChatEncoder none(Tokenizer::none(), "{{ messages[0].content }}");
  ASSERT_TRUE(none.problem());
  EXPECT_EQ(none.problem()->code, TextErrc::kNoTokenizer);
}

// <, s, > are tokens of their own here, so that a text can be told from the token <s>.
constexpr std::string_view kSpelled = R"({
  "added_tokens": [{"id": 5, "content": "<s>", "special": true},
                   {"id": 6, "content": "<t>", "special": false}],
  "decoder": {"type": "Fuse"},
  "model": {"type": "BPE", "vocab": {"<": 0, "s": 1, ">": 2, "a": 3, "\"": 4},
            "merges": []}})";

class LiteralTextsTest : public ChatEncoderTest {
 protected:
  [[nodiscard]] Tokens encode(std::string_view source, json::array messages) const {
    return ChatEncoder(spelled_, source).encode({.messages = std::move(messages)}, kEpoch).value();
  }
  static json::array say(std::string_view content) { return says(content).messages; }

  const Tokenizer spelled_ = Tokenizer::from_json(kSpelled, "spelled").value();
  const std::string turns_ = "{% for m in messages %}<s>{{ m.content }}{% endfor %}<s>";
};

TEST_F(LiteralTextsTest, TheTextOfASpecialTokenInAMessageIsNotTheToken) {
  EXPECT_EQ(encode(turns_, say("a<s>a")), (Tokens{5, 3, 0, 1, 2, 3, 5}));
  EXPECT_EQ(encode(turns_, say("<s>")), (Tokens{5, 0, 1, 2, 5}));
  EXPECT_EQ(encode(turns_, say("<s><s>")), (Tokens{5, 0, 1, 2, 0, 1, 2, 5}));
}

TEST_F(LiteralTextsTest, TokensThatAreNotSpecialAreStillFound) {
  EXPECT_EQ(encode(turns_, say("<t><s>")), (Tokens{5, 6, 0, 1, 2, 5}));
}

// This tokenizer is like the one above, with special tokens that are searched in normalized text,
// which is in lower case.
constexpr std::string_view kNormalized = R"({
  "added_tokens": [{"id": 5, "content": "<s>", "special": true, "normalized": true},
                   {"id": 6, "content": "<t>", "special": false, "normalized": true}],
  "normalizer": {"type": "Lowercase"},
  "decoder": {"type": "Fuse"},
  "model": {"type": "BPE", "vocab": {"<": 0, "s": 1, ">": 2, "a": 3, "t": 4}, "merges": []}})";

class NormalizedLiteralTextsTest : public LiteralTextsTest {
 protected:
  [[nodiscard]] Tokens encode_turn(std::string_view content) const {
    return ChatEncoder(normalized_, turns_).encode(says(content), kEpoch).value();
  }
  const Tokenizer normalized_ = Tokenizer::from_json(kNormalized, "normalized").value();
};

TEST_F(NormalizedLiteralTextsTest, WhatAMessageSaysLeavesTheTemplatesTokensAlone) {
  EXPECT_EQ(encode_turn("A"), (Tokens{5, 3, 5}));
  EXPECT_EQ(encode_turn("a<s>a"), (Tokens{5, 3, 0, 1, 2, 3, 5}));
  EXPECT_EQ(encode_turn("a <"), (Tokens{5, 3, 0, 5})) << "which may begin one";
  EXPECT_EQ(encode_turn("<t><s>"), (Tokens{5, 6, 0, 1, 2, 5}));
}

TEST_F(NormalizedLiteralTextsTest, ATextThatIsOneOnlyWhenItIsNormalizedIsNone) {
  EXPECT_EQ(encode_turn("<S>"), (Tokens{5, 0, 1, 2, 5}));
}

TEST_F(LiteralTextsTest, NoneIsPutTogetherFromTwoTexts) {
  for (const char* first : {"<", "<s", "<s ", "<s\n\n"}) {
    const std::string rest = first[1] == 's' ? ">" : "s>";
    json::array messages = say(first);
    messages.push_back(say(rest)[0]);
    EXPECT_EQ(encode("{% for m in messages %}{{ m.content | trim }}{% endfor %}", messages),
              (Tokens{0, 1, 2}))
        << first;
  }
}

TEST_F(LiteralTextsTest, TemplatesSeeTheTextAsTheClientWroteIt) {
  for (const char* question : {
           "m.content == '<s>a'",
           "m.content.startswith('<s>')",
           "'<s>' in m.content",
           "m.content | length == 4",
           "m.content.find('a') == 3",
           "m.content[:3] == '<s>'",
           "m.content.split('<s>')[1] == 'a'",
           "m.content.replace('<s>', '') == 'a'",
           "m.content | replace('<s>', 'a') == 'aa'",
           "m.content.removeprefix('<s>') == 'a'",
           "m.content.count('<s>') == 1",
           "m.content | list | length == 4",
           "m.content | tojson == '\"<s>a\"'",
       }) {
    const std::string source = "{% set m = messages[0] %}{% if " + std::string(question) +
                               " %}a{% endif %}{{ m.content }}";
    EXPECT_EQ(encode(source, say("<s>a")), (Tokens{3, 0, 1, 2, 3})) << question;
  }
}

TEST_F(LiteralTextsTest, WhatATemplateMakesOfAMessageIsTheClientsStill) {
  for (const char* made : {
           "{{ c }}",
           "{{ c | trim }}",
           "{{ c[0:1] }}{{ c[1:] }}",
           "{{ c[::-1][::-1] }}",
           "{{ c | upper | lower }}",
           "{{ c.swapcase().swapcase() }}",
           "{{ c | title | lower }}",
           "{{ c ~ '' }}",
           "{{ '' + c }}",
           "{{ c * 1 }}",
           "{{ '%s' % c }}",
           "{{ '%s' | format(c) }}",
           "{{ '{}'.format(c) }}",
           "{{ '{:3}'.format(c) }}",
           "{{ [c] | join }}",
           "{{ c | list | join }}",
           "{{ ''.join(c.split('a')) }}",
           "{{ c | reverse | reverse }}",
           "{{ c | replace('x', 'y') }}",
           "{{ 'x' | replace('x', c) }}",
           "{{ c | indent }}",
           "{{ c | wordwrap(9) }}",
           "{{ c.ljust(2) }}",
           "{{ (c | tojson)[1:-1] }}",
           "{{ (c | tojson(ensure_ascii=true))[1:-1] }}",
           "{{ ([c] | string)[2:-2] }}",
           "{{ ('%r' % c)[1:-1] }}",
           "{{ c | safe }}",
           "{% for l in c %}{{ l }}{% endfor %}",
           "{% set b %}{{ c }}{% endset %}{{ b }}",
           "{% set n = namespace(x='') %}{% set n.x = n.x + c %}{{ n.x }}",
           "{% macro f(x) %}{{ x }}{% endmacro %}{{ f(c) }}",
           "{% filter trim %}{{ c }}{% endfilter %}",
           "{{ {c: 1} | items | first | first }}",
       }) {
    const std::string source = "{% set c = messages[0].content %}" + std::string(made);
    EXPECT_EQ(encode(source, say("<s>")), (Tokens{0, 1, 2})) << made;
  }
}

TEST_F(LiteralTextsTest, TheTemplatesTokensStayTokensBesideAMessage) {
  for (const char* made : {
           "{{ '<s>' ~ c ~ '<s>' }}",
           "{{ ('<s>' + c + '<s>') | trim }}",
           "{{ ('<s>' ~ c ~ '<s>') | upper | lower }}",
           "{{ ('<s>' ~ c ~ '<s>') | replace('x', 'y') }}",
           "{{ ('<s>' ~ c ~ '<s>').split('x') | join }}",
           "{{ '<s>%s<s>' % c }}",
           "{{ '<s>{}<s>'.format(c) }}",
           "{{ (('<s>' ~ c ~ '<s>') | tojson)[1:-1] }}",
           "{% set b %}<s>{{ c }}<s>{% endset %}{{ b | indent }}",
           "{% macro f(x) %}<s>{{ x }}<s>{% endmacro %}{{ f(c) }}",
           "{% filter trim %}<s>{{ c }}<s>{% endfilter %}",
       }) {
    const std::string source = "{% set c = messages[0].content %}" + std::string(made);
    EXPECT_EQ(encode(source, say("<s>")), (Tokens{5, 0, 1, 2, 5})) << made;
  }
}

TEST_F(LiteralTextsTest, AClientBeginsAndEndsNoToken) {
  EXPECT_EQ(encode("{{ messages[0].content }}>", say("<s")), (Tokens{0, 1, 2}));
  EXPECT_EQ(encode("<{{ messages[0].content }}", say("s>")), (Tokens{0, 1, 2}));
  EXPECT_EQ(encode("{{ messages[0].content | replace('a', '') }}", say("<as>")), (Tokens{0, 1, 2}));
  EXPECT_EQ(encode("{{ messages[0].content | lower }}", say("<S>")), (Tokens{0, 1, 2}));
}

TEST_F(LiteralTextsTest, ARoleBetweenATemplatesSignsMakesAToken) {
  json::array messages{{{"role", "s"}, {"content", "a"}}};
  EXPECT_EQ(encode("{% for m in messages %}{{ '<' + m.role + '>' + m.content }}{% endfor %}",
                   std::move(messages)),
            (Tokens{5, 3}));
}

TEST_F(LiteralTextsTest, ToolsAndVariablesOfARequestAreAClientsToo) {
  Conversation conversation{.messages = say("a"), .tools = json::array{"<s>"}};
  conversation.chat_template_kwargs = {{"mine", "<s>"}, {"documents", {"<s>"}}};
  const ChatEncoder chat(spelled_, "<s>{{ tools[0] }}{{ mine }}{{ documents[0] }}");
  EXPECT_EQ(chat.encode(std::move(conversation), kEpoch).value(),
            (Tokens{5, 0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

TEST_F(LiteralTextsTest, NestedTextsAndKeysAreTextsToo) {
  json::object nested;
  nested["<s>"] = json::array(1, json::value("<s>"));
  json::array messages;
  messages.emplace_back(std::move(nested));
  EXPECT_EQ(encode("{% for k, v in messages[0].items() %}{{ k }}a{{ v[0] }}{% endfor %}",
                   std::move(messages)),
            (Tokens{0, 1, 2, 3, 0, 1, 2}));
}

TEST_F(LiteralTextsTest, JsonInAsciiMakesNoTokenEither) {
  EXPECT_EQ(encode("{{ messages[0].content | tojson }}", say("<s>")), (Tokens{4, 0, 1, 2, 4}));
  EXPECT_EQ(encode("{{ messages[0].content | tojson(ensure_ascii=true) }}", say("<s>")),
            (Tokens{4, 0, 1, 2, 4}));
}

TEST_F(LiteralTextsTest, ManyOfThemTakeLinearTime) {
  std::string many;
  constexpr std::size_t kCount = 200'000;
  for (std::size_t i = 0; i < kCount; ++i) many += "<s>";
  EXPECT_EQ(encode(turns_, say(many)).size(), (3 * kCount) + 2);
}

TEST_F(ChatEncoderTest, TakesTheTokenizersOwnTemplate) {
  Conversation conversation = says("ab");
  conversation.tools = "cd";
  EXPECT_EQ(ChatEncoder(tokenizer_).encode(std::move(conversation), kEpoch).value(),
            (Tokens{5, 0, 1, 2, 3}));
}

TEST_F(ChatEncoderTest, PassesOnWhatAConversationSaysBesideItsMessages) {
  const ChatEncoder chat(tokenizer_,
                         "{{ tools }}{{ reasoning_effort }}"
                         "{% if add_generation_prompt %}e{% endif %}");
  Conversation conversation = says("ab");
  conversation.tools = "b";
  conversation.chat_template_kwargs = {{"reasoning_effort", "c"}};
  EXPECT_EQ(chat.encode(conversation, kEpoch).value(), (Tokens{1, 2, 4}));
  conversation.add_generation_prompt = false;
  EXPECT_EQ(chat.encode(conversation, kEpoch).value(), (Tokens{1, 2}));
}

TEST_F(ChatEncoderTest, TakesTheTemplateForToolsWhereThereAreAny) {
  const ChatEncoder chat(tokenizer_, "a", "b{{ tools[0] }}");
  EXPECT_EQ(chat.encode(says("e"), kEpoch).value(), Tokens{0});
  Conversation conversation = says("e");
  conversation.tools = json::array();
  EXPECT_EQ(chat.encode(conversation, kEpoch).value(), Tokens{0});
  conversation.tools = json::array{"c"};
  EXPECT_EQ(chat.encode(conversation, kEpoch).value(), (Tokens{1, 2}));
}

TEST_F(ChatEncoderTest, TellsOfAWrongTemplateForToolsWhenItIsNeeded) {
  const ChatEncoder chat(tokenizer_, "a", "{% if %}");
  EXPECT_FALSE(chat.problem());
  EXPECT_EQ(chat.encode(says("e"), kEpoch).value(), Tokens{0});
  Conversation conversation = says("e");
  conversation.tools = json::array{"c"};
  EXPECT_THAT(chat.encode(std::move(conversation), kEpoch),
              FailsWith(TextErrc::kBadTemplate, "chat_template.tool_use:1:"));
}

TEST_F(ChatEncoderTest, BringsMessagesIntoTheTemplatesForm) {
  const ChatEncoder chat(tokenizer_,
                         "{% for m in messages %}{% for p in m.content %}"
                         "{{ p.text if p.text is defined else p }}{% endfor %}{% endfor %}");
  Conversation conversation;
  conversation.messages = {
      {{"role", "user"},
       {"content", {{{"type", "text"}, {"text", "a"}}, {{"type", "text"}, {"text", "b"}}}}}};
  EXPECT_EQ(chat.encode(std::move(conversation), kEpoch).value(), (Tokens{0, 1}));
}

TEST_F(ChatEncoderTest, NamesTheFieldThatIsWrong) {
  EXPECT_THAT(ChatEncoder(tokenizer_, "").encode(says("a"), kEpoch),
              FailsWith(TextErrc::kBadTemplate, "the model has no chat template"));
  EXPECT_THAT(ChatEncoder(tokenizer_, "\n{% if %}").encode(says("a"), kEpoch),
              FailsWith(TextErrc::kBadTemplate, "chat_template:2:"));
  const ChatEncoder refusing(tokenizer_, "{{ raise_exception('no') }}");
  EXPECT_THAT(refusing.encode(says("a"), kEpoch),
              FailsWith(TextErrc::kTemplateFailed, "messages: chat_template:1: no"));
  Conversation conversation = says("a");
  conversation.chat_template_kwargs = {{"messages", "mine"}};
  const auto refused = ChatEncoder(tokenizer_).encode(std::move(conversation), kEpoch);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, TextErrc::kBadTemplateKwarg);
  EXPECT_EQ(refused.error().detail, "chat_template_kwargs: 'messages' is not allowed");
}

}  // namespace
}  // namespace weft
