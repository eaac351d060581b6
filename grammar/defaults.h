#pragma once

#include <cstddef>
#include <cstdint>

/// Every bound of structured output, each with its reason. A description beyond a bound is refused
/// with GrammarErrc::kTooComplex.
namespace weft::defaults {

/// Bytes of a schema, a grammar or a regular expression. The largest schemas of public collections
/// have some 100 KiB; reading as many bytes as this bound takes some 10 ms.
inline constexpr std::size_t kMaxGrammarText = std::size_t{1} << 20;

/// Nesting depth of schemas, of groups in a regular expression and of brackets in a grammar,
/// because they are read by recursion.
inline constexpr std::size_t kMaxGrammarDepth = 64;

/// Nodes of a grammar, 20 bytes each, and steps of the reader that makes them. A schema whose
/// references multiply reaches this bound within some 50 ms.
inline constexpr std::size_t kMaxGrammarNodes = 200'000;

/// The cost of reading the schemas of one grammar, in steps of some 0.5 us.
inline constexpr std::size_t kMaxSchemaWork = 100'000;

/// Bytes of a grammar's literals and states of its automata, together.
inline constexpr std::size_t kMaxGrammarBytes = std::size_t{4} << 20;

/// Alternatives that are open at once; 1000 optional properties need as many. More may be found
/// first, because alternatives that differ only in their counts are then merged.
inline constexpr std::size_t kMaxOpen = 4096;
inline constexpr std::size_t kMaxFound = 4 * kMaxOpen;

/// The bound on the cost of one mask or one token. It counts alternatives that are looked at (some
/// 10 ns each), and states that are made (some 300 bytes each). A string's mask looks at 50,000
/// alternatives and makes 1,000 states.
inline constexpr std::size_t kMaxWork = 2'000'000;
inline constexpr std::size_t kMaxNewStates = 16'384;

/// Bytes of a grammar's states and masks. At this bound they are dropped, and made again as they
/// are needed.
inline constexpr std::size_t kMaxStateBytes = std::size_t{32} << 20;

/// Bytes of all compiled grammars of a model, with their states and masks. Fits 16 long grammars
/// over a large vocabulary, or hundreds of JSON schemas.
inline constexpr std::size_t kMaxStructuredMemory = std::size_t{256} << 20;

/// Idle grammars take at most this part of kMaxStructuredMemory, 8 MiB. A mask of a large
/// vocabulary is 16 KiB, and a schema has some dozens of masks.
inline constexpr std::size_t kIdleGrammarShare = 32;

/// Grammars that are kept after their requests have ended, and the bytes of their texts.
inline constexpr std::size_t kMaxKeptGrammars = 32;
inline constexpr std::size_t kMaxKeptGrammarText = std::size_t{4} << 20;

/// The cost bounds for finding the text that must come next, and for advancing by a token
/// meanwhile: some 0.2 ms and 1 ms. The scheduler's thread does this work and plans no tick
/// meanwhile, so text that costs more is left to the model.
inline constexpr std::size_t kMaxForcedWork = 20'000;
inline constexpr std::size_t kMaxForcedStates = 1'024;

/// Bytes of text that is forced at once: kMaxForcedTokens tokens of eight bytes.
inline constexpr std::size_t kMaxForcedBytes = 256;

/// Tokens that a matcher can take back.
inline constexpr std::size_t kMaxRollback = 64;

/// Spaces or tabs at the beginning of a line of JSON: 16 levels of two.
inline constexpr std::uint32_t kMaxJsonIndent = 32;

/// White space between the tags of a call.
inline constexpr std::uint32_t kMaxMarkupSpace = 4;

/// Messages that a model of the harmony format writes before its call or its answer.
inline constexpr std::uint32_t kMaxHarmonyMessages = 8;

/// Reported places of lenient schemas that are not enforced, and the bytes of each, because people
/// read them in a header and in a line of the log. Further places become "..."; a longer place
/// loses its beginning, since the keyword is at its end.
inline constexpr std::size_t kMaxNotEnforced = 32;
inline constexpr std::size_t kMaxPlaceBytes = 200;

/// Texts in a list of choices.
inline constexpr std::size_t kMaxChoices = 10'000;

}  // namespace weft::defaults
