#pragma once

#include <string>

namespace weft {

/// The four normalization forms (Unicode Standard Annex 15).
struct NormalizationForm {
  bool compose = true;         ///< NFC, NFKC; else NFD, NFKD.
  bool compatibility = false;  ///< NFKC, NFKD.
};

/// Brings valid UTF-8 into `form`. n log n in the longest run of combining marks, linear otherwise.
void normalize_unicode(std::string& text, NormalizationForm form);

}  // namespace weft
