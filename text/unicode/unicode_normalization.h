#pragma once

#include <string>

namespace weft {

/// The four normalization forms (Unicode Standard Annex 15).
struct NormalizationForm {
  bool compose = true;         ///< NFC, NFKC; else NFD, NFKD.
  bool compatibility = false;  ///< NFKC, NFKD.
};

/// Converts valid UTF-8 to `form`. Takes n log n in the longest run of combining marks, otherwise
/// linear time.
void normalize_unicode(std::string& text, NormalizationForm form);

}  // namespace weft
