#include "weft/cli/chat/chat_commands.h"

#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "weft/cli/chat/help_text.h"

namespace weft::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Expects a command of that kind in the line, and returns it.
template <class Command>
Command command_of(std::string_view line, ChatMode mode = ChatMode::kChat) {
  const auto parsed = parse_command(line, mode);
  if (!parsed) {
    ADD_FAILURE() << line << ": " << parsed.error().what;
    return Command{};
  }
  const auto* command = std::get_if<Command>(&*parsed);
  if (command == nullptr) {
    ADD_FAILURE() << line << " is command " << parsed->index();
    return Command{};
  }
  return *command;
}

struct Wrong {
  std::string line;
  std::size_t offset;
  std::string what;
};

TEST(ChatCommands, TakesWhatHasNoSlashForAQuestion) {
  EXPECT_EQ(command_of<chat::Ask>("  what is 1 + 1? \r").text, "what is 1 + 1?");
  EXPECT_EQ(command_of<chat::Ask>("[\"a\"] is a list").text, "[\"a\"] is a list");
  command_of<std::monostate>("  \t ");
}

TEST(ChatCommands, TakesABatchWithAndWithoutLengths) {
  const auto both = command_of<chat::Submit>(R"(/batch ["Prompt 1", "Prompt \"2\""] [32, 64])");
  ASSERT_EQ(both.prompts.size(), 2U);
  EXPECT_EQ(both.prompts[1].input, "Prompt \"2\"");
  EXPECT_EQ(both.prompts[0].max_tokens, 32);
  EXPECT_EQ(both.prompts[1].max_tokens, 64);
  const auto one = command_of<chat::Submit>(R"(["a"])", ChatMode::kBatch);
  ASSERT_EQ(one.prompts.size(), 1U);
  EXPECT_EQ(one.prompts[0].max_tokens, 0);
  EXPECT_EQ(command_of<chat::SubmitFile>("/batch @some file.jsonl").path, "some file.jsonl");
  EXPECT_EQ(command_of<chat::SubmitFile>("@a.jsonl", ChatMode::kBatch).path, "a.jsonl");
}

TEST(ChatCommands, ChangesTheModeWhenACommandStandsAlone) {
  EXPECT_EQ(command_of<chat::Enter>("/batch").mode, ChatMode::kBatch);
  EXPECT_EQ(command_of<chat::Enter>("/chat", ChatMode::kBatch).mode, ChatMode::kChat);
}

TEST(ChatCommands, TakesTheOthers) {
  EXPECT_EQ(command_of<chat::Cancel>("/cancel 12").batch, 12);
  EXPECT_EQ(command_of<chat::Save>("/save talk.json").path, "talk.json");
  EXPECT_EQ(command_of<chat::System>("/system Be  brief.").text, "Be  brief.");
  EXPECT_EQ(command_of<chat::System>("/system").text, "");
  command_of<chat::Status>("/status ");
  command_of<chat::Forget>("/new");
  command_of<chat::Help>("/help");
  command_of<chat::Quit>("/quit");
}

TEST(ChatCommands, TakesSettingsAsJsonAndOtherWordsAsTexts) {
  EXPECT_EQ(command_of<chat::Set>("/set temperature 0.7").value, boost::json::value(0.7));
  EXPECT_EQ(command_of<chat::Set>("/set stop [\"a\"]").value->as_array().size(), 1U);
  EXPECT_EQ(command_of<chat::Set>("/set user me and you").value, boost::json::value("me and you"));
  EXPECT_EQ(command_of<chat::Set>("/set max_tokens 5").name, "max_output_tokens");
  EXPECT_EQ(command_of<chat::Set>("/set temperature").value, std::nullopt);
  EXPECT_EQ(command_of<chat::Set>("/set").name, "");
}

TEST(ChatCommands, SaysWhatIsWrongAndWhere) {
  const std::string most = std::to_string(kMaxBatchPrompts);
  std::string many = "/batch [";
  for (std::size_t i = 0; i <= kMaxBatchPrompts; ++i) many += i == 0 ? R"("a")" : R"(,"a")";
  for (const Wrong& wrong : {
           Wrong{"/bath", 0, "is /batch meant?"},
           Wrong{"  /nothing-like-it", 2, "no such command; /help"},
           Wrong{"/chat hello", 6, "nothing belongs behind /chat"},
           Wrong{"/status all", 8, "nothing belongs"},
           Wrong{"/quit now", 6, "nothing belongs"},
           Wrong{"/help me", 6, "nothing belongs"},
           Wrong{"/new one", 5, "nothing belongs"},
           Wrong{"/save", 5, "a file's name"},
           Wrong{"/save ", 5, "a file's name"},
           Wrong{"/cancel", 7, "the number of a batch"},
           Wrong{"/cancel one", 8, "the number of a batch"},
           Wrong{"/cancel 0", 8, "the number of a batch"},
           Wrong{"/cancel 3x", 8, "the number of a batch"},
           Wrong{"/cancel 99999999999999999999", 8, "the number of a batch"},
           Wrong{"/set input x", 5, "input is not for /set"},
           Wrong{"/set stop [1", 10, "no JSON"},
           Wrong{"/batch @", 8, "a file's name"},
           Wrong{"/batch hello", 7, "a list of prompts in brackets"},
           Wrong{"/batch []", 8, "no prompts"},
           Wrong{"/batch [", 8, "in double quotes"},
           Wrong{"/batch [hello]", 8, "in double quotes"},
           Wrong{"/batch ['a']", 8, "in double quotes"},
           Wrong{R"(/batch ["a)", 8, "no closing quote"},
           Wrong{R"(/batch ["a" "b"])", 12, "a comma or ]"},
           Wrong{R"(/batch ["a", ])", 13, "in double quotes"},
           Wrong{R"(/batch ["a")", 11, "a comma or ]"},
           Wrong{R"(/batch ["a\q"])", 10, "no such escape"},
           Wrong{R"(/batch ["\ud800"])", 8, "no JSON string"},
           Wrong{R"(/batch ["a"] 5)", 13, "a list of lengths"},
           Wrong{R"(/batch ["a"] [five])", 14, "a whole number"},
           Wrong{R"(/batch ["a"] [0])", 14, "a whole number"},
           Wrong{R"(/batch ["a"] [-4])", 14, "a whole number"},
           Wrong{R"(/batch ["a"] [1.5])", 15, "a comma or ]"},
           Wrong{R"(/batch ["a"] [99999999999])", 14, "a whole number"},
           Wrong{R"(/batch ["a"] [1, 2])", 13, "1 prompts and 2 lengths"},
           Wrong{R"(/batch ["a", "b"] [])", 18, "2 prompts and 0 lengths"},
           Wrong{R"(/batch ["a"] [1] x)", 17, "nothing belongs behind the lists"},
           Wrong{many, 8 + 4 * kMaxBatchPrompts, "at most " + most},
       }) {
    const auto parsed = parse_command(wrong.line, ChatMode::kChat);
    ASSERT_FALSE(parsed) << wrong.line;
    EXPECT_EQ(parsed.error().offset, wrong.offset) << wrong.line << ": " << parsed.error().what;
    EXPECT_THAT(parsed.error().what, HasSubstr(wrong.what)) << wrong.line;
  }
}

TEST(ChatCommands, SaysInBatchModeThatAQuestionIsNone) {
  const auto parsed = parse_command(" what is that?", ChatMode::kBatch);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().offset, 1U);
  EXPECT_THAT(parsed.error().what, HasSubstr("/chat"));
}

TEST(ChatCommands, CompletesCommandsAndSettings) {
  EXPECT_THAT(completions_of("/s"), ElementsAre("/status", "/save", "/system", "/set"));
  EXPECT_THAT(completions_of("/b"), ElementsAre("/batch"));
  EXPECT_THAT(completions_of("/set top"), ElementsAre("top_p", "top_k"));
  EXPECT_THAT(completions_of("what"), IsEmpty());
}

/// The words of a text, one space between them.
std::string words_in(std::string_view text) {
  std::string words;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n';
    if (!space) words += c;
    if (space && !words.empty() && words.back() != ' ') words += ' ';
  }
  return words;
}

TEST(HelpText, BreaksLinesBetweenWords) {
  const std::string all = words_in(help_text(10'000));
  for (const CommandHelp& command : command_help()) EXPECT_THAT(all, HasSubstr(command.text));
  for (const std::size_t columns : {40U, 59U, 60U, 80U, 100U, 132U}) {
    const std::string text = help_text(columns);
    EXPECT_EQ(words_in(text), all) << columns;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\n', begin);
      EXPECT_LE(end - begin, columns) << text.substr(begin, end - begin);
      EXPECT_NE(text[end - 1], ' ') << text.substr(begin, end - begin);
      begin = end + 1;
    }
  }
}

TEST(PromptFile, TakesTextsPromptsAndBatchLines) {
  const auto prompts = parse_prompt_file(
      "\"one\"\n\n{\"prompt\": \"two\", \"max_tokens\": 8}\r\n"
      R"({"custom_id": "x", "body": {"messages": [{"role": "user", "content": "three"}]}})");
  ASSERT_TRUE(prompts) << prompts.error().what;
  ASSERT_EQ(prompts->size(), 3U);
  EXPECT_EQ((*prompts)[0].input, "one");
  EXPECT_EQ((*prompts)[1].max_tokens, 8);
  EXPECT_TRUE((*prompts)[2].input.is_array());
}

TEST(PromptFile, NamesTheLineThatIsWrong) {
  for (const auto& [text, what] : {
           std::pair("\"a\"\n{", "line 2 is no JSON"),
           {"\n7", "line 2 is neither a text nor an object"},
           {"{\"text\": \"a\"}", "line 1 has neither a \"prompt\""},
           {"{\"body\": 1}", "line 1 has a \"body\""},
           {"{\"prompt\": \"a\", \"max_tokens\": 0}", "line 1 has a \"max_tokens\""},
           {"{\"prompt\": \"a\", \"max_tokens\": \"x\"}", "line 1 has a \"max_tokens\""},
           {" \n\n", "no prompts"},
       }) {
    const auto prompts = parse_prompt_file(text);
    ASSERT_FALSE(prompts) << text;
    EXPECT_THAT(prompts.error().what, HasSubstr(what));
  }
}

TEST(Explain, PutsACaretBelowTheCharacter) {
  EXPECT_EQ(explain("/batch hello", {"wrong", 7}), "/batch hello\n       ^\ncolumn 8: wrong");
  EXPECT_EQ(explain("/cancel", {"lacks", 7}), "/cancel\n       ^\ncolumn 8: lacks");
  // Characters are counted, not bytes.
  EXPECT_EQ(explain("\xc3\xa4\xe2\x82\xac x", {"wrong", 6}),
            "\xc3\xa4\xe2\x82\xac x\n   ^\ncolumn 4: wrong");
}

TEST(Explain, ShowsThePartOfALongLineThatIsWrong) {
  const std::string line = std::string(500, 'a') + "X" + std::string(500, 'b');
  for (std::size_t offset = 0; offset <= line.size(); ++offset) {
    const std::string text = explain(line, {"w", offset}, 40);
    const std::size_t end = text.find('\n');
    ASSERT_LE(end, 40U);
    const std::size_t caret = text.find('^') - end - 1;
    ASSERT_LT(caret, 40U);
    ASSERT_EQ(caret < end ? text.substr(caret, 1) : "", line.substr(offset, 1)) << offset;
  }
}

}  // namespace
}  // namespace weft::cli
