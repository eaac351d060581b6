#include "weft/model/checkpoint/pickle/pickle_opcode.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace weft {
namespace {

struct Row {
  std::uint8_t opcode;
  std::string_view name;
};

// Opcodes of pickle that are not in PickleOpcode.
constexpr std::array kRefused = {
    Row{'0', "POP"},
    Row{'1', "POP_MARK"},
    Row{'2', "DUP"},
    Row{'F', "FLOAT"},
    Row{'I', "INT"},
    Row{'L', "LONG"},
    Row{'P', "PERSID"},
    Row{'S', "STRING"},
    Row{'V', "UNICODE"},
    Row{'d', "DICT"},
    Row{'g', "GET"},
    Row{'i', "INST"},
    Row{'l', "LIST"},
    Row{'o', "OBJ"},
    Row{'p', "PUT"},
    Row{'B', "BINBYTES"},
    Row{'C', "SHORT_BINBYTES"},
    Row{0x81, "NEWOBJ"},
    Row{0x82, "EXT1"},
    Row{0x83, "EXT2"},
    Row{0x84, "EXT4"},
    Row{0x8b, "LONG4"},
    Row{0x8d, "BINUNICODE8"},
    Row{0x8e, "BINBYTES8"},
    Row{0x8f, "EMPTY_SET"},
    Row{0x90, "ADDITEMS"},
    Row{0x91, "FROZENSET"},
    Row{0x92, "NEWOBJ_EX"},
    Row{0x96, "BYTEARRAY8"},
    Row{0x97, "NEXT_BUFFER"},
    Row{0x98, "READONLY_BUFFER"},
};

}  // namespace

std::string name_of_refused_opcode(std::uint8_t opcode) {
  const auto* row = std::ranges::find(kRefused, opcode, &Row::opcode);
  if (row != kRefused.end()) return std::string(row->name);
  constexpr std::string_view kDigits = "0123456789abcdef";
  return std::string("opcode 0x") + kDigits[opcode >> 4U] + kDigits[opcode & 15U];
}

}  // namespace weft
