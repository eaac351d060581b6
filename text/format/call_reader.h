#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/text/format/output_format.h"
#include "weft/text/format/tool_schemas.h"
#include "weft/text/output/output_piece.h"

namespace weft {

/// Writes calls, whose pieces readers pass to it in order. It also decides whether a call may be
/// written. Owner only.
class CallSink {
 public:
  /// With `known_only`, only the functions of `tools` can be called.
  CallSink(const ToolSchemas& tools, bool known_only) : tools_(tools), known_only_(known_only) {}

  /// The model's own id of the next call; empty: it has none.
  void name_call(std::string_view id) { id_ = id; }

  /// Later pieces are written to `out`.
  void write_to(TypedText& out) noexcept { out_ = &out; }

  /// Begins a call. Returns false, and writes nothing, where the text cannot be a function's name,
  /// because it is empty, longer than kMaxName or has spaces, quotes or brackets.
  [[nodiscard]] bool begin(std::string_view name);
  void arguments(std::string_view text) { out_->add(PieceKind::kArguments, text); }
  void end();

  /// Whether a call has begun and not ended.
  [[nodiscard]] bool in_call() const noexcept { return in_call_; }
  /// The number of calls that have begun, and of calls that have ended.
  [[nodiscard]] std::int32_t begun() const noexcept { return begun_; }
  [[nodiscard]] std::int32_t ended() const noexcept { return ended_; }
  [[nodiscard]] const ToolSchemas& tools() const noexcept { return tools_; }

  static constexpr std::size_t kMaxName = 256;

 private:
  const ToolSchemas& tools_;
  bool known_only_;
  TypedText* out_ = nullptr;
  std::string id_;
  bool in_call_ = false;
  std::int32_t begun_ = 0;
  std::int32_t ended_ = 0;
};

/// Reads the text between the tags of a call, or of a list of calls, byte by byte. Owner only.
class CallReader {
 public:
  enum class Step : std::uint8_t {
    kMore,
    kDone,        ///< the body ends with this byte
    kDoneBefore,  ///< the body ended before this byte, which does not belong to it
    kBroken,      ///< the byte cannot stand here in a body, and is not taken; a call that has begun
                  ///< stays begun
  };

  CallReader() = default;
  CallReader(const CallReader&) = delete;
  CallReader& operator=(const CallReader&) = delete;
  virtual ~CallReader() = default;

  virtual Step push(char c, CallSink& sink) = 0;
  /// Called at the output's end: ends a call whose arguments are complete.
  virtual void finish(CallSink& /*sink*/) {}
};

/// `syntax` is borrowed.
[[nodiscard]] std::unique_ptr<CallReader> make_json_calls(const CallSyntax& syntax);
[[nodiscard]] std::unique_ptr<CallReader> make_named_call(const CallSyntax& syntax);
[[nodiscard]] std::unique_ptr<CallReader> make_tagged_call(const CallSyntax& syntax);
[[nodiscard]] std::unique_ptr<CallReader> make_keyed_calls();
[[nodiscard]] std::unique_ptr<CallReader> make_pair_call(const CallSyntax& syntax);
[[nodiscard]] std::unique_ptr<CallReader> make_python_calls(const CallSyntax& syntax);
/// Makes the reader for the syntax's body, which is not kNone. With tags around calls it also reads
/// other forms that models of such families write: JSON and, between Hermes' and Mistral's tags,
/// the forms of their newer or older models.
[[nodiscard]] std::unique_ptr<CallReader> make_call_reader(const CallSyntax& syntax);

}  // namespace weft
