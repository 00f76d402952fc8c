// What the expressions of a template give, under the names that hold where they stand.
#pragma once

#include <string>
#include <vector>

#include "heed/text/template_syntax.h"

namespace heed::text {

class TemplateEvaluator {
 protected:
  using Expression = TemplateExpression;

  TemplateEvaluator(const TemplateWork& work, const ValueDict& variables) : work_(work), scopes_{variables} {}

  void assign(ValueDict& scope, const std::string& name, Value value);
  Value look_up(const std::string& name);
  Value value(const Expression& e);

  TemplateWork work_;
  std::vector<ValueDict> scopes_;  // of the innermost loop last

 private:
  Value compute(const Expression& e);
  Value collected(const Expression& e);
  Value attribute(const Value& of, const std::string& name);
  Value item(const Expression& e);
  Value slice(const Expression& e);
  TemplateArguments arguments(const Expression& e);
  Value call(const Expression& e);
  Value new_namespace(const TemplateArguments& given);
  Value range(const TemplateArguments& given);
  Value signed_value(const Value& of, const Expression& e);
  Value whole_result(int64_t a, int64_t b, char sign);
  Value arithmetic(const Expression& e);
  Value repeated(const std::string& text, int64_t times);
  Value number(const Value& a, const Value& b, const std::string& sign);
  bool compared(const Expression& e);
  bool holds(const Value& a, const std::string& sign, const Value& b);
};

}  // namespace heed::text
