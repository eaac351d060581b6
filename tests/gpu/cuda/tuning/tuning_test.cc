#include "weft/gpu/cuda/tuning/tuning.h"

#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "weft/core/io/file.h"
#include "weft/gpu/cuda/tuning/builtin_tunings.h"
#include "weft/gpu/cuda/tuning/find_tuning.h"
#include "weft/gpu/device_info.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::cuda {
namespace {

using test::TempFolder;

constexpr LinearShape kShape{.dtype = DType::kBF16, .rows = 12288, .inputs = 4096, .tokens = 16};

constexpr std::string_view kText =
    "weft-tuning 2 NVIDIA H200\n"
    "bf16 12288 4096 16 vector\n"
    "phi gemma 12.5\n"
    "phi llama-7 -20\n";

Program program_of(std::string family, std::int64_t parameters) {
  Program program;
  program.family = std::move(family);
  program.parameters = parameters;
  return program;
}

std::string error_of(std::string_view text) {
  const auto table = TuningTable::parse(text, "x.txt");
  if (table) return "";
  EXPECT_EQ(table.error().code, DeviceErrc::kBadTuning);
  return table.error().detail;
}

TEST(TuningTable, ReadsWhatItPrints) {
  const auto table = TuningTable::parse(kText, "x.txt").value();
  EXPECT_EQ(table.gpu(), "NVIDIA H200");
  EXPECT_EQ(table.print(), kText);
  EXPECT_EQ(TuningTable::parse(table.print(), "x.txt").value().print(), kText);
}

TEST(TuningTable, SkipsEmptyLinesAndKeepsNotes) {
  const auto table = TuningTable::parse(
      "# measured at night\n\nweft-tuning 1  A GPU \t\r\n  # qkv\n\r\nphi  llama\t1e1 \r\n",
      "x.txt");
  ASSERT_TRUE(table) << table.error().detail;
  constexpr std::string_view kPrinted =
      "weft-tuning 2 A GPU\n# measured at night\n  # qkv\nphi llama 10\n";
  EXPECT_EQ(table->print(), kPrinted);
  EXPECT_EQ(TuningTable::parse(kPrinted, "x.txt").value().print(), kPrinted);
}

TEST(TuningTable, LeavesOutWhatVersion1SaysOfEncodedWeights) {
  constexpr std::string_view kLines =
      " A GPU\nq8_0 12288 4096 16 vector\nbf16 12288 4096 16 vector\n";
  const auto print = [&](const char* version) {
    const std::string text = std::string("weft-tuning ").append(version).append(kLines);
    return TuningTable::parse(text, "x.txt").value().print();
  };
  EXPECT_EQ(print("1"), "weft-tuning 2 A GPU\nbf16 12288 4096 16 vector\n");
  EXPECT_EQ(print("2"),
            "weft-tuning 2 A GPU\nbf16 12288 4096 16 vector\nq8_0 12288 4096 16 vector\n");
}

TEST(TuningTable, NamesTheFileAndTheLineThatIsWrong) {
  const auto entry = [](std::string_view line) {
    return error_of("weft-tuning 2 GPU\n\n" + std::string(line) + "\nphi llama 1\n");
  };
  const std::string header = "the first line is not weft-tuning, version, GPU";
  EXPECT_EQ(error_of(""), "x.txt:1: " + header);
  EXPECT_EQ(error_of("\nphi llama 1\n"), "x.txt:2: " + header);
  EXPECT_EQ(error_of("weft-tuning 3 GPU\n"), "x.txt:1: a version that is not known");
  EXPECT_EQ(error_of("weft-tuning one GPU\n"), "x.txt:1: a version that is not known");
  EXPECT_EQ(error_of("weft-tuning 2 \r\n"), "x.txt:1: no name of a GPU");
  EXPECT_EQ(entry("bf16 1 1 1 fast"), "x.txt:3: a way that there is not");
  EXPECT_EQ(entry("psi llama 1"), "x.txt:3: a dtype that no way multiplies");
  EXPECT_EQ(entry("phi"), "x.txt:3: no name of a model");
  for (const char* number : {"", "x", "nan", "inf", "-inf", "1e9", "1x", "0x1p3"}) {
    EXPECT_EQ(entry(std::string("phi llama ") + number),
              "x.txt:3: phi is a number in -10000 .. 10000")
        << number;
  }
  EXPECT_EQ(entry("phi llama 1 2"), "x.txt:3: more words than an entry has");
}

TEST(TuningTable, GivesAModelItsOwnPhiOrElseItsFamilys) {
  auto table = TuningTable::parse(kText, "x.txt").value();
  const Tuning own = table.tuning_of(program_of("llama", 7));
  EXPECT_TRUE(own.unified_softmax);
  EXPECT_EQ(own.phi, -20);
  EXPECT_EQ(own.linear.measured(kShape), LinearWay::kVector);
  EXPECT_EQ(table.tuning_of(program_of("gemma", 7)).phi, 12.5F);
  const Tuning none = table.tuning_of(program_of("llama", 8));
  EXPECT_FALSE(none.unified_softmax);
  EXPECT_EQ(none.linear.measured(kShape), LinearWay::kVector);
  table.set_phi("llama-7", std::nullopt);
  EXPECT_FALSE(table.tuning_of(program_of("llama", 7)).unified_softmax);
}

TEST(TuningTable, CallsAModelByOneWordWhateverItsSpecSays) {
  auto table = TuningTable("GPU");
  const Program program = program_of("my own\nfamily", 7);
  table.set_phi(tuned_name(program), 3.25F);
  const auto again = TuningTable::parse(table.print(), "x.txt");
  ASSERT_TRUE(again) << again.error().detail;
  EXPECT_EQ(again->tuning_of(program).phi, 3.25F);
}

TEST(FindTuning, TakesTheFileThatTheUserNames) {
  const TempFolder folder;
  const auto file = folder.write("mine.txt", std::string(kText)).string();
  // It may have been measured on another GPU; the user has to know that.
  EXPECT_EQ(find_tuning(file, "another", program_of("llama", 7)).value().phi, -20);
  const auto bad = folder.write("bad.txt", "weft-tuning 2 GPU\nbf16\n").string();
  const auto refused = find_tuning(bad, "GPU", program_of("llama", 7));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().detail, bad + ":2: rows and inputs are positive numbers");
  const auto missing =
      find_tuning((folder.path() / "no.txt").string(), "GPU", program_of("llama", 7));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, FileErrc::kCannotRead);
}

TEST(FindTuning, HasATableOfEachFileOfConfigTuning) {
  ASSERT_FALSE(builtin_tunings().empty());
  for (const BuiltinTuning& builtin : builtin_tunings()) {
    const auto table = TuningTable::parse(builtin.text, builtin.name);
    ASSERT_TRUE(table) << table.error().detail;
    EXPECT_TRUE(find_tuning({}, table->gpu(), program_of("llama", 7)));
  }
}

TEST(FindTuning, TakesTheDefaultsOnAGpuThatNobodyHasMeasured) {
  const Tuning tuning = find_tuning({}, "another", program_of("llama", 7)).value();
  EXPECT_FALSE(tuning.unified_softmax);
  EXPECT_EQ(tuning.linear.print(), "");
}

}  // namespace
}  // namespace weft::cuda
