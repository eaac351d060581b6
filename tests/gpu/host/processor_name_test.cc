#include "weft/gpu/host/processor_name.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace weft {
namespace {

std::string name_in(const std::string& text) {
  std::istringstream file(text);
  return processor_name(file);
}

TEST(ProcessorName, IsTheModelNameWhereThereIsOne) {
  EXPECT_EQ(name_in("processor\t: 0\nmodel\t\t: 85\nmodel name\t: Some(R) Processor @ 2.50GHz\n"),
            "Some(R) Processor @ 2.50GHz");
}

TEST(ProcessorName, IsThatOfTheFirstArmCore) {
  EXPECT_EQ(name_in("processor\t: 0\nBogoMIPS\t: 243.75\nCPU implementer\t: 0x41\n"
                    "CPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n\n"
                    "processor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\n"),
            "Arm Neoverse-N1");
}

TEST(ProcessorName, SaysTheNumbersOfACoreThatItDoesNotKnow) {
  EXPECT_EQ(name_in("CPU implementer\t: 0x61\nCPU part\t: 0xd0c\n"),
            "implementer 0x61, part 0xd0c");
}

TEST(ProcessorName, IsEmptyWhereNothingSaysIt) {
  EXPECT_EQ(name_in(""), "");
  EXPECT_EQ(name_in("CPU implementer\t: 0x41\nCPU implementer"), "");
  EXPECT_EQ(name_in("CPU part\t: 0xd0c\nmodel name\nmodel name :\n"), "");
}

}  // namespace
}  // namespace weft
