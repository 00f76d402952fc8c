// A template as tokens: texts between the tags, with the blanks of Jinja's rules taken away, and what stands in the tags.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heed/text/template_value.h"

namespace heed::text {

struct TemplateToken {
  enum class Kind {
    kText,
    kBlockBegin,
    kBlockEnd,
    kPrintBegin,
    kPrintEnd,
    kName,
    kString,
    kWhole,
    kFloat,
    kSign,
    kEnd
  };
  Kind kind = Kind::kEnd;
  std::string text = {};
  Place place = {};
};

// With trim_blocks and lstrip_blocks, as transformers sets them. `label` begins messages.
std::vector<TemplateToken> template_tokens(std::string_view source, const std::string& label);

}  // namespace heed::text
