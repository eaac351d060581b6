#include "weft/model/checkpoint/checkpoint_format.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "weft/model/model_error.h"
#include "weft/tests/fixture/files/byte_writer.h"
#include "weft/tests/fixture/files/tensor_bytes.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

using namespace std::string_view_literals;
using test::FailsWith;

Result<CheckpointFormat> format_of_text(std::string_view text) {
  return format_of(*test::source_of(test::ByteWriter().text(text).bytes(), "m"));
}

TEST(CheckpointFormatTest, IsToldFromTheFirstBytes) {
  EXPECT_EQ(*format_of_text("\2\0\0\0\0\0\0\0{}"sv), CheckpointFormat::kSafetensors);
  EXPECT_EQ(*format_of_text("PK\3\4..."), CheckpointFormat::kPickle);
  EXPECT_EQ(*format_of_text("\x80\2..."), CheckpointFormat::kPickle);
  EXPECT_EQ(*format_of_text("GGUF"), CheckpointFormat::kGguf);
  EXPECT_EQ(*format_of_text("24ka\1\0\0\0"sv), CheckpointFormat::kLlama2C);
}

TEST(CheckpointFormatTest, NamesFormatsThatAreKnownAndNotRead) {
  struct Row {
    std::string text;
    const char* what;
  };
  for (const Row& row :
       {Row{"lmgg", "ggml file"}, Row{"fmgg", "ggmf file"}, Row{"tjgg", "ggjt file"},
        Row{"algg", "ggla file"}, Row{"\x89HDF\r\n\x1a\n", "HDF5"},
        Row{std::string(257, '\0') + "ustar", "tar archive"}}) {
    EXPECT_THAT(format_of_text(row.text), FailsWith(ModelErrc::kUnsupportedFormat, row.what));
  }
}

TEST(CheckpointFormatTest, SaysWhatUnknownFilesBeginWith) {
  EXPECT_THAT(format_of_text("<html>\1"),
              FailsWith(ModelErrc::kUnsupportedFormat, "m: begins with '<html>\\x01'"));
  EXPECT_THAT(format_of_text(""), FailsWith(ModelErrc::kUnsupportedFormat, "begins with ''"));
}

TEST(CheckpointFormatTest, KnowsAGitLfsPointer) {
  EXPECT_THAT(format_of_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
              FailsWith(ModelErrc::kBadCheckpoint, "git-lfs pointer"));
}

}  // namespace
}  // namespace weft
