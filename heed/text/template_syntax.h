// The tree of a template.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heed/text/template_value.h"

namespace heed::text {

struct TemplateExpression {
  enum class Kind {
    kLiteral,    // value
    kName,       // name
    kList,       // parts
    kDict,       // parts: key, value, key, value
    kAttribute,  // parts[0].name
    kItem,       // parts[0][parts[1]]
    kSlice,      // parts[0][parts[1]:parts[2]:parts[3]], each may be null
    kCall,       // parts[0](arguments), by its name: a function's, or a method's of an attribute
    kFilter,     // parts[0] | name(arguments)
    kTest,       // parts[0] is name(arguments)
    kNot,
    kSign,        // name is + or -
    kArithmetic,  // name is the sign
    kConcatenation,
    kAnd,
    kOr,
    kComparison,  // parts with names between them: ==, <, in, "not in"
    kChoice,      // parts[0] if parts[1] else parts[2], which may be null
  };
  using Pointer = std::unique_ptr<const TemplateExpression>;

  Kind kind = Kind::kLiteral;
  Place place = {};
  std::string name = {};
  Value value = {};
  std::vector<Pointer> parts = {};
  std::vector<std::string> names = {};  // of a comparison; of calls: those of the last arguments
  int depth = 1;
};

struct TemplateStatement {
  enum class Kind {
    kText,
    kPrint,  // expressions[0]
    kIf,     // a body for each condition, and perhaps one more
    kFor,    // names in expressions[0], where expressions[1] holds if there is one; the second body where none came
    kSet,    // names[0] = expressions[0], or the text of its body; of a namespace names[0].names[1]
    kBlock,  // its body as it is
    kBreak,
    kContinue,
  };
  Kind kind = Kind::kText;
  Place place = {};
  std::string text = {};
  std::vector<std::string> names = {};
  std::vector<TemplateExpression::Pointer> expressions = {};
  std::vector<std::vector<TemplateStatement>> bodies = {};
};

std::vector<TemplateStatement> parse_template(std::string_view source, const std::string& label);

// What the names of filters, tests and methods mean. Unknown filters and tests are found before anything is rendered.
struct TemplateArguments {
  ValueList values;
  std::vector<std::string> names;  // of the last values

  size_t unnamed() const { return values.size() - names.size(); }
  // By place, or by name; null where it is not given.
  const Value* find(size_t place, std::string_view name) const;
};
bool is_template_filter(std::string_view name);
bool is_template_test(std::string_view name);
Value call_template_filter(TemplateWork& work, const std::string& name, const Value& value,
                           const TemplateArguments& arguments);
bool call_template_test(TemplateWork& work, const std::string& name, const Value& value,
                        const TemplateArguments& arguments);
Value call_template_method(TemplateWork& work, const std::string& name, const Value& value,
                           const TemplateArguments& arguments);

}  // namespace heed::text
