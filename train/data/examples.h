#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/text/chat/chat_encoder.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// How the tokens of an example that are learnt were found.
enum class Learnt : std::uint8_t {
  kText,    ///< all tokens of a text
  kMarked,  ///< the answers of a conversation as the chat template marks them ({% generation %})
  kEnded,   ///< the template has no marks: each answer behind its generation prompt, up to its end
};

/// A sequence to learn from.
struct Example {
  std::vector<TokenId> ids;
  std::vector<float> weights;  ///< [T]: of predicting each token; of the first always 0
  Learnt learnt = Learnt::kText;
};

/// The examples of a file, in its order.
struct Examples {
  std::vector<Example> all;
  std::int64_t cut = 0;      ///< examples that were longer than a micro-batch
  std::int64_t cut_out = 0;  ///< of these, the ones that the cut left nothing to learn of: left out
  std::int64_t without_weight = 0;  ///< examples whose weights are all 0: left out
  std::int64_t marked = 0;          ///< conversations of the file with Learnt::kMarked
  std::int64_t ended = 0;           ///< conversations of the file with Learnt::kEnded
};

/// Says for a person which tokens of conversations are learnt; empty: there are no conversations.
[[nodiscard]] std::string how_learnt(const Examples& examples);

/// The most bytes of a line, which is parsed and tokenized in one go: at some MB a second no stop
/// waits longer than seconds. It leaves 32 bytes for each token of a context of 131,072.
inline constexpr std::size_t kMostLineBytes = std::size_t{4} << 20U;

/// Checks a line of training data (ExampleReader) as far as that needs no model. kBadData, whose
/// detail begins with the field.
[[nodiscard]] Result<void> check_training_line(std::string_view line);

/// Makes tokens of lines of training data. Borrows the tokenizer's parts for its life.
class ExampleReader {
 public:
  struct Options {
    std::size_t tokens = 2048;        ///< longest example; the rest of a longer one is cut off
    std::vector<TokenId> end_tokens;  ///< of the model
    /// Of the model; a tokenizer may have more tokens.
    std::int64_t vocabulary = std::numeric_limits<TokenId>::max();
    std::chrono::local_seconds now{};  ///< the chat template's time
    /// Ends read() and read_line() before the next text is tokenized, by throw_if_stopped().
    std::stop_token stop{};
  };

  ExampleReader(const Tokenizer& tokenizer, Options options);

  /// Reads a file of JSON objects, one a line; empty lines are passed over. A line has either
  /// "messages" (with "tools", and "weight" in an answer), from which the assistant's answers are
  /// learnt (Learnt); or "text", which is learnt whole, with an end token behind
  /// it. "weight" beside "text" or "messages" multiplies the line's weights. kBadData naming file,
  /// line and field: more than kMostLineBytes, no JSON, a field of another type, a weight that is
  /// no float32, no answer to learn from, without marks an answer that the chat template writes in
  /// another way once the conversation goes on, weights that cannot be given to the template's
  /// marks, a token that the model lacks; errors of the file, and of the chat template.
  [[nodiscard]] Result<Examples> read(const std::filesystem::path& path) const;

  /// Reads one line. The error's detail names the field.
  [[nodiscard]] Result<Example> read_line(std::string_view line) const;

 private:
  [[nodiscard]] Result<Example> read_text(const boost::json::object& line, float weight) const;
  [[nodiscard]] Result<Example> read_messages(const boost::json::object& line, float weight) const;
  [[nodiscard]] Result<std::size_t> learn_ended(const boost::json::object& line,
                                                std::size_t message, float weight,
                                                Example& example) const;
  [[nodiscard]] Conversation conversation_of(const boost::json::object& line, std::size_t messages,
                                             bool prompts) const;
  [[nodiscard]] Result<std::vector<TokenId>> encode(const boost::json::object& line,
                                                    std::size_t messages, bool prompts) const;
  [[nodiscard]] bool is_end(TokenId id) const;
  [[nodiscard]] Result<void> check_tokens(const Example& example, std::string_view field) const;

  const Tokenizer& tokenizer_;
  ChatEncoder chat_;
  Options options_;
};

}  // namespace weft
