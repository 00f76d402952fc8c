// Jinja as far as published chat templates use it: for, if, set, expressions, filters, tests. What it does not understand is
// refused with line and column, and what a stranger wrote is bounded in steps, depth and memory.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heed/text/template_value.h"

namespace heed::text {

struct TemplateStatement;

class Template {
 public:
  // `label` names it in messages.
  Template(std::string_view source, std::string label);

  struct Limits {
    int64_t steps = 1'000'000, bytes = int64_t{16} << 20;
  };
  // Takes what it needs from `left`, so that several renderings may share one budget.
  std::string render(const ValueDict& variables, Limits& left) const;

 private:
  std::string label_;
  std::shared_ptr<const std::vector<TemplateStatement>> body_;
};

}  // namespace heed::text
